"""How what Transformers holds between two steps differs from what a model needs during one."""

from kvcourse.memory import CompressedAttention, IndexKeys, RecurrentState, SlidingAttention, Together


def beyond(layer, tokens: int) -> int:
    """Numbers that Transformers keeps of a layer beyond ours; fewer are negative.

    It drops what leaves a window one step early, because the query's own K and V come with it; and it keeps
    as many inputs of a convolution as its kernel is wide, though the newest comes with the step.
    DeepSeek-V4's one vector for K and V stands there twice in the layers that compress nothing. GLM-5-Next's
    indexer keeps of every token what waits for its pool, and whether it is one.
    """
    if isinstance(layer, Together):
        return sum(beyond(part, tokens) for part in layer.kept)
    if isinstance(layer, RecurrentState):
        return layer.conv_channels
    if isinstance(layer, IndexKeys):
        kept = sum(part.elements for part in layer.parts(tokens))
        return tokens * (layer.waiting + 1) - kept if layer.waiting else 0
    window = getattr(layer, "window", getattr(layer, "chunk", tokens + 1))
    early = tokens >= window
    if isinstance(layer, CompressedAttention):
        again = 0 if layer.ratio else min(tokens, window) - early
        return layer.width * (again - early)
    kept = layer.attention if isinstance(layer, SlidingAttention) or early else None
    return -early * sum(part.elements for part in kept.parts(1)) if kept is not None else 0
