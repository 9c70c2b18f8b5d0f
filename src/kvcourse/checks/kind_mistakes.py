"""Known mistakes in the caches of models whose layers are not all full attention: each is a wrong model.

A window that was ignored, a latent taken for keys and values, a recurrent layer counted as attention: the
mistake makes another list of layers of the right one, whose bytes are compared with somebody's figure.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from types import SimpleNamespace

from kvcourse.checks.catalog.memory import BYTES, UNIT_BYTES
from kvcourse.checks.mistakes import Match
from kvcourse.memory import (
    CacheModel,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    IndexKeys,
    LatentAttention,
    Layer,
    RecurrentState,
    SharedCache,
    SlidingAttention,
    Storage,
    Together,
)
from kvcourse.memory.reserved import reserved

_TOLERANCE = 0.005
Change = Callable[[Layer, SimpleNamespace], Layer | None]  # None leaves the layer out


@dataclass(frozen=True)
class KindMistake:
    """One wrong reading of some kind of layer. A layer that it does not concern comes back as it is."""

    name: str
    hint: str
    change: Change


def _attention(layer: Layer) -> FullAttention | None:
    """What a layer keeps of each token, where that is K and V."""
    kept = getattr(layer, "attention", layer)
    return kept if isinstance(kept, FullAttention) else None


def _heads(layer: Layer, kv_heads: int | None, width: int | None) -> Layer:
    known = {"kv_heads": kv_heads, "head_dim": width}
    return _kept(layer, **{name: value for name, value in known.items() if value})


def _kept(layer: Layer, **changes: int | None) -> Layer:
    """The layer with other numbers in what it keeps of each token, where that is K and V."""
    kept = _attention(layer)
    if kept is None:
        return layer
    changed = replace(kept, **changes)
    return changed if kept is layer else replace(layer, attention=changed)


def _expanded(layer: Layer, i: SimpleNamespace) -> Layer:
    if not isinstance(layer, LatentAttention) or not (i.num_heads and i.nope and i.value_dim):
        return layer
    return FullAttention(i.num_heads, i.nope + layer.rope_dim, i.value_dim)


def _as_heads(layer: Layer, i: SimpleNamespace) -> Layer:
    if not isinstance(layer, (LatentAttention, CompressedAttention)) or not (i.num_heads and i.hidden_size):
        return layer
    return FullAttention(i.num_heads, max(i.hidden_size // i.num_heads, 1))


def _index_a_head(layer: Layer, i: SimpleNamespace) -> Layer:
    if isinstance(layer, IndexKeys) and i.index_heads:
        return replace(layer, width=layer.width * i.index_heads)
    if getattr(layer, "index_dim", 0) and i.index_heads:
        return replace(layer, index_dim=layer.index_dim * i.index_heads)
    return layer


def _no_index(layer: Layer, i: SimpleNamespace) -> Layer | None:
    if isinstance(layer, IndexKeys):
        return None
    return replace(layer, index_dim=0) if getattr(layer, "index_dim", 0) else layer


def _twice(layer: Layer, i: SimpleNamespace) -> Layer:
    if not isinstance(layer, LatentAttention):
        return layer
    return replace(layer, rank=2 * layer.rank, rope_dim=2 * layer.rope_dim)


def _without_rope(layer: Layer, i: SimpleNamespace) -> Layer:
    return replace(layer, rope_dim=0) if isinstance(layer, LatentAttention) else layer


def _slides_everywhere(layer: Layer, i: SimpleNamespace) -> Layer:
    return SlidingAttention(i.window, layer) if i.window and isinstance(layer, FullAttention) else layer


def _only(*kinds: type) -> Change:
    return lambda layer, i: layer if isinstance(layer, kinds) else None


def _without(*kinds: type) -> Change:
    return lambda layer, i: None if isinstance(layer, kinds) else layer


def _attends(layer: Layer, i: SimpleNamespace) -> Layer:
    return i.attending if isinstance(layer, RecurrentState) and i.attending is not None else layer


def _state_in_the_caches_dtype(layer: Layer, i: SimpleNamespace) -> Layer:
    return replace(layer, dtype=None) if isinstance(layer, RecurrentState) else layer


_WINDOWS = (SlidingAttention, ChunkedAttention)
MISTAKES = (
    KindMistake("ignores the window: counts every token in every layer",
                "Some layers never read old tokens. What do they keep?", lambda layer, i: _whole(layer)),
    KindMistake("applies the window to every layer", "Not every layer of this model has a window.",
                _slides_everywhere),
    KindMistake("counts the windowed layers alone", "Which layers are missing?", _only(*_WINDOWS)),
    KindMistake("counts the layers without a window alone", "Which layers are missing?", _without(*_WINDOWS)),
    KindMistake("counts query heads, not KV heads", "Queries are not stored. Which heads are?",
                lambda layer, i: _heads(layer, i.num_heads, None)),
    KindMistake("divides hidden_size by the query heads for the width of a head",
                "The width of a head is a number of its own in this model.",
                lambda layer, i: _heads(layer, None, i.division)),
    KindMistake("takes hidden_size for the width of K", "Is a key as wide as hidden_size in this model?",
                lambda layer, i: _heads(layer, i.num_heads, i.division)),
    KindMistake("takes values for as wide as keys", "Are values as wide as keys in this model?",
                lambda layer, i: _kept(layer, value_dim=None)),
    KindMistake("counts one width of head for all layers", "Do all layers have heads of the same width?",
                lambda layer, i: _heads(layer, None, i.narrowest)),
    KindMistake("expands the latents to keys and values of every head",
                "What is made anew from the latent at every step need not be stored.", _expanded),
    KindMistake("takes latent attention for MHA with hidden_size / heads",
                "This model does not store keys and values for its heads. What does it store?", _as_heads),
    KindMistake("counts the latent twice, as K and as V", "Are K and V two vectors here?", _twice),
    KindMistake("forgets the rotary part of the latent", "The latent is not all that a token leaves behind.",
                _without_rope),
    KindMistake("counts an indexer key for each of its heads", "How many keys does the indexer keep a token?",
                _index_a_head),
    KindMistake("forgets the indexer's keys", "Something besides attention keeps keys in this model.",
                _no_index),
    KindMistake("counts recurrent layers as attention", "Which of these layers attend at all?", _attends),
    KindMistake("forgets the recurrent states", "The other layers keep something too, however long the text.",
                _without(RecurrentState)),
    KindMistake("counts the recurrent states alone", "Some layers of this model attend.",
                _only(RecurrentState)),
    KindMistake("keeps the recurrent states in the cache's dtype", "In which dtype are the states kept?",
                _state_in_the_caches_dtype),
    KindMistake("forgets the cross-attention's cache", "What of the encoder's output is stored?",
                _without(CrossAttention)),
    KindMistake("counts the cross-attention's cache alone", "The text has a cache of its own.",
                _only(CrossAttention)),
)  # fmt: skip

# Factors that mean the same whatever the layers are.
_FACTORS = ("counts bits, not bytes", "counts elements, not bytes", "counts 4 bytes a number",
            "counts 2 bytes a number", "takes a K of tokens for 1000", "takes a K of tokens for 1024",
            "counts one sequence", "mixes units of 1000 and of 1024")  # fmt: skip


def diagnose(
    model: CacheModel, number: float, storage: Storage, tokens: int, batch: int, unit: str, within: float
) -> list[Match]:
    """Known mistakes that give `number` of `unit` for this model's cache; [] where none does."""
    size = UNIT_BYTES[unit]
    right = model.bytes(tokens, batch, storage) / size

    def is_got(value: float) -> bool:
        near = abs(number - value) <= max(within, _TOLERANCE * value)
        return near and abs(value - right) > _TOLERANCE * right

    wrong = [(name, hint, n / size) for name, hint, n in _wrong_bytes(model, storage, tokens, batch)]
    bits = storage.key.bits_per_element
    given = SimpleNamespace(dtype_bytes=(bits or 16) / 8, tokens=tokens, batch=batch, unit=unit)
    slips = [slip for slip in BYTES.slips if slip.name in _FACTORS]
    slips = [(slip, factor) for slip in slips if (factor := slip.factor(given)) is not None]
    single = [Match(name, hint) for name, hint, value in wrong if is_got(value)]
    single += [Match(slip.name, slip.hint) for slip, factor in slips if is_got(right * factor)]
    if single:
        return single
    return [
        Match(f"{name}, and {slip.name}", f"Two things at once. {hint} {slip.hint}")
        for name, hint, value in wrong
        for slip, factor in slips
        if is_got(value * factor)
    ]


def _wrong_bytes(
    model: CacheModel, storage: Storage, tokens: int, batch: int
) -> Iterator[tuple[str, str, int]]:
    """What each known mistake gives, in bytes; those that change nothing are left out."""
    inputs = _inputs(model)
    for mistake in MISTAKES:
        changed = tuple(
            new for layer in model.layers if (new := _changed(layer, mistake.change, inputs)) is not None
        )
        if changed and changed != model.layers:
            size = CacheModel(changed).bytes(tokens, batch, storage)
            yield mistake.name, mistake.hint, size
    if any(isinstance(layer, SharedCache) for layer in model.layers):
        yield ("counts layers that read another layer's cache",
               "Some layers store nothing of their own.",
               CacheModel(_unshared(model.layers)).bytes(tokens, batch, storage))  # fmt: skip
    keys = CacheModel(tuple(_Role(layer, "key") for layer in model.layers))
    yield ("forgets that K and V are both stored", "What is stored for each token beside its key?",
           keys.bytes(tokens, batch, storage))  # fmt: skip
    yield ("counts one token", "That is the size for each token.", model.bytes(1, batch, storage))
    whole = storage.key
    yield ("stores the values as the keys", "Keys and values have formats of their own here.",
           model.bytes(tokens, batch, Storage(whole, whole)))  # fmt: skip
    states = model.bytes(0, batch, storage)
    if any(isinstance(layer, RecurrentState) for layer in model.layers):
        yield ("lets the recurrent states grow with the text", "A state is as large after a million tokens.",
               model.bytes(tokens, batch, storage) + states * max(tokens - 1, 0))  # fmt: skip


@dataclass(frozen=True)
class _Role:
    """The parts of a layer that are not values."""

    layer: Layer
    role: str

    def parts(self, tokens: int) -> tuple:
        return tuple(part for part in self.layer.parts(tokens) if part.role != "value")


def _changed(layer: Layer, change: Change, inputs: SimpleNamespace) -> Layer | None:
    if not isinstance(layer, Together):
        return change(layer, inputs)
    kept = tuple(new for part in layer.kept if (new := change(part, inputs)) is not None)
    return Together(kept) if kept else None


def _whole(layer: Layer) -> Layer:
    return reserved(CacheModel((layer,))).layers[0]


def _unshared(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    own = cycle([layer for layer in layers if not isinstance(layer, SharedCache)])
    return tuple(next(own) if isinstance(layer, SharedCache) else layer for layer in layers)


def _inputs(model: CacheModel) -> SimpleNamespace:
    facts = {fact.name: fact.value for fact in model.facts}
    numbers = {name: value for name, value in facts.items() if isinstance(value, int)}
    heads, hidden = numbers.get("num_heads"), numbers.get("hidden_size")
    attending = [layer for layer in model.layers if isinstance(layer, (FullAttention, LatentAttention))]
    widths = [kept.head_dim for layer in model.layers if (kept := _attention(layer)) is not None]
    return SimpleNamespace(
        num_heads=heads,
        hidden_size=hidden,
        division=hidden // heads if heads and hidden and hidden >= heads else None,
        window=next((layer.window for layer in model.layers if isinstance(layer, SlidingAttention)), None),
        nope=numbers.get("qk_nope_head_dim"),
        value_dim=numbers.get("v_head_dim"),
        index_heads=numbers.get("index_n_heads"),
        attending=attending[0] if attending else None,
        narrowest=min(widths, default=None),
    )
