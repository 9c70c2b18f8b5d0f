"""What a KV cache costs: exact bytes from a model's published shape. No torch, no network.

    model = from_config(json.load(open("config.json")))
    model.bytes_per_token("fp16"), model.bytes(tokens=4096, batch=16, dtype="fp16")

A model is a list of layers (`layers.py`), each of a kind that knows which tensors it keeps; a storage
(`formats.py`) says in how many bits. Knows nothing about allocators or servers.
"""

from kvcourse.memory.capacity import (
    beam_bytes,
    blocks_for,
    duplication,
    refuse_context_parallel,
    sequences_that_fit,
    sequences_to_exceed,
    tokens_that_fit,
    tokens_to_reach,
)
from kvcourse.memory.compressed import CompressedAttention
from kvcourse.memory.decode_bounds import (
    DecodeBounds,
    decode_bounds,
    decode_flops,
    decode_seconds,
    tokens_where_attention_equals_weights,
)
from kvcourse.memory.formats import Format, Storage, parse_format, parse_storage
from kvcourse.memory.latent import LatentAttention, expanded
from kvcourse.memory.layers import (
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    IndexKeys,
    Layer,
    Part,
    SharedCache,
    SlidingAttention,
    Together,
    heads_per_rank,
)
from kvcourse.memory.model import CacheModel, Fact, kv_bytes, part_bytes
from kvcourse.memory.parameters import ParameterCount, count_parameters, weight_bytes
from kvcourse.memory.reading import from_config
from kvcourse.memory.recurrent import RecurrentState

__all__ = [
    "CacheModel", "ChunkedAttention", "CompressedAttention", "CrossAttention", "DecodeBounds", "Fact",
    "Format", "FullAttention", "IndexKeys", "LatentAttention", "Layer", "ParameterCount", "Part",
    "RecurrentState", "SharedCache", "SlidingAttention", "Storage", "Together", "beam_bytes", "blocks_for",
    "count_parameters", "decode_bounds", "decode_flops", "decode_seconds", "duplication", "expanded",
    "from_config", "heads_per_rank", "kv_bytes", "parse_format", "parse_storage", "part_bytes",
    "refuse_context_parallel", "sequences_that_fit", "sequences_to_exceed", "tokens_that_fit",
    "tokens_to_reach", "tokens_where_attention_equals_weights", "weight_bytes",
]  # fmt: skip
