"""Multi-head latent attention: one compressed vector a token in place of K and V for every head."""

from dataclasses import dataclass, replace

from kvcourse.errors import ConfigError
from kvcourse.memory.checked import whole
from kvcourse.memory.layers import FullAttention, Layer, Part, Together
from kvcourse.memory.model import CacheModel


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


def expanded(model: CacheModel) -> CacheModel:
    """The same model where a runtime keeps the keys and values that latents are expanded to, for every head.

    As vLLM did before it multiplied the projections together, and Transformers before 5. Raises ConfigError
    where the configuration does not tell their widths.
    """
    facts = {fact.name: fact.value for fact in model.facts}
    heads, nope, value = (facts.get(name) for name in ("num_heads", "qk_nope_head_dim", "v_head_dim"))

    def each(layer: Layer) -> Layer:
        if isinstance(layer, Together):
            return Together(tuple(map(each, layer.kept)))
        if isinstance(layer, LatentAttention):
            return FullAttention(heads, nope + layer.rope_dim, value)
        return layer

    kept = [part for layer in model.layers for part in getattr(layer, "kept", (layer,))]
    if not any(isinstance(layer, LatentAttention) for layer in kept):
        raise ConfigError("no layer keeps latents; expected latent attention (MLA).")
    if not (heads and nope and value):
        raise ConfigError("the configuration does not tell qk_nope_head_dim and v_head_dim of its latents.")
    return replace(model, layers=tuple(map(each, model.layers)))
