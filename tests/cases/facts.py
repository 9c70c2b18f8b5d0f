"""A curated set of fields about a published model, as the config.json behind them would say them.

Curators count kinds of layers where a file lists them; the fields that remain go through the same readers.
"""

from cases.params import Uncovered
from kvcourse.errors import shown

# What a curator adds about a calculator's choices, or about drafting, which a plain server does not run.
_ASIDE = (
    "default_", "draft_", "mtp_", "num_mtp_", "num_nextn_", "use_mtp", "disable_draft", "indexer_fixed_",
    "config_max_", "model_max_length", "rotary_dim", "kda_conv_state_bytes", "kda_recurrent_state_bytes",
    "sconv_state_bytes", "index_share_for_mtp",
)  # fmt: skip


def as_config(facts: dict) -> dict:
    """A configuration of the kind that the fields are about. Raises Uncovered where counts do not add up."""
    given = {n: v for n, v in facts.items() if v is not None and not n.startswith(_ASIDE)}
    layers = given.get("num_hidden_layers")
    if type(layers) is not int or not 0 < layers <= 10_000:
        raise Uncovered(f"num_hidden_layers is {shown(layers)}")
    heads = given.get("num_attention_heads") or given.get("num_key_value_heads")
    config = {"num_attention_heads": heads} | given
    if isinstance(heads, int) and "hidden_size" not in given:  # of no weight where a head's width is given
        width = given.get("head_dim", 1)
        config["hidden_size"] = heads * width if type(width) is int else heads
    for kind, (marks, model_type) in _KINDS.items():
        if all(mark in given for mark in marks):
            return _READ[kind](config, layers) | {"model_type": model_type}
    return config | {"model_type": "llama"}


_KINDS = {  # the fields that only such a model has, and a type whose files are read the same way
    "compressed": (("compress_ratios",), "deepseek_v4"),
    "kda": (("kda_layers",), "kimi_linear"),
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


def _types(config: dict, layers: int, other: str, name: str, full: str = "full_attention") -> dict:
    """`layer_types` for two counts; their order changes no size, but Gemma 4 ends with a full layer."""
    counted, whole = config.pop(name, 0), config.pop("full_attention_layers", 0)
    for told in ("stored_layers",):
        stored = config.pop(told, None)
        shared = config.get("num_kv_shared_layers", 0)
        if stored is not None and stored != layers - shared:
            raise Uncovered(f"{told} is {stored}, where {layers} layers share {shared}")
    kept = layers - config.get("num_kv_shared_layers", 0)
    if type(counted) is not int or type(whole) is not int or counted < 0 or counted + whole != kept:
        raise Uncovered(f"{shown(counted)} and {shown(whole)} layers, where {kept} keep a cache")
    return config | {"layer_types": [other] * counted + [full] * whole + [full] * (layers - kept)}


def _indexed(config: dict, layers: int) -> dict:
    own, shared = config.pop("indexer_full_layers", None), config.pop("indexer_shared_layers", 0)
    if own is None:
        return config
    if own + shared != layers:
        raise Uncovered(f"{own} and {shared} indexers for {layers} layers")
    return config | {"indexer_types": ["full"] * own + ["shared"] * shared}


def _kda(config: dict, layers: int) -> dict:
    full, kda = config.pop("full_attention_layers", 0), config.pop("kda_layers")
    numbers = list(range(1, layers + 1))
    if full + kda != layers:
        raise Uncovered(f"{full} and {kda} layers, where there are {layers}")
    nested = {"num_heads": config["kda_num_heads"], "head_dim": config["kda_head_dim"],
              "short_conv_kernel_size": config["kda_conv_kernel_size"],
              "full_attn_layers": numbers[:full], "kda_layers": numbers[full:]}  # fmt: skip
    for name in [name for name in config if name.startswith("kda_")]:
        value, usual = config.pop(name), nested["num_heads" if name.endswith("heads") else "head_dim"]
        if name != "kda_conv_kernel_size" and value != usual:
            raise Uncovered(f"{name} is {value}, where keys and values of {usual} are understood")
    return config | {"linear_attn_config": nested}


def _sparse(config: dict, layers: int) -> dict:
    full, sparse = config.pop("full_attention_layers", 0), config.pop("sparse_attention_layers")
    config.pop("sparse_attention", None)
    if full + sparse != layers:
        raise Uncovered(f"{full} and {sparse} layers, where there are {layers}")
    return config | {"layer_types": ["full_attention"] * full + ["minimax_m3_sparse"] * sparse}


def _convolved(config: dict, layers: int) -> dict:
    return _types(config, layers, "hybrid_sliding", "sliding_attention_layers", "hybrid")


_READ = {
    "compressed": lambda config, layers: config,
    "kda": _kda,
    "indexed": _indexed,
    "latent": lambda config, layers: config,
    "convolved": _convolved,
    "delta": lambda config, layers: _types(config, layers, "linear_attention", "linear_attention_layers"),
    "sparse": _sparse,
    "wide": lambda config, layers: _types(config, layers, "sliding_attention", "sliding_attention_layers"),
    "slim": lambda config, layers: _types(config, layers, "sliding_attention", "sliding_attention_layers"),
    "windowed": lambda config, layers: _types(
        config, layers, "sliding_attention", "sliding_attention_layers"
    ),
    "unused": lambda config, layers: config,
}
