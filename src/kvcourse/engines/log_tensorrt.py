"""TensorRT-LLM's start-up log: blocks, tokens and the bytes allocated for them."""

from kvcourse.engines.log_lines import Reading, Rounded, last, number


def read(text: str) -> Reading | None:
    """What the log says, or None where it is not TensorRT-LLM's."""
    paged = last(r"Allocated ([\d.]+) (GiB|MiB) for max tokens in paged KV cache \((\d+)\)", text)
    exact = last(r"Allocate (\d+) bytes for k/v cache", text)
    using = last(r"Using (\d+) tokens in paged KV cache", text)
    if paged is None and (exact is None or using is None):
        return None
    reading = Reading("TensorRT-LLM")
    if paged:
        reading.pool, reading.tokens = Rounded.parse(paged[1], paged[2]), number(paged[3])
    else:
        reading.pool, reading.tokens = Rounded.parse(exact[1], "B"), number(using[1])
    block = last(r"[Nn]umber of tokens per block: (\d+)", text) or last(r"tokens per block=(\d+)", text)
    blocks = last(r"primary blocks=(\d+)", text) or last(r"blocks in KV cache primary pool: (\d+)", text)
    if block and blocks:
        made = int(block[1]) * int(blocks[1])
        reading.check(
            made == reading.tokens,
            f"{int(blocks[1]):,} blocks of {block[1]} are {made:,} tokens; printed {reading.tokens:,}",
        )
    return reading
