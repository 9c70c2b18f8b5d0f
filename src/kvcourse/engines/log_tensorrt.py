"""TensorRT-LLM's start-up log: blocks, tokens and the bytes allocated for them."""

from kvcourse.engines.log_lines import COUNT, SIZE, Reading, Rounded, last, number


def read(text: str) -> Reading | None:
    """What the log says, or None where it is not TensorRT-LLM's."""
    paged = last(rf"Allocated {SIZE} (GiB|MiB) for max tokens in paged KV cache \({COUNT}\)", text)
    exact = last(rf"Allocate {COUNT} bytes for k/v cache", text)
    using = last(rf"Using {COUNT} tokens in paged KV cache", text)
    if paged is None and (exact is None or using is None):
        return None
    reading = Reading("TensorRT-LLM")
    if paged:
        reading.pool, reading.tokens = Rounded.parse(paged[1], paged[2]), number(paged[3])
    else:
        reading.pool, reading.tokens = Rounded.parse(exact[1], "B"), number(using[1])
    block = last(rf"[Nn]umber of tokens per block: {COUNT}", text) or last(rf"tokens per block={COUNT}", text)
    blocks = last(rf"primary blocks={COUNT}", text) or last(
        rf"blocks in KV cache primary pool: {COUNT}", text
    )
    if block and blocks:
        made = number(block[1]) * number(blocks[1])
        reading.check(
            made == reading.tokens,
            f"{number(blocks[1]):,} blocks of {block[1]} are {made:,} tokens; printed {reading.tokens:,}",
        )
    return reading
