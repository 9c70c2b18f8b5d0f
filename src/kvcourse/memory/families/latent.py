"""Model types with multi-head latent attention: DeepSeek and those built like it.

`num_key_value_heads` and the head widths in these files are those of the expanded keys and values, which are
made anew at every step and not cached. Layers for multi-token prediction are not counted: a server without
speculative decoding does not run them.
"""

from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.fields import CLASS_DEFAULT, Fields
from kvcourse.memory.latent import LatentAttention
from kvcourse.memory.layers import Layer

_EXPANDED = (
    "num_key_value_heads", "q_lora_rank", "qk_nope_head_dim", "v_head_dim", "head_dim", "qk_head_dim",
    "index_n_heads", "index_topk", "qk_nope_rope_head_dim", "indexer_rope_interleave", "layer_types",
)  # fmt: skip


@dataclass(frozen=True)
class Latent:
    """One family. `index_dim` is the class default of the width of an indexer's key; None has no indexer."""

    rank: int = 512
    rope_dim: int = 64
    index_dim: int | None = None
    skips: int | None = None  # layers before the first that may share another's indexer; None shares none

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        for about_expansion in _EXPANDED:
            fields.get(about_expansion)
        layers = fields.count("num_layers", "num_hidden_layers")
        fields.count("num_heads", "num_attention_heads")
        fields.count("hidden_size", "hidden_size")
        rank = fields.count("kv_lora_rank", "kv_lora_rank", default=self.rank, why=CLASS_DEFAULT)
        rope = fields.count("qk_rope_head_dim", "qk_rope_head_dim", default=self.rope_dim, why=CLASS_DEFAULT)
        plain = LatentAttention(rank, rope)
        if self.index_dim is None:
            return (plain,) * layers
        width = fields.count("index_head_dim", "index_head_dim", default=self.index_dim, why=CLASS_DEFAULT)
        indexed = LatentAttention(rank, rope, width)
        return tuple(indexed if own else plain for own in self.own_indexers(fields, layers))

    def own_indexers(self, fields: Fields, layers: int) -> list[bool]:
        """Which layers keep an indexer's keys; the others use the selection of the layer before."""
        if self.skips is None:
            return [True] * layers
        period = fields.count("indexer_period", "index_topk_freq", default=1, why=CLASS_DEFAULT)
        first = fields.count("indexer_first", "index_skip_topk_offset", default=self.skips, why=CLASS_DEFAULT)
        fields.get("index_share_for_mtp_iteration")
        kinds = fields.names("indexer_types", layers)
        if kinds is None:
            return [max(layer - first + 1, 0) % period == 0 for layer in range(layers)]
        for kind in kinds:
            if kind not in ("full", "shared"):
                raise ConfigError(
                    f"field 'indexer_types' has the kind {shown(kind)}; expected full or shared."
                )
        return [kind == "full" for kind in kinds]


FAMILIES = {
    "deepseek_v2": Latent(),
    "deepseek_v3": Latent(),
    "deepseek_v32": Latent(index_dim=128),
    "glm4_moe_lite": Latent(),
    "glm_moe_dsa": Latent(index_dim=128, skips=2),
    "kimi_k2": Latent(),  # ships DeepSeek-V3's class under its own name
    "mistral4": Latent(rank=256),
    "youtu": Latent(),
}
