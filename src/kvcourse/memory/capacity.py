"""How much fits: sequences, tokens, and the point at which the cache is as large as the weights."""

from kvcourse.memory.checked import whole


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
