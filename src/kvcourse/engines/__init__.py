"""Servers as published: what each one's memory flag means, and what its start-up log says of its KV cache.

Knows the engines' rules and their words; what a cache costs is `kvcourse.memory`'s.
"""

from kvcourse.engines.gpus import Gpu, find_gpu, gpus
from kvcourse.engines.log import read_log
from kvcourse.engines.pools import ENGINES, Device, Engine, Pool, find_engine, pool

__all__ = [
    "ENGINES",
    "Device",
    "Engine",
    "Gpu",
    "Pool",
    "find_engine",
    "find_gpu",
    "gpus",
    "pool",
    "read_log",
]
