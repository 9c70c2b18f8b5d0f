"""Model types that mix attention with recurrent layers: Mamba, gated delta nets, short convolutions.

Each entry repeats what Transformers' configuration class of that type (v5.24) means by an absent field.
Layers that are only an MLP or experts keep nothing and are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcourse.errors import ConfigError, UnitError, shown
from kvcourse.memory.families.attention import Attention
from kvcourse.memory.fields import MOST_LAYERS, Fields
from kvcourse.memory.formats import parse_format
from kvcourse.memory.layers import Layer
from kvcourse.memory.recurrent import RecurrentState

_ATTENTION = {"full_attention", "attention"}
_RECURRENT = {"linear_attention", "mamba", "mamba2", "conv", "recurrent"}
_NOTHING = {"mlp", "moe"}


@dataclass(frozen=True)
class Hybrid:
    """One family: its attention, its recurrent state, and which layers are what."""

    state: Callable[[Fields], RecurrentState]
    kinds: Callable[[Fields], list[str]]
    attention: Attention | None = None

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        kinds = self.kinds(fields)
        attending = _ATTENTION if self.attention is not None else set()
        for kind in kinds:
            if kind not in attending | _RECURRENT | _NOTHING:
                raise ConfigError(f"a layer of kind {shown(kind)} is not covered for this model_type.")
        fields.note("num_layers", len(kinds), "the list of layer kinds")
        recurrent = self.state(fields)
        full = self.attention.full_attention(fields) if self.attention is not None else None
        return tuple(recurrent if kind in _RECURRENT else full for kind in kinds if kind not in _NOTHING)


def _dtype(fields: Fields, name: str) -> str | None:
    told = fields.text(name)
    if told in (None, "auto"):
        return None
    try:
        return parse_format(told).name
    except UnitError:
        raise ConfigError(f"field '{name}' is {shown(told)}; expected a dtype such as float32.") from None


# ---- states --------------------------------------------------------------------------------------


def gated_delta_net(fields: Fields) -> RecurrentState:
    """A matrix of key width x value width for each value head (Qwen3-Next, arXiv:2412.06464)."""
    keys, key = fields.given("linear_num_key_heads", 16), fields.given("linear_key_head_dim", 128)
    values, value = fields.given("linear_num_value_heads", 32), fields.given("linear_value_head_dim", 128)
    kernel = fields.given("linear_conv_kernel_dim", 4)
    return RecurrentState(
        values, key * value, 2 * keys * key + values * value, kernel - 1, _dtype(fields, "mamba_ssm_dtype")
    )


def mamba(fields: Fields) -> RecurrentState:
    """d_state numbers for each inner channel (arXiv:2312.00752)."""
    inner = fields.count("hidden_size", "hidden_size") * fields.given("expand", 2)
    inner = fields.count("inner", "intermediate_size", default=inner, why="expand x hidden_size")
    return RecurrentState(inner, fields.given("state_size", 16), inner, fields.given("conv_kernel", 4) - 1)


def jamba(fields: Fields) -> RecurrentState:
    inner = fields.count("hidden_size", "hidden_size") * fields.given("mamba_expand", 2)
    kept, kernel = fields.given("mamba_d_state", 16), fields.given("mamba_d_conv", 4)
    return RecurrentState(inner, kept, inner, kernel - 1)


def mamba2(fields: Fields) -> RecurrentState:
    heads, width = fields.given("num_heads", 128), fields.given("head_dim", 64)
    kept, groups = fields.given("state_size", 128), fields.given("n_groups", 8)
    fields.get("chunk_size")
    return _mamba2(heads, width, kept, groups, fields.given("conv_kernel", 4), None)


def nemotron(fields: Fields) -> RecurrentState:
    heads, width = fields.given("mamba_num_heads", 128), fields.given("mamba_head_dim", 64)
    kept, groups = fields.given("ssm_state_size", 128), fields.given("n_groups", 8)
    dtype = _dtype(fields, "mamba_ssm_cache_dtype")
    for unused in ("chunk_size", "use_mamba_kernels", "mamba_hidden_act", "mamba_proj_bias", "use_conv_bias"):
        fields.get(unused)
    return _mamba2(heads, width, kept, groups, fields.given("conv_kernel", 4), dtype)


def bamba(fields: Fields) -> RecurrentState:
    hidden = fields.count("hidden_size", "hidden_size")
    heads, kept = fields.given("mamba_n_heads", 128), fields.given("mamba_d_state", 256)
    groups, inner = fields.given("mamba_n_groups", 1), hidden * fields.given("mamba_expand", 2)
    for unused in ("mamba_d_head", "mamba_chunk_size", "mamba_conv_bias", "mamba_proj_bias"):
        fields.get(unused)
    if inner % heads:
        raise ConfigError(f"mamba_n_heads = {heads} does not divide the inner width {inner}.")
    return _mamba2(heads, inner // heads, kept, groups, fields.given("mamba_d_conv", 4), None)


def _mamba2(heads: int, width: int, kept: int, groups: int, kernel: int, dtype: str | None) -> RecurrentState:
    """A matrix of head width x d_state for each head; the convolution also carries each group's B and C."""
    return RecurrentState(heads, width * kept, heads * width + 2 * groups * kept, kernel - 1, dtype)


def short_convolution(fields: Fields) -> RecurrentState:
    """LFM2: no state but the newest inputs of a convolution."""
    hidden = fields.count("hidden_size", "hidden_size")
    fields.get("conv_bias")
    return RecurrentState(0, 0, hidden, fields.given("conv_L_cache", 3) - 1)


# ---- which layers are what -------------------------------------------------------------------------


def all_recurrent(fields: Fields) -> list[str]:
    return ["linear_attention"] * fields.count("num_layers", "num_hidden_layers")


def every_nth_attends(fields: Fields) -> list[str]:
    layers = fields.count("num_layers", "num_hidden_layers")
    period = fields.given("full_attention_interval", 4)
    named = fields.names("layer_types", layers)
    return named or ["full_attention" if (i + 1) % period == 0 else "linear_attention" for i in range(layers)]


def period_and_offset(fields: Fields) -> list[str]:
    layers = fields.count("num_layers", "num_hidden_layers")
    period, offset = fields.given("attn_layer_period", 8), fields.given("attn_layer_offset", 4, least=0)
    for unused in ("use_mamba_kernels", "mamba_dt_rank", "mamba_conv_bias", "mamba_proj_bias", "use_mambapy"):
        fields.get(unused)
    return ["full_attention" if i % period == offset else "linear_attention" for i in range(layers)]


def listed(fields: Fields) -> list[str]:
    """Bamba: `attn_layer_indices` attend."""
    layers = fields.count("num_layers", "num_hidden_layers")
    attending = fields.indices("attn_layer_indices", layers) or set()
    return ["full_attention" if i in attending else "linear_attention" for i in range(layers)]


def spelled(fields: Fields) -> list[str]:
    """Nemotron-H: a letter a layer, M for Mamba, * for attention, - for an MLP, E for experts; or a list."""
    pattern, named = fields.text("hybrid_override_pattern"), fields.get("layers_block_type")
    for unused in ("mtp_hybrid_override_pattern", "mtp_layers_block_type", "num_hidden_layers"):
        fields.get(unused)
    length = len(named if isinstance(named, list) else pattern or "")
    if length > MOST_LAYERS:
        name = "hybrid_override_pattern" if named is None else "layers_block_type"
        raise ConfigError(f"field '{name}' names {length} layers; expected at most {MOST_LAYERS}.")
    if named is not None:
        return fields.names("layers_block_type", length if isinstance(named, list) else 0)
    letters = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}
    if not pattern or set(pattern) - set(letters):
        raise ConfigError(
            f"field 'hybrid_override_pattern' is {shown(pattern)}; expected letters of M * - E."
        )
    return [letters[letter] for letter in pattern]


def types_or_indices(fields: Fields) -> list[str]:
    """LFM2: `layer_types`, or all layers attend unless `full_attn_idxs` names those that do."""
    layers = fields.count("num_layers", "num_hidden_layers")
    named, attending = fields.names("layer_types", layers), fields.indices("full_attn_idxs", layers)
    chosen = range(layers) if attending is None else attending
    return named or ["full_attention" if i in chosen else "conv" for i in range(layers)]


FAMILIES = {
    "bamba": Hybrid(bamba, listed, Attention(absent_kv_heads=8)),
    "falcon_mamba": Hybrid(mamba, all_recurrent),
    "jamba": Hybrid(jamba, period_and_offset, Attention(absent_kv_heads=8)),
    "lfm2": Hybrid(short_convolution, types_or_indices, Attention(absent_kv_heads=8)),
    "mamba": Hybrid(mamba, all_recurrent),
    "mamba2": Hybrid(mamba2, all_recurrent),
    "nemotron_h": Hybrid(nemotron, spelled, Attention(absent_kv_heads=8, absent_head_dim=128)),
    "qwen3_5_moe_text": Hybrid(
        gated_delta_net, every_nth_attends, Attention(absent_kv_heads=2, absent_head_dim=256)
    ),
    "qwen3_5_text": Hybrid(
        gated_delta_net, every_nth_attends, Attention(absent_kv_heads=4, absent_head_dim=256)
    ),
    "qwen3_next": Hybrid(
        gated_delta_net, every_nth_attends, Attention(absent_kv_heads=2, absent_head_dim=256)
    ),
}
