"""Model types with multi-head latent attention: DeepSeek and those built like it.

`num_key_value_heads` and the head widths in these files are those of the expanded keys and values, which are
made anew at every step and not cached. Layers for multi-token prediction are not counted: a server without
speculative decoding does not run them.
"""

from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.fields import Fields
from kvcourse.memory.latent import LatentAttention
from kvcourse.memory.layers import IndexKeys, Layer, SharedCache, SlidingAttention

EXPANDED = (
    "num_key_value_heads", "q_lora_rank", "qk_nope_head_dim", "v_head_dim", "head_dim", "qk_head_dim",
    "index_n_heads", "index_topk", "qk_nope_rope_head_dim", "indexer_rope_interleave", "index_kpool",
    "index_share_for_mtp_iteration", "indexer_layernorm_type",
)  # fmt: skip


@dataclass(frozen=True)
class Latent:
    """One family. `indexed`: an indexer's key beside the latent, in the layers that have one of their own."""

    indexed: bool = False
    layers: str = "num_hidden_layers"
    blocks: int = 1  # attention blocks a layer
    period_fields: bool = True  # whether a period may share an indexer among layers where no list tells

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        fields.ignore(*EXPANDED, "layer_types")
        layers = self.blocks * fields.count("num_layers", self.layers)
        fields.count("num_heads", "num_attention_heads")
        fields.count("hidden_size", "hidden_size")
        plain = latent(fields)
        if not self.indexed:
            return (plain,) * layers
        indexed = LatentAttention(plain.rank, plain.rope_dim, fields.given("index_head_dim"))
        return tuple(indexed if own else plain for own in own_indexers(fields, layers, self.period_fields))


def latent(fields: Fields) -> LatentAttention:
    for expanded in ("qk_nope_head_dim", "v_head_dim", "index_n_heads"):  # of use to who compares
        fields.optional(expanded, expanded)
    return LatentAttention(fields.given("kv_lora_rank"), fields.given("qk_rope_head_dim", least=0))


def own_indexers(fields: Fields, layers: int, periodic: bool = True) -> list[bool]:
    """Which layers keep an indexer's keys; the others use the selection of the layer before."""
    period = fields.given("index_topk_freq", default=1)
    first = fields.given("index_skip_topk_offset", least=0, default=2)
    kinds, pattern = fields.names("indexer_types", layers), fields.get("index_topk_pattern")
    if kinds is None and isinstance(pattern, str):
        kinds = [{"F": "full", "S": "shared"}.get(letter, letter) for letter in pattern]
    elif kinds is None and pattern is not None:
        kinds = fields.names("index_topk_pattern", layers)
    if kinds is None:
        if not periodic:  # Hunyuan 4: its class has a pattern and no fields for it
            return [layer == 0 or (layer - 1) % 4 == 0 for layer in range(layers)]
        return [max(layer - first + 1, 0) % period == 0 for layer in range(layers)]
    for kind in kinds:
        if kind not in ("full", "shared"):
            raise ConfigError(f"field 'indexer_types' has the kind {shown(kind)}; expected full or shared.")
    if len(kinds) != layers:
        raise ConfigError(
            f"field 'index_topk_pattern' names {len(kinds)} layers; expected num_hidden_layers = {layers}."
        )
    return [kind == "full" for kind in kinds]


def dots3(fields: Fields) -> tuple[Layer, ...]:
    """dots.note: indexed latents, and windowed layers whose latents have sizes of their own (`swa_*`)."""
    fields.ignore(*EXPANDED, "moe_layer_freq", "use_dsa")
    layers, window = (
        fields.count("num_layers", "num_hidden_layers"),
        fields.optional("window", "sliding_window"),
    )
    window = fields.given("sliding_window_size", default=512) if window is None else window
    fields.ignore("sliding_window_size", "num_attention_heads", "hidden_size")
    plain, slides = latent(fields), fields.flag("use_sliding_window", True)
    use_indexer = fields.flag("use_dsa", True)
    wide = (
        LatentAttention(plain.rank, plain.rope_dim, fields.given("index_head_dim")) if use_indexer else plain
    )
    head, nope = fields.given("swa_head_dim", default=256), fields.given("swa_qk_nope_head_dim", default=192)
    rope = fields.given("swa_qk_rope_head_dim", least=0, default=max(head - nope, 0))
    fields.ignore("swa_num_attention_heads", "swa_num_key_value_heads", "swa_q_lora_rank", "swa_v_head_dim")
    slim = SlidingAttention(window, LatentAttention(fields.given("swa_kv_lora_rank", default=1024), rope))
    usual = [not slides or i < 2 or i % 4 == 1 for i in range(layers)]
    kinds = fields.names("layer_types", layers)
    for kind in kinds or ():
        if kind not in ("full_attention", "indexed_attention", "sliding_attention"):
            raise ConfigError(f"field 'layer_types' has a layer of kind {shown(kind)}, not covered here.")
    full = usual if kinds is None else [kind != "sliding_attention" for kind in kinds]
    return tuple(wide if is_full else slim for is_full in full)


def mistral_large4(fields: Fields) -> tuple[Layer, ...]:
    """`kv_source_layers` names for each layer the one whose latents it reads: its own or an earlier one's.

    An indexer of its own keeps its keys all the same.
    """
    fields.ignore("no_rope_layers", "no_rope_layer_interval")
    kept = Latent(indexed=True)(fields)
    sources = fields.get("kv_source_layers")
    if sources is None:
        return kept
    if not isinstance(sources, list) or len(sources) != len(kept):
        raise ConfigError(
            f"field 'kv_source_layers' is {shown(sources)}; expected a layer for each of {len(kept)}."
        )
    if not all(type(source) is int and 0 <= source <= i for i, source in enumerate(sources)):
        raise ConfigError(
            f"field 'kv_source_layers' is {shown(sources)}; expected a layer's own number or an earlier one."
        )
    return tuple(
        layer if source == i else IndexKeys(layer.index_dim) if layer.index_dim else SharedCache()
        for i, (layer, source) in enumerate(zip(kept, sources, strict=True))
    )


FAMILIES = {
    "axk1": Latent(),
    "axk2": Latent(indexed=True),
    "deepseek_v2": Latent(),
    "deepseek_v3": Latent(),
    "deepseek_v32": Latent(indexed=True),
    "dots3_note_text": dots3,
    "glm4_moe_lite": Latent(),
    "glm_moe_dsa": Latent(indexed=True),
    "hy_v4": Latent(indexed=True, period_fields=False),
    "hy_v4_vl_text": Latent(indexed=True, period_fields=False),
    "longcat_flash": Latent(layers="num_layers", blocks=2),
    "minicpm3": Latent(),
    "mistral4": Latent(),
    "mistral_large4_text": mistral_large4,
    "sarvam_mla": Latent(),
    "youtu": Latent(),
}
