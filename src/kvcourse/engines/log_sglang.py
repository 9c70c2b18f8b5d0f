"""SGLang's start-up log: tokens of the pool and the sizes of K and V. Its "GB" are 1024**3 bytes."""

from kvcourse.engines.log_lines import COUNT, SIZE, Reading, Rounded, last, number, positive


def read(text: str) -> Reading | None:
    """What the log says, or None where it is not SGLang's."""
    start = rf"KV Cache is allocated\.(?: dtype: \S+,)? #tokens: {COUNT}, "
    both = last(start + rf"K size: {SIZE} GB, V size: {SIZE} GB", text)
    one = last(start + rf"KV size: {SIZE} GB", text)
    total = last(rf"max_total_num_tokens={COUNT}", text)
    found = both or one
    if found is None and total is None:
        return None
    reading = Reading("SGLang")
    model = last(r"model_path='([^']{1,300})'", text)
    dtype = last(r"kv_cache_dtype='((?!auto)\w+)'", text) or last(r"allocated\. dtype: torch\.(\w+)", text)
    reading.model = model and model[1]
    reading.ranks = positive(last(rf"\btp_size={COUNT}", text), 1)
    reading.cache_dtype = dtype and dtype[1]
    # One page beside the pool takes the padding's writes.
    reading.slack_tokens = positive(last(rf"\bpage_size={COUNT}", text), 1)
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
