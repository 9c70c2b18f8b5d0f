"""A model as its cache sees it: a list of layers. Everything here is counted in whole bytes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kvcourse.memory.checked import whole
from kvcourse.memory.formats import Storage, parse_format, parse_storage
from kvcourse.memory.layers import FullAttention, Layer, Part


@dataclass(frozen=True)
class Fact:
    """One number of a model's shape and where it came from, for `kvcourse size --explain`."""

    name: str
    value: object
    source: str


@dataclass(frozen=True)
class CacheModel:
    """The layers of a model that hold a cache, in order.

    `dtype` is that of the published weights and `max_tokens` the longest context, where the configuration
    tells.
    """

    layers: tuple[Layer, ...]
    model_type: str = ""
    dtype: str | None = None
    max_tokens: int | None = None
    facts: tuple[Fact, ...] = field(default=(), compare=False)

    def bytes(self, tokens: int, batch: int = 1, dtype: Storage | str = "fp16") -> int:
        """Bytes of the caches of `batch` sequences that hold `tokens` tokens each."""
        return whole("batch", batch) * self._sequence(whole("tokens", tokens), parse_storage(dtype))

    def bytes_of(self, lengths: Iterable[int], dtype: Storage | str = "fp16") -> int:
        """Bytes of the caches of sequences of different lengths, in tokens."""
        storage = parse_storage(dtype)
        counts = Counter(whole("tokens", length) for length in lengths)
        return sum(count * self._sequence(length, storage) for length, count in counts.items())

    def bytes_per_token(self, dtype: Storage | str = "fp16", held: int = 0, over: int = 1) -> int:
        """Bytes that one more token adds to a sequence that holds `held` tokens.

        `over` averages the next so many tokens, for layers that store one entry for several; rounded down.
        """
        storage, held, over = parse_storage(dtype), whole("held", held), whole("over", over, least=1)
        return (self._sequence(held + over, storage) - self._sequence(held, storage)) // over

    def elements(self, tokens: int) -> int:
        """Numbers in the cache of one sequence of `tokens` tokens, whatever their format."""
        tokens = whole("tokens", tokens)
        return sum(count * part.elements for layer, count in self.groups() for part in layer.parts(tokens))

    def shard(self, ranks: int) -> "CacheModel":
        """What one of `ranks` tensor-parallel devices holds: its share of the KV heads, or copies of one."""
        shards = {layer: layer.shard(ranks) for layer in set(self.layers)}
        return replace(self, layers=tuple(shards[layer] for layer in self.layers))

    def groups(self) -> list[tuple[Layer, int]]:
        """Each kind of layer with how many the model has, in order of first appearance."""
        return list(Counter(self.layers).items())

    def period(self) -> int:
        """The most tokens that any layer stores one entry for: what an average of the next tokens is over."""
        kept = [part for layer in set(self.layers) for part in getattr(layer, "kept", (layer,))]
        return max((getattr(part, name, 1) for part in kept for name in ("ratio", "pool")), default=1) or 1

    def _sequence(self, tokens: int, storage: Storage) -> int:
        return sum(
            count * sum(part_bytes(part, storage) for part in layer.parts(tokens))
            for layer, count in self.groups()
        )


def part_bytes(part: Part, storage: Storage) -> int:
    """Bytes of one cached tensor: a row is stored whole, so no scale is shared between two tokens."""
    if part.dtype is not None:
        chosen = parse_format(part.dtype)
    else:
        chosen = {"key": storage.key, "value": storage.value, "index": storage.index}.get(
            part.role, storage.state
        )
    return part.rows * chosen.bytes(part.heads * part.width, part.heads)


def kv_bytes(
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    tokens: int,
    dtype: Storage | str = "fp16",
    batch: int = 1,
) -> int:
    """2 x layers x KV heads x head_dim x tokens x bytes x batch: a model whose layers are all alike."""
    one_layer = CacheModel((FullAttention(num_kv_heads, head_dim),))
    return whole("num_layers", num_layers, least=1) * one_layer.bytes(tokens, batch, dtype)
