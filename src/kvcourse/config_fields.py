"""One field of a Hugging Face `config.json` at a time: its names in different families, its type, its range.

Every function raises ConfigError naming the field, with what came and what was expected. Used by `configs`.
"""

from kvcourse.errors import ConfigError, UnitError, shown
from kvcourse.units import dtype_bytes

# The first name stands in messages; the others mean the same in GPT-2, Falcon, BLOOM, MPT, ChatGLM, OPT.
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
HEAD_DIM = ("head_dim", "kv_channels")
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
INTERMEDIATE = ("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim")
VOCAB = ("vocab_size", "padded_vocab_size")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
_NESTED = ("text_config", "llm_config", "language_config")  # where vision-language models keep the decoder
ACTIVATION = ("hidden_act", "hidden_activation", "activation_function", "activation")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")


def count(text: dict, names: tuple[str, ...], required: bool = True) -> int | None:
    """The whole number under any of `names`; two names that disagree are an error, null counts as absent."""
    found = {name: text[name] for name in names if text.get(name) is not None}
    values = {name: whole(name, value) for name, value in found.items()}
    if len(set(values.values())) > 1:
        pairs = " and ".join(f"{name} = {value}" for name, value in values.items())
        raise ConfigError(f"fields that mean the same disagree: {pairs}.")
    if values:
        return next(iter(values.values()))
    if required:
        state = "null" if any(name in text for name in names) else "missing"
        raise ConfigError(f"field '{names[0]}' is {state}; expected a whole number of 1 or more.")
    return None


def whole(name: str, value: object) -> int:
    """`value`, if it is a whole number in the range of field `name`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(
            f"field '{name}' is {shown(value)} ({kind_of(value)}); expected a whole number of 1 or more."
        )
    if not 1 <= value <= _LIMITS.get(name, 10**6):
        limit = _LIMITS.get(name, 10**6)
        raise ConfigError(f"field '{name}' is {shown(value)}; expected a whole number from 1 to {limit}.")
    return value


# Far above any published model, so that a slip such as bytes for tokens is caught and nobody's model is.
_LIMITS = (
    dict.fromkeys((*LAYERS, "num_layers"), 10_000)
    | dict.fromkeys((*HEADS, *KV_HEADS, *HEAD_DIM, "num_heads", "num_kv_heads"), 65_536)
    | dict.fromkeys((*HIDDEN, *INTERMEDIATE), 10**7)
    | dict.fromkeys((*VOCAB, *POSITIONS), 10**9)
)


def real(text: dict, name: str, required: bool = False) -> float | None:
    """The positive number under `name`; null counts as absent."""
    value = text.get(name)
    if value is None:
        if required:
            raise ConfigError(
                f"field '{name}' is {'null' if name in text else 'missing'}; expected a number."
            )
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
        raise ConfigError(f"field '{name}' is {shown(value)}; expected a positive number.")
    return float(value)


def flag(text: dict, raw: dict, name: str, default: bool | None) -> bool | None:
    """true or false under `name` in `text`, else in the whole file `raw`, else `default`."""
    value = text.get(name, raw.get(name))
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ConfigError(f"field '{name}' is {shown(value)}; expected true or false.")
    return value


def dtype(text: dict, raw: dict) -> str | None:
    """Name of the published weights' dtype, such as "bfloat16"."""
    # `torch_dtype` became `dtype` in Transformers 4.56; files carry either, a few of them both.
    for part in (text, raw):
        for name in ("dtype", "torch_dtype"):
            value = part.get(name)
            if value is not None:
                try:
                    dtype_bytes(value if isinstance(value, str) else None)
                except UnitError:
                    raise ConfigError(
                        f"field '{name}' is {shown(value)}; expected float32, float16 or bfloat16."
                    ) from None
                return value.removeprefix("torch.")
    return None


def activation(text: dict) -> str | None:
    """Name of the MLP's activation; None where the file does not say."""
    for name in ACTIVATION:
        value = text.get(name)
        if value is not None:
            if not isinstance(value, str):
                raise ConfigError(f"field '{name}' is {shown(value)}; expected a name such as \"silu\".")
            return value
    return None


def kv_heads(text: dict, num_heads: int) -> int:
    """KV heads a layer stores: counted, or one (multi-query), or as many as query heads (nothing said)."""
    stored = count(text, KV_HEADS, required=False)
    attn = text.get("attn_config")  # MPT and DBRX nest it
    nested = attn.get("kv_n_heads") if isinstance(attn, dict) else None
    if nested is not None:
        if stored not in (None, whole("kv_n_heads", nested)):
            raise ConfigError(
                f"num_key_value_heads = {stored} and attn_config.kv_n_heads = {nested} disagree."
            )
        stored = nested
    # Falcon-7B and StarCoder say `multi_query` (one KV head); Falcon's newer architecture counts KV heads.
    multi_query = flag(text, text, "multi_query", None)
    new_falcon = flag(text, text, "new_decoder_architecture", False)
    if multi_query and not new_falcon and "num_key_value_heads" not in text:
        return 1
    if multi_query is None and stored is None and text.get("model_type") in ("falcon", "gpt_bigcode"):
        raise ConfigError("field 'multi_query' is missing; expected true or false for this model type.")
    if flag(text, text, "multi_query_attention", None) is False:  # ChatGLM
        return num_heads
    if stored is None and not any(name in text for name in KV_HEADS):
        return absent(text, "num_key_value_heads") or num_heads
    return num_heads if stored is None else stored


def head_dim(text: dict, hidden_size: int, num_heads: int) -> int:
    """Width of one head: as written, or hidden_size / num_heads where nothing is."""
    explicit = count(text, HEAD_DIM, required=False)
    if explicit is not None:
        return explicit
    if hidden_size % num_heads:
        raise ConfigError(
            f"field 'head_dim' is missing and hidden_size = {hidden_size} is not a multiple of "
            f"num_attention_heads = {num_heads}; expected one of them to settle the width of a head."
        )
    return hidden_size // num_heads


# What Transformers' class of a type that our decoder runs means by an absent field; a null means none.
_ABSENT = {"mistral": {"sliding_window": 4096, "num_key_value_heads": 8}}


def absent(text: dict, name: str) -> int | None:
    """The class default of a field that the file leaves out; None where there is none."""
    model_type = text.get("model_type")
    return _ABSENT.get(model_type, {}).get(name) if isinstance(model_type, str) else None


# ---- which part of the file, and which models ----------------------------------------------------


def decoder_part(raw: dict) -> dict:
    """The object that holds the text decoder's fields: the file itself, or the part a vision model nests."""
    for name in _NESTED:
        if name in raw and raw[name] is not None:
            if not isinstance(raw[name], dict):
                raise ConfigError(f"field '{name}' is {kind_of(raw[name])}; expected a JSON object.")
            nested = raw[name]
            if not any(alias in nested for alias in LAYERS):
                continue
            for names in (LAYERS, HEADS, KV_HEADS, HIDDEN):
                outer, inner = (count(part, names, required=False) for part in (raw, nested))
                if None not in (outer, inner) and outer != inner:
                    raise ConfigError(f"field '{names[0]}' is {outer} at the top and {inner} in '{name}'.")
            return nested
    return raw


def refuse_other_layers(raw: dict, text: dict) -> None:
    """Raise for a cache that is not K and V of every token for each KV head of each layer."""
    if text.get("is_encoder_decoder") is True or raw.get("is_encoder_decoder") is True:
        raise ConfigError(
            "field 'is_encoder_decoder' is true: an encoder-decoder keeps a second, cross-attention cache."
        )
    if text.get("kv_lora_rank"):
        raise ConfigError(
            f"field 'kv_lora_rank' is {shown(text['kv_lora_rank'])}: the model caches one latent vector a "
            "token (MLA, arXiv:2405.04434), not K and V for each KV head."
        )
    for name in (
        "layer_types",
        "layers_block_type",
        "attention_layers",
        "attn_type_list",
        "hybrid_override_pattern",
    ):
        kinds = text.get(name)
        if kinds is None:
            continue
        if isinstance(kinds, (str, list)):
            others = sorted({str(kind) for kind in kinds} - {"full_attention", "attention", "global", "1"})
            if not others:
                continue
            raise ConfigError(
                f"field '{name}' has layers of kind {shown(', '.join(others))}; expected full attention only."
            )
        raise ConfigError(f"field '{name}' is {shown(kinds)}; expected a list of layer kinds.")
    period = text.get("full_attention_interval")  # Qwen3.5: of so many layers one attends, the rest recur
    if period is not None and period != 1:
        raise ConfigError(
            f"field 'full_attention_interval' is {shown(period)}: the layers between keep a recurrent "
            "state, not K and V."
        )
    window = count(text, ("sliding_window",), required=False)
    if "sliding_window" not in text:
        window = absent(text, "sliding_window")
    longest = count(text, POSITIONS, required=False)
    if window and flag(text, text, "use_sliding_window", True) and (longest is None or window < longest):
        raise ConfigError(
            f"field 'sliding_window' is {window}: such layers keep only the newest tokens; "
            "expected full attention."
        )
    for name in (
        "mamba_num_heads",
        "ssm_state_size",
        "compress_ratios",
        "num_kv_shared_layers",
        "index_topk",
        "attention_chunk_size",
        "sparse_attention_config",
        "full_attn_idxs",
        "attn_layer_indices",
        "attn_layer_period",
        "linear_num_value_heads",
    ):
        if text.get(name):
            raise ConfigError(
                f"field '{name}' is {shown(text[name])}: not every layer keeps K and V of every token."
            )


def kind_of(value: object) -> str:
    names = {type(None): "null", bool: "true or false", str: "a string", list: "a list", dict: "an object",
             int: "a whole number", float: "a number with a fraction"}  # fmt: skip
    return names.get(type(value), type(value).__name__)
