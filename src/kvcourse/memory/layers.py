"""What one layer keeps for one sequence. A kind of layer is a small class; a model is a list of them.

A kind answers three questions: which tensors it holds after `tokens` tokens (`parts`), what one of `ranks`
tensor-parallel devices holds of it (`shard`), and how one says it aloud (`describe`). Formats, batches and
units are not its business.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from kvcourse.errors import ConfigError
from kvcourse.memory.checked import whole


@dataclass(frozen=True)
class Part:
    """One cached tensor of a layer for one sequence: `rows` rows of `heads` x `width` numbers."""

    role: str  # "key", "value", "index" or "state": which format of the Storage applies
    rows: int
    heads: int
    width: int
    dtype: str | None = None  # a format that the layer fixes, whatever the Storage

    @property
    def elements(self) -> int:
        return self.rows * self.heads * self.width


class Layer(Protocol):
    """A kind of layer, as the rest of this package sees it."""

    def parts(self, tokens: int) -> tuple[Part, ...]: ...

    def shard(self, ranks: int) -> "Layer": ...

    def describe(self) -> str: ...


@dataclass(frozen=True)
class FullAttention:
    """K and V of every token for each KV head: MHA, GQA (arXiv:2305.13245) and MQA (arXiv:1911.02150).

    `value_dim` is the width of a value head where it differs from that of a key head.
    """

    kv_heads: int
    head_dim: int
    value_dim: int | None = None

    def __post_init__(self) -> None:
        whole("kv_heads", self.kv_heads, least=1)
        whole("head_dim", self.head_dim, least=1)
        if self.value_dim is not None:
            whole("value_dim", self.value_dim, least=1)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        value_dim = self.head_dim if self.value_dim is None else self.value_dim
        return Part("key", tokens, self.kv_heads, self.head_dim), Part(
            "value", tokens, self.kv_heads, value_dim
        )

    def shard(self, ranks: int) -> "FullAttention":
        return replace(self, kv_heads=heads_per_rank(self.kv_heads, ranks))

    def describe(self) -> str:
        return f"full attention, {self.heads()}"

    def heads(self) -> str:
        widths = f"{self.head_dim}"
        if self.value_dim not in (None, self.head_dim):
            widths = f"{self.head_dim} (keys) and {self.value_dim} (values)"
        return f"{self.kv_heads} KV head{'s' * (self.kv_heads > 1)} of {widths}"


@dataclass(frozen=True)
class SlidingAttention:
    """K and V of the newest `window` tokens (Mistral 7B, arXiv:2310.06825); no later query reads older ones.

    A runtime may keep one token less (the query's own K and V arrive with the step) or reserve far more.
    """

    window: int
    attention: "FullAttention | Layer"  # what every token of the window keeps

    def __post_init__(self) -> None:
        whole("window", self.window, least=1)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        return self.attention.parts(min(tokens, self.window))

    def shard(self, ranks: int) -> "SlidingAttention":
        return replace(self, attention=self.attention.shard(ranks))

    def describe(self) -> str:
        return f"sliding window of {self.window} tokens, {self.attention.heads()}"


def heads_per_rank(kv_heads: int, ranks: int) -> int:
    """KV heads on each of `ranks` tensor-parallel devices. With fewer heads than devices, copies of one.

    Raises ConfigError where neither number divides the other, as servers do.
    """
    kv_heads, ranks = whole("kv_heads", kv_heads, least=1), whole("ranks", ranks, least=1)
    if kv_heads % ranks == 0:
        return kv_heads // ranks
    if ranks % kv_heads == 0:
        return 1
    raise ConfigError(
        f"{kv_heads} KV heads cannot be split over {ranks} tensor-parallel devices; expected a divisor or a "
        "multiple of the number of heads."
    )


@dataclass(frozen=True)
class ChunkedAttention:
    """K and V of the newest `chunk` tokens at most: a query sees its own chunk only (Llama 4)."""

    chunk: int
    attention: FullAttention

    def __post_init__(self) -> None:
        whole("chunk", self.chunk, least=1)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        return self.attention.parts(min(tokens, self.chunk))

    def shard(self, ranks: int) -> "ChunkedAttention":
        return replace(self, attention=self.attention.shard(ranks))

    def describe(self) -> str:
        return f"chunks of {self.chunk} tokens, {self.attention.heads()}"


@dataclass(frozen=True)
class IndexKeys:
    """One key a token for all heads of an indexer, which chooses what attention reads (MiniMax-M3, Qwen4).

    With a `pool`, one key for every whole `pool` tokens; each of the others keeps `waiting` numbers, from
    which the next key is made. Every tensor-parallel device holds all of them.
    """

    width: int
    pool: int = 1
    waiting: int = 0

    def __post_init__(self) -> None:
        whole("width", self.width, least=1)
        whole("pool", self.pool, least=1)
        whole("waiting", self.waiting)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        keys = Part("index", tokens // self.pool, 1, self.width)
        waiting = Part("state", tokens % self.pool, 1, self.waiting)
        return (keys, waiting) if waiting.elements else (keys,)

    def shard(self, ranks: int) -> "IndexKeys":
        return self

    def describe(self) -> str:
        return f"an indexer key of {self.width}" + (f" for every {self.pool} tokens" if self.pool > 1 else "")


@dataclass(frozen=True)
class Together:
    """A layer that keeps several things side by side, as Falcon-H1 does K and V and a recurrent state."""

    kept: tuple[Layer, ...]

    def parts(self, tokens: int) -> tuple[Part, ...]:
        return tuple(part for layer in self.kept for part in layer.parts(tokens))

    def shard(self, ranks: int) -> "Together":
        return Together(tuple(layer.shard(ranks) for layer in self.kept))

    def describe(self) -> str:
        return " with ".join(layer.describe() for layer in self.kept)


@dataclass(frozen=True)
class SharedCache:
    """Nothing of its own: the layer reads what an earlier layer keeps (Gemma 3n, arXiv:2405.12981)."""

    def parts(self, tokens: int) -> tuple[Part, ...]:
        return ()

    def shard(self, ranks: int) -> "SharedCache":
        return self

    def describe(self) -> str:
        return "the cache of an earlier layer"


@dataclass(frozen=True)
class CrossAttention:
    """K and V of an encoder's output: computed once, `source_tokens` long, whatever the decoder writes."""

    source_tokens: int
    attention: FullAttention

    def __post_init__(self) -> None:
        whole("source_tokens", self.source_tokens)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        return self.attention.parts(self.source_tokens)

    def shard(self, ranks: int) -> "CrossAttention":
        return replace(self, attention=self.attention.shard(ranks))

    def describe(self) -> str:
        return f"cross-attention to {self.source_tokens} tokens of the source, {self.attention.heads()}"
