"""vLLM's start-up log, V0 and V1: available memory, blocks or tokens, and the maximum concurrency.

The pool's size is "Available KV cache memory" cut into whole blocks; with several ranks the least one counts.
"Maximum concurrency" is pool tokens over max_model_len, the worst case and no limit (vllm PR #13596).
"""

import re
from fractions import Fraction

from kvcourse.engines.log_lines import COUNT, SIZE, Reading, Rounded, last, number, positive

BLOCK = 16  # vLLM's default


def read(text: str) -> Reading | None:
    """What the log says, or None where it is not vLLM's."""
    tokens = last(rf"GPU KV cache size: {COUNT} tokens", text)
    blocks = last(rf"# \w+ blocks: {COUNT}(?:, # CPU blocks: [0-9]+)?", text)
    memory = re.findall(rf"Available KV cache memory: {SIZE} GiB", text)
    if tokens is None and blocks is None:
        return None
    reading = Reading("vLLM", slack_tokens=_block(text))
    model = last(r"\bmodel='([^']{1,300})'", text) or last(r"'model(?:_tag)?': '([^']{1,300})'", text)
    dtype = last(r"kv_cache_dtype['\"]?[=:] ?'?((?!auto)[A-Za-z0-9_.]+)", text) or last(
        r"\bdtype=torch\.(\w+)", text
    )
    reading.model = model and model[1]
    reading.ranks = positive(last(rf"tensor_parallel_size['\"]?[=:] ?{COUNT}", text), 1)
    reading.cache_dtype = dtype and dtype[1]
    reading.tokens = number(tokens[1]) if tokens else number(blocks[1]) * _block(text)
    # Each token lies on one of so many ranks.
    reading.shares = positive(last(rf"KV cache size by the cp_world_size {COUNT}", text), 1)
    if memory:
        reading.pool = min((Rounded.parse(m, "GiB") for m in memory), key=lambda m: m.low)
        reading.pool_is_room = True
    if tokens and blocks:
        made = number(blocks[1]) * _block(text)
        reading.check(
            made == reading.tokens,
            f"{number(blocks[1]):,} blocks of {_block(text)} are {made:,} tokens; printed {reading.tokens:,}",
        )
    _concurrency(reading, text)
    return reading


def _block(text: str) -> int:
    return positive(last(rf"block_size['\"]?[=:] ?{COUNT}", text), BLOCK)


def _concurrency(reading: Reading, text: str) -> None:
    found = last(rf"Maximum concurrency for {COUNT} tokens per request: {SIZE}x", text)
    if not found or not number(found[1]):
        return
    length, printed = number(found[1]), Fraction(found[2])
    # A request takes whole blocks, and newer versions print tokens = floor(concurrency x length).
    padded = -(-length // _block(text)) * _block(text)
    low, high = printed - Fraction(1, 200), printed + Fraction(1, 200)
    reading.check(
        low <= Fraction(reading.tokens + 1, length) and Fraction(reading.tokens, padded) <= high,
        f"{reading.tokens:,} tokens over {length:,} a request are {reading.tokens / length:.2f}; "
        f"printed {found[2]}x",
    )
