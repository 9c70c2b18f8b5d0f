"""What a row caches, in which formats, for how many tokens and how often."""

from dataclasses import dataclass, replace

from cases import names
from cases.layers import layers, reserves
from cases.params import Params, Uncovered
from kvcourse import registry
from kvcourse.errors import UserError
from kvcourse.memory import (
    CacheModel,
    CompressedAttention,
    Format,
    IndexKeys,
    Layer,
    RecurrentState,
    Storage,
    Together,
    from_config,
    parse_format,
    parse_storage,
    reserved,
)


@dataclass(frozen=True)
class Shape:
    """A model with all its layers or those that the row names, and its formats."""

    model: CacheModel
    storage: Storage

    def without_states(self) -> CacheModel:
        """The keys and values alone, which is what some call the cache of a hybrid model."""
        return CacheModel(tuple(kept for layer in self.model.layers if (kept := _growing(layer)) is not None))


def _growing(layer: Layer) -> Layer | None:
    if isinstance(layer, Together):
        return Together(tuple(kept for part in layer.kept if (kept := _growing(part)) is not None))
    if isinstance(layer, CompressedAttention):
        return replace(layer, holds_back=False)
    if isinstance(layer, IndexKeys):
        return replace(layer, waiting=0)
    return None if isinstance(layer, RecurrentState) else layer


def shape(params: Params) -> Shape:
    """The layers and storage that a row describes; on one of `tp` devices where it says so."""
    model, ranks = CacheModel(tuple(layers(params))), params.count(*names.TP)
    per_rank = params.has("kv_heads_per_rank")  # already one device's share
    try:
        return Shape(model if ranks is None or per_rank else model.shard(ranks), storage(params))
    except UserError as error:
        raise Uncovered(str(error)) from None


def storage(params: Params) -> Storage:
    both = params.text(*names.DTYPE)
    key, value = params.text(*names.TYPE_K) or both, params.text(*names.TYPE_V) or both
    width = params.number(*names.WIDTH)
    if width is not None and (8 * width).denominator == 1:
        plain = Format(f"{float(width)} bytes", int(8 * width))
        return Storage(plain, plain)
    if key is None or value is None:
        raise Uncovered("no key 'dtype'")
    try:
        return Storage(parse_format(key), parse_format(value))
    except UserError as error:
        raise Uncovered(str(error)) from None


def published(name: object) -> Shape:
    """The shape of a published model, for a row that names one and gives no shape."""
    try:
        model = from_config(registry.find(name).config)
    except UserError as error:
        raise Uncovered(f"no shape in the row, and {error}") from None
    return Shape(model, parse_storage(model.dtype or "fp16"))


def lengths(params: Params) -> list[tuple[int, str]]:
    """Tokens of one sequence's cache, or cells of all: each reading with its name."""
    cells, tokens, context = (params.count(*n) for n in (names.CELLS, names.TOKENS, names.CONTEXT))
    if cells is not None:
        for told in (names.SLOTS, names.UBATCH, names.WINDOW):  # how the server came to that number
            params.count(*told)
        return [(cells, "")]
    if tokens is not None:
        return [(tokens, "")]
    if context is None:
        raise Uncovered("no key 'tokens'")
    slots = params.count(*names.SLOTS)
    if reserves(params):
        return _window_lengths(context, params.need(*names.WINDOW), params.need(*names.UBATCH), slots or 1)
    if slots is not None:
        each = f"{slots} slots, each rounded up to {reserved.PAD} cells"
        return [(reserved.slot_cells(context, slots), each)]
    rounded = reserved.padded(context)
    if rounded == context:
        return [(context, "")]
    return [(context, "context as given"), (rounded, f"context rounded up to {rounded} cells")]


def _window_lengths(context: int, window: int, ubatch: int, slots: int) -> list[tuple[int, str]]:
    shared = reserved.window_cells(context, window, ubatch, slots)
    if slots == 1:
        return [(shared, "window and one batch, rounded up")]
    each = slots * reserved.window_cells(context // slots, window, ubatch)
    return [(shared, f"one buffer for {slots} slots"), (each, f"{slots} slots with a buffer each")]


def batch(params: Params) -> int:
    """How many such caches: sequences, and llama.cpp's or whisper.cpp's factor for parallel decoders."""
    sequences, factor = params.count(*names.BATCH), params.count(*names.FACTOR)
    return (1 if sequences is None else sequences) * (1 if factor is None else factor)
