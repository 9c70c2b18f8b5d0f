"""How much fits: sequences, tokens, and the point at which the cache is as large as the weights."""

from kvcourse.errors import ConfigError
from kvcourse.memory.checked import whole
from kvcourse.memory.formats import Storage
from kvcourse.memory.latent import LatentAttention
from kvcourse.memory.layers import CrossAttention, FullAttention, heads_per_rank
from kvcourse.memory.model import CacheModel


def sequences_that_fit(free_bytes: int, bytes_per_sequence: int) -> int:
    """Whole sequences whose caches fit into `free_bytes`."""
    return whole("free_bytes", free_bytes) // whole("bytes_per_sequence", bytes_per_sequence, least=1)


def tokens_that_fit(free_bytes: int, bytes_per_token: int, block: int = 1) -> int:
    """Tokens that fit into `free_bytes` when the cache is cut into whole blocks of `block` tokens."""
    block = whole("block", block, least=1)
    blocks = whole("free_bytes", free_bytes) // (block * whole("bytes_per_token", bytes_per_token, least=1))
    return blocks * block


def sequences_to_exceed(bytes_per_sequence: int, weight_bytes: int) -> int:
    """The number of the sequence whose arrival makes the caches larger than the weights.

    Llama-2-7B at 4,096 tokens in fp16: 13.48 GB of weights, 2.147 GB a sequence, so the 7th.
    """
    per_sequence = whole("bytes_per_sequence", bytes_per_sequence, least=1)
    return whole("weight_bytes", weight_bytes) // per_sequence + 1


def tokens_to_reach(weight_bytes: int, bytes_per_token: int) -> int:
    """Tokens in flight, over all sequences, from which the cache is at least as large as the weights."""
    return -(-whole("weight_bytes", weight_bytes) // whole("bytes_per_token", bytes_per_token, least=1))


def duplication(kv_heads: int, ranks: int, context_ranks: int = 1) -> int:
    """How many devices hold the same KV head under tensor parallelism; 1 means none is held twice.

    `context_ranks` of them share the tokens of one copy instead (vLLM's decode context parallelism). A latent
    cache counts as one head.
    """
    copies = whole("ranks", ranks, least=1) * heads_per_rank(kv_heads, ranks) // kv_heads
    if copies % whole("context_ranks", context_ranks, least=1):
        raise ConfigError(
            f"{context_ranks} context-parallel devices cannot share {copies} copies; expected a divisor."
        )
    return copies // context_ranks


def refuse_context_parallel(model: CacheModel, ranks: int, context_ranks: int) -> None:
    """ConfigError where `context_ranks` of `ranks` devices cannot share the tokens of each layer's copies.

    Windows and recurrent states have no tokens to share out (vLLM's decode context parallelism).
    """
    kinds = [layer for layer, _ in model.groups()]
    for layer in kinds:
        if not isinstance(layer, (FullAttention, LatentAttention)):
            raise ConfigError(
                f"a layer with {layer.describe()} does not share its tokens over context-parallel devices; "
                "expected full or latent attention alone."
            )
    for layer in kinds:
        duplication(getattr(layer, "kv_heads", 1), ranks, context_ranks)


def beam_bytes(model: CacheModel, tokens: int, beams: int, dtype: Storage | str = "fp16") -> int:
    """Bytes of one sequence's `beams` beams: each has its own cache, and all read the same source's."""
    source = tuple(layer for layer in model.layers if isinstance(layer, CrossAttention))
    shared = CacheModel(source).bytes(tokens, dtype=dtype)
    return whole("beams", beams, least=1) * (model.bytes(tokens, dtype=dtype) - shared) + shared


def blocks_for(tokens: int, block: int) -> int:
    """Blocks of `block` tokens that hold one sequence of `tokens` tokens; the last may be part empty."""
    return -(-whole("tokens", tokens) // whole("block", block, least=1))
