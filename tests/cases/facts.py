"""A curated set of fields about a published model, as the config.json behind them would say them.

Curators count kinds of layers where a file lists them; the fields that remain go through the same readers, so
that a model has one size whoever describes it. Left aside is what a server chooses and a model does not fix:
formats (an indexer's keys in FP8 with their scales, say), checkpoints of states, and layers for drafting.
"""

import re

from cases.params import Uncovered
from kvcourse.errors import shown

_FORMATS = re.compile(r"_(bytes|precision|quant)(_|$)")
_ASIDE = (
    "default_", "draft_", "mtp_", "num_mtp_", "num_nextn_", "use_mtp", "disable_draft", "config_max_",
    "model_max_length", "rotary_dim", "index_share_for_mtp",
)  # fmt: skip
_MOST = 10_000  # layers, as the readers have it


def as_config(facts: dict) -> dict:
    """A configuration of the kind that the fields are about. Raises Uncovered where counts do not add up."""
    given = {n: v for n, v in facts.items() if v is not None and not n.startswith(_ASIDE)}
    given = {n: v for n, v in given.items() if not _FORMATS.search(n)}
    layers = given.get("num_hidden_layers")
    if type(layers) is not int or not 0 < layers <= _MOST:
        raise Uncovered(f"num_hidden_layers is {shown(layers)}")
    heads = given.get("num_attention_heads") or given.get("num_key_value_heads")
    if heads is None and "kv_lora_rank" in given:
        heads = 1  # of no weight: all heads read one latent
    config = {"num_attention_heads": heads} | given
    if isinstance(heads, int) and "hidden_size" not in given:  # of no weight where a head's width is given
        width = given.get("head_dim", 1)
        config["hidden_size"] = heads * width if type(width) is int else heads
    config = _as_wide_as_the_others(config)
    for kind, (marks, model_type) in _KINDS.items():
        if all(mark in config for mark in marks):
            return _READ[kind](config, layers) | {"model_type": model_type}
    return config | {"model_type": "llama"}


def _as_wide_as_the_others(config: dict) -> dict:
    """Heads of windowed or full layers, of which a curator tells only how they differ from the others."""
    config = {re.sub("^sliding_(?=.*head)", "swa_", name): value for name, value in config.items()}
    named = ("num_key_value_heads", "head_dim", "v_head_dim")
    if any(f"swa_{name}" in config for name in named):
        config = {f"swa_{name}": config[name] for name in named if name in config} | config
    if "num_global_key_value_heads" in config and "head_dim" in config:
        config = {"global_head_dim": config["head_dim"]} | config
    return config


_KINDS = {  # the fields that only such a model has, and a type whose files are read the same way
    "sourced": (("compress_ratios", "kv_source_layer_ids"), "deepseek_v41_text"),
    "compressed": (("compress_ratios",), "deepseek_v4"),
    "pooled": (("kda_layers", "index_head_dim"), "glm5_next_text"),
    "kda": (("kda_layers",), "kimi_linear"),
    "two latents": (("kv_lora_rank", "swa_kv_lora_rank"), "dots3_note_text"),
    "indexed": (("kv_lora_rank", "index_head_dim"), "glm_moe_dsa"),
    "latent": (("kv_lora_rank",), "deepseek_v3"),
    "convolved": (("sconv_kernel_size",), "inkling_text"),
    "delta": (("linear_num_value_heads",), "qwen3_5_text"),
    "sparse": (("sparse_attention_layers",), "minimax_m3_vl_text"),
    "wide": (("global_head_dim",), "gemma4_text"),
    "slim": (("swa_head_dim",), "mimo_v2_flash"),
    "windowed": (("sliding_attention_layers",), "cohere2"),
    "unused": (("use_sliding_window",), "qwen2"),
}


def _layers(config: dict, name: str) -> int:
    """Take a count of layers out of the fields; a kind that is not mentioned has none."""
    count = config.pop(name, 0)
    if type(count) is not int or not 0 <= count <= _MOST:
        raise Uncovered(f"{name} is {shown(count)}")
    return count


def _types(config: dict, layers: int, other: str, name: str, full: str = "full_attention") -> dict:
    """`layer_types` for two counts; their order changes no size, but Gemma 4 ends with a full layer."""
    counted, whole, shared = _layers(config, name), _layers(config, "full_attention_layers"), 0
    if "num_kv_shared_layers" in config:
        shared = _layers(dict(config), "num_kv_shared_layers")
    kept = layers - shared
    stored = config.pop("stored_layers", kept)
    if stored != kept:
        raise Uncovered(f"stored_layers is {shown(stored)}, where {layers} layers share {shared}")
    if counted + whole != kept:
        raise Uncovered(f"{counted} and {whole} layers, where {kept} keep a cache")
    return config | {"layer_types": [other] * counted + [full] * whole + [full] * (layers - kept)}


def _sliding(config: dict, layers: int) -> dict:
    return _types(config, layers, "sliding_attention", "sliding_attention_layers")


def _slim(config: dict, layers: int) -> dict:
    """Values are as wide as keys unless the fields say otherwise; MiMo-V2's own class has narrower ones."""
    if "v_head_dim" not in config and "head_dim" in config:
        usual = {"v_head_dim": config["head_dim"], "swa_v_head_dim": config["swa_head_dim"]}
        config = usual | config
    return _sliding(config, layers)


def _indexed(config: dict, layers: int) -> dict:
    return config | _indexers(config, layers)


def _indexers(config: dict, attending: int, before: int = 0) -> dict:
    """`indexer_types` for the last `attending` layers, where the fields count those that share one."""
    if "indexer_full_layers" not in config:
        return {}
    own, shared = _layers(config, "indexer_full_layers"), _layers(config, "indexer_shared_layers")
    if own + shared != attending:
        raise Uncovered(f"{own} and {shared} indexers for {attending} layers")
    return {"indexer_types": ["full"] * (before + own) + ["shared"] * shared}


def _kda(config: dict, layers: int) -> dict:
    full, _, sizes = _delta(config, layers)
    numbers = list(range(1, layers + 1))
    lists = {"full_attn_layers": numbers[:full], "kda_layers": numbers[full:]}
    return config | {"linear_attn_config": sizes | lists}


def _pooled(config: dict, layers: int) -> dict:
    full, kda, sizes = _delta(config, layers)
    kinds = ["linear_attention"] * kda + ["indexed_attention"] * full
    indexers = _indexers(config, full, before=kda)
    return config | indexers | {"linear_attn_config": sizes, "layer_types": kinds}


def _delta(config: dict, layers: int) -> tuple[int, int, dict]:
    """Layers that attend, layers of Kimi's delta attention, and the sizes of the latter."""
    full, kda = _layers(config, "full_attention_layers"), _layers(config, "kda_layers")
    if full + kda != layers:
        raise Uncovered(f"{full} and {kda} layers, where there are {layers}")
    told = {name: config.pop(name) for name in [*config] if name.startswith("kda_")}
    missing = [n for n in ("kda_num_heads", "kda_head_dim", "kda_conv_kernel_size") if n not in told]
    if missing:
        raise Uncovered(f"no key {missing[0]!r}")
    sizes = {"num_heads": told["kda_num_heads"], "head_dim": told["kda_head_dim"],
             "short_conv_kernel_size": told.pop("kda_conv_kernel_size")}  # fmt: skip
    for name, value in told.items():
        usual = sizes["num_heads" if name.endswith("heads") else "head_dim"]
        if value != usual:
            raise Uncovered(f"{name} is {shown(value)}, where keys and values of {usual} are understood")
    return full, kda, sizes


def _sparse(config: dict, layers: int) -> dict:
    config.pop("sparse_attention", None)
    return _types(config, layers, "minimax_m3_sparse", "sparse_attention_layers")


def _convolved(config: dict, layers: int) -> dict:
    return _types(config, layers, "hybrid_sliding", "sliding_attention_layers", "hybrid")


def _linear(config: dict, layers: int) -> dict:
    return _types(config, layers, "linear_attention", "linear_attention_layers")


def _as_given(config: dict, layers: int) -> dict:
    return config


_READ = {
    "sourced": _as_given, "compressed": _as_given, "pooled": _pooled, "kda": _kda, "two latents": _sliding,
    "indexed": _indexed, "latent": _as_given, "convolved": _convolved, "delta": _linear, "sparse": _sparse,
    "wide": _sliding, "slim": _slim, "windowed": _sliding, "unused": _as_given,
}  # fmt: skip
