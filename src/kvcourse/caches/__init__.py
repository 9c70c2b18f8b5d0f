"""KV caches of several kinds behind one interface, `KVCache`."""

from kvcourse.caches.base import CacheCounters, KVCache
from kvcourse.caches.contiguous import GrowingCache, PreallocatedCache

__all__ = ["CacheCounters", "GrowingCache", "KVCache", "PreallocatedCache"]
