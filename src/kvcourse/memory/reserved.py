"""What servers set aside, as against what a model needs: rounding and slots, in tokens ("cells")."""

from dataclasses import replace

from kvcourse.memory.checked import whole
from kvcourse.memory.layers import ChunkedAttention, Layer, SlidingAttention, Together
from kvcourse.memory.model import CacheModel

PAD = 256  # llama.cpp rounds a cache up to a multiple of this many cells (GGML_PAD in llama-context.cpp)


def reserved(model: CacheModel) -> CacheModel:
    """The same model on a server that keeps windowed and chunked layers as long as the others.

    llama.cpp does with --swa-full, vLLM where one block table serves all layers.
    """
    longer = {layer: _whole_length(layer) for layer in set(model.layers)}
    return replace(model, layers=tuple(longer[layer] for layer in model.layers))


def _whole_length(layer: Layer) -> Layer:
    if isinstance(layer, (SlidingAttention, ChunkedAttention)):
        return layer.attention
    if isinstance(layer, Together):
        return Together(tuple(map(_whole_length, layer.kept)))
    return layer


def padded(tokens: int, multiple: int = PAD) -> int:
    """`tokens` rounded up to a multiple."""
    multiple = whole("multiple", multiple, least=1)
    return -(-whole("tokens", tokens) // multiple) * multiple


def slot_cells(context: int, slots: int) -> int:
    """llama.cpp's cells for `slots` sequences that share a context of `context` tokens, each rounded up."""
    slots = whole("slots", slots, least=1)
    return slots * padded(whole("context", context) // slots)


def window_cells(context: int, window: int, batch: int, slots: int = 1) -> int:
    """llama.cpp's cells for the windowed layers: window x slots + one batch (n_ubatch), rounded, at most all.

    Source: llama-kv-cache-iswa.cpp.
    """
    wanted = whole("window", window, least=1) * whole("slots", slots, least=1) + whole("batch", batch)
    return padded(min(whole("context", context), wanted))
