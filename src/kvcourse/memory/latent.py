"""Multi-head latent attention: one compressed vector a token in place of K and V for every head."""

from dataclasses import dataclass

from kvcourse.memory.checked import whole
from kvcourse.memory.layers import Part


@dataclass(frozen=True)
class LatentAttention:
    """One row of `rank` latent and `rope_dim` rotary numbers a token (MLA, DeepSeek-V2, arXiv:2405.04434).

    All heads read the same row, and K and V are both made from it, so there is no factor 2 and nothing to
    split: every tensor-parallel device holds all of it. `index_dim` adds the key of a sparse-attention
    indexer (DeepSeek-V3.2); `transposed_copy` the latent once more, turned for the V product (ik_llama.cpp's
    -mla 1).
    """

    rank: int
    rope_dim: int = 0
    index_dim: int = 0
    transposed_copy: bool = False

    def __post_init__(self) -> None:
        whole("rank", self.rank, least=1)
        whole("rope_dim", self.rope_dim)
        whole("index_dim", self.index_dim)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        parts = [Part("key", tokens, 1, self.rank + self.rope_dim)]
        if self.index_dim:
            parts.append(Part("index", tokens, 1, self.index_dim))
        if self.transposed_copy:
            parts.append(Part("value", tokens, 1, self.rank))
        return tuple(parts)

    def shard(self, ranks: int) -> "LatentAttention":
        whole("ranks", ranks, least=1)
        return self

    def describe(self) -> str:
        return f"latent attention, {self.heads()}"

    def heads(self) -> str:
        more = f", an indexer key of {self.index_dim}" if self.index_dim else ""
        copy = ", the latent once more, transposed" if self.transposed_copy else ""
        return f"one vector of {self.rank} + {self.rope_dim} for all heads{more}{copy}"
