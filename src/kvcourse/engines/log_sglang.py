"""SGLang's start-up log: tokens of the pool and the sizes of K and V. Its "GB" are 1024**3 bytes."""

from kvcourse.engines.log_lines import Reading, Rounded, last, number


def read(text: str) -> Reading | None:
    """What the log says, or None where it is not SGLang's."""
    start = r"KV Cache is allocated\.(?: dtype: \S+,)? #tokens: (\d+), "
    both = last(start + r"K size: ([\d.]+) GB, V size: ([\d.]+) GB", text)
    one = last(start + r"KV size: ([\d.]+) GB", text)
    total = last(r"max_total_num_tokens=(\d+)", text)
    found = both or one
    if found is None and total is None:
        return None
    reading = Reading("SGLang")
    model = last(r"model_path='([^']+)'", text)
    ranks = last(r"\btp_size=(\d+)", text)
    dtype = last(r"kv_cache_dtype='((?!auto)\w+)'", text) or last(r"allocated\. dtype: torch\.(\w+)", text)
    page = last(r"\bpage_size=(\d+)", text)
    reading.model = model and model[1]
    reading.ranks = int(ranks[1]) if ranks else 1
    reading.cache_dtype = dtype and dtype[1]
    reading.slack_tokens = int(page[1]) if page else 1  # one page beside the pool takes the padding's writes
    reading.tokens = number((found or total)[1])
    if found:
        sizes = [Rounded.parse(size, "GiB") for size in found.groups()[1:]]
        reading.pool = sizes[0] if len(sizes) == 1 else sizes[0] + sizes[1]
    if found and total:
        reading.check(
            number(total[1]) == reading.tokens,
            f"the pool was allocated for {reading.tokens:,} tokens; max_total_num_tokens is "
            f"{number(total[1]):,}",
        )
    return reading
