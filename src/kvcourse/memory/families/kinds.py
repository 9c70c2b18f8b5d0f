"""Which layers of a hybrid attend and which recur: each rule gives a kind for every layer."""

from collections.abc import Callable

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.fields import MOST_LAYERS, Fields


def all_recurrent(fields: Fields) -> list[str]:
    return ["linear_attention"] * fields.count("num_layers", "num_hidden_layers", "num_blocks")


def all_both(fields: Fields) -> list[str]:
    return ["hybrid"] * fields.count("num_layers", "num_hidden_layers")


def named_or(usual: Callable[[int, int], str]) -> Callable[[Fields], list[str]]:
    """`layer_types`, or else `usual(layer, layers)`."""

    def kinds(fields: Fields) -> list[str]:
        layers = fields.count("num_layers", "num_hidden_layers")
        return fields.names("layer_types", layers) or [usual(i, layers) for i in range(layers)]

    return kinds


def every_nth_attends(fields: Fields) -> list[str]:
    layers = fields.count("num_layers", "num_hidden_layers")
    period = fields.given("full_attention_interval", default=4)
    named = fields.names("layer_types", layers)
    return named or ["full_attention" if (i + 1) % period == 0 else "linear_attention" for i in range(layers)]


def grouped(fields: Fields) -> list[str]:
    layers, size = (
        fields.count("num_layers", "num_hidden_layers"),
        fields.given("layer_group_size", default=6),
    )
    named = fields.names("layer_types", layers)
    return named or ["full_attention" if (i + 1) % size == 0 else "linear_attention" for i in range(layers)]


def period_and_offset(fields: Fields) -> list[str]:
    layers = fields.count("num_layers", "num_hidden_layers")
    period, offset = fields.given("attn_layer_period"), fields.given("attn_layer_offset", least=0)
    fields.ignore("use_mamba_kernels", "mamba_dt_rank", "mamba_conv_bias", "mamba_proj_bias", "use_mambapy")
    fields.ignore("mamba_inner_layernorms")
    return ["full_attention" if i % period == offset else "linear_attention" for i in range(layers)]


def listed(fields: Fields) -> list[str]:
    """Bamba: `attn_layer_indices` attend."""
    layers = fields.count("num_layers", "num_hidden_layers")
    attending = fields.indices("attn_layer_indices", layers) or set()
    return ["full_attention" if i in attending else "linear_attention" for i in range(layers)]


def kda_listed(fields: Fields) -> list[str]:
    """Kimi: `linear_attn_config` counts layers from 1; else `layer_types`, or the class's every fourth."""
    layers = fields.count("num_layers", "num_hidden_layers")
    named, nested = fields.names("layer_types", layers), fields.get("linear_attn_config")
    if named is not None or not isinstance(nested, dict) or "full_attn_layers" not in nested:
        return named or ["full_attention" if i and i % 4 == 0 else "linear_attention" for i in range(layers)]
    full, kda = nested.get("full_attn_layers"), nested.get("kda_layers")
    numbers = [*full, *kda] if isinstance(full, list) and isinstance(kda, list) else []
    if len(numbers) != layers or {*map(repr, numbers)} != {str(i + 1) for i in range(layers)}:
        raise ConfigError(
            f"field 'linear_attn_config' has full_attn_layers {shown(full)} and kda_layers {shown(kda)}; "
            f"expected each of the layers 1 to {layers} in one of them."
        )
    return ["full_attention" if i + 1 in set(full) else "linear_attention" for i in range(layers)]


_LETTERS = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}


def spelled(fields: Fields) -> list[str]:
    """Nemotron-H: a letter a layer, M for Mamba, * for attention, - for an MLP, E for experts; or a list."""
    pattern = fields.text("hybrid_override_pattern")
    fields.ignore("mtp_hybrid_override_pattern", "mtp_layers_block_type", "num_hidden_layers")
    for name in ("layers_block_type", "layer_types"):
        named = fields.get(name)
        if named is not None:
            _refuse_too_many(name, named)
            return fields.names(name, len(named) if isinstance(named, list) else 0)
    _refuse_too_many("hybrid_override_pattern", pattern or "")
    if not pattern or set(pattern) - set(_LETTERS):
        raise ConfigError(
            f"field 'hybrid_override_pattern' is {shown(pattern)}; expected letters of M * - E."
        )
    return [_LETTERS[letter] for letter in pattern]


def _refuse_too_many(name: str, listed: object) -> None:
    if isinstance(listed, (list, str)) and len(listed) > MOST_LAYERS:
        raise ConfigError(f"field '{name}' names {len(listed)} layers; expected at most {MOST_LAYERS}.")


def zamba_blocks(fields: Fields) -> list[str]:
    """Zamba names its layers; else one of six is a shared attention with Mamba beside it."""
    layers = fields.count("num_layers", "num_hidden_layers")
    named = fields.names("layers_block_type", layers)
    if named is not None:
        fields.ignore("attn_layer_period", "attn_layer_offset")
        return named
    if fields.default("attn_layer_period") is None and fields.get("attn_layer_period") is None:
        raise ConfigError("field 'layers_block_type' is missing; expected a kind for each layer.")
    period, offset = fields.given("attn_layer_period"), fields.given("attn_layer_offset", least=0)
    first = ["linear_attention", "linear_attention", "hybrid"]
    rest = ["hybrid" if i % period == offset else "linear_attention" for i in range(layers - 3)]
    return (first + rest)[:layers]


def zamba2_blocks(fields: Fields) -> list[str]:
    """Zamba2's files name them all; the class has one list, for 54 layers."""
    layers = fields.count("num_layers", "num_hidden_layers")
    named, hybrid = fields.names("layers_block_type", layers), fields.indices("hybrid_layer_ids", layers)
    if named is None and hybrid is None:
        if layers != 54:
            raise ConfigError("field 'layers_block_type' is missing; expected a kind for each layer.")
        hybrid = {6, 12, 18, 24, 30, 36, 42, 47, 51}
    return named or ["hybrid" if i in hybrid else "linear_attention" for i in range(layers)]


def types_or_indices(fields: Fields) -> list[str]:
    """LFM2: `layer_types`, or all layers attend unless `full_attn_idxs` names those that do."""
    layers = fields.count("num_layers", "num_hidden_layers")
    named, attending = fields.names("layer_types", layers), fields.indices("full_attn_idxs", layers)
    chosen = range(layers) if attending is None else attending
    return named or ["full_attention" if i in chosen else "conv" for i in range(layers)]


def griffin_blocks(fields: Fields) -> list[str]:
    """RecurrentGemma repeats `block_types`; its attention sees a window."""
    layers, cycle = fields.count("num_layers", "num_hidden_layers"), fields.get("block_types")
    fields.ignore("layer_types")
    cycle = ["recurrent", "recurrent", "attention"] if cycle is None else cycle
    meaning = {"recurrent": "linear_attention", "attention": "sliding_attention"}
    if (
        not isinstance(cycle, list)
        or not cycle
        or any(not isinstance(k, str) or k not in meaning for k in cycle)
    ):
        raise ConfigError(f"field 'block_types' is {shown(cycle)}; expected recurrent or attention.")
    return [meaning[cycle[i % len(cycle)]] for i in range(layers)]


def minimax_kinds(fields: Fields) -> list[str]:
    """MiniMax-Text-01: `attn_type_list` has 0 for lightning and 1 for softmax; else they alternate."""
    layers, told = fields.count("num_layers", "num_hidden_layers"), fields.get("attn_type_list")
    fields.ignore(
        *(f"{kind}_attn_{name}_factor" for kind in ("full", "linear") for name in ("alpha", "beta"))
    )
    fields.ignore("sliding_window", "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta")
    named = fields.names("layer_types", layers)
    if named is not None or told is None:
        return named or ["linear_attention" if i % 2 else "full_attention" for i in range(layers)]
    if not isinstance(told, list) or len(told) != layers or not set(map(repr, told)) <= {"0", "1"}:
        raise ConfigError(f"field 'attn_type_list' is {shown(told)}; expected 0 or 1 for each layer.")
    return ["full_attention" if kind else "linear_attention" for kind in told]
