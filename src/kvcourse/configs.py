"""A model's shape, read from the `config.json` that its publisher ships.

Only what the KV cache, the weights and the decoder need; nothing is guessed. A field the file leaves out is
`None` here, unless the format itself says what its absence means (no `num_key_value_heads` = one per query
head; no `head_dim` = hidden_size / heads). Models whose cache is not "K and V for each KV head of each layer"
are refused with a sentence, because the formula would be silently wrong for them.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from kvcourse.errors import ConfigError, UnitError, shown
from kvcourse.units import dtype_bytes

# The first name stands in messages; the others mean the same in GPT-2, Falcon, BLOOM, MPT, ChatGLM, OPT.
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
_HEAD_DIM = ("head_dim", "kv_channels")
_HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
_INTERMEDIATE = ("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim")
_VOCAB = ("vocab_size", "padded_vocab_size")
_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
_NESTED = ("text_config", "llm_config", "language_config")  # where vision-language models keep the decoder
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")

# What Transformers' own configuration classes mean by a file that does not say.
_TIED_BY_DEFAULT = {"llama": False, "mistral": False, "mixtral": False, "qwen2": False, "qwen3": False,
                    "gpt2": True, "gemma": True, "gemma2": True, "falcon": True}  # fmt: skip
_MAX_FILE = 64 * 2**20


@dataclass(frozen=True)
class RopeScaling:
    """How RoPE is stretched to contexts longer than those trained on first: "linear", "llama3", ..."""

    kind: str
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: int = 8192


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a decoder-only Transformer; `dtype` is that of the published weights."""

    model_type: str
    num_layers: int
    num_heads: int  # query heads
    num_kv_heads: int  # heads of K and of V that are stored
    head_dim: int  # width of one head: read from the file, not hidden_size / num_heads
    hidden_size: int  # d_model
    intermediate_size: int | None = None
    vocab_size: int | None = None
    max_position_embeddings: int | None = None
    rope_theta: float | None = None
    rms_norm_eps: float | None = None
    tie_word_embeddings: bool | None = None  # output projection = embedding table
    dtype: str | None = None
    rope_scaling: RopeScaling | None = None
    num_experts: int = 0  # 0 = dense; experts multiply the weights and leave the cache as it is

    def __post_init__(self) -> None:
        for name in ("num_layers", "num_heads", "num_kv_heads", "head_dim", "hidden_size"):
            _whole(name, getattr(self, name))
        for name in ("intermediate_size", "vocab_size", "max_position_embeddings"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name))
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(
                f"num_key_value_heads = {self.num_kv_heads} does not divide num_attention_heads = "
                f"{self.num_heads}; expected the same number of query heads for every KV head."
            )

    @property
    def group_size(self) -> int:
        """Query heads that share one KV head: 1 is MHA, num_heads is MQA, between GQA (arXiv:2305.13245)."""
        return self.num_heads // self.num_kv_heads

    @classmethod
    def from_dict(cls, raw: dict) -> "ModelConfig":
        """The shape in a parsed Hugging Face `config.json`. Raises ConfigError naming the field."""
        if not isinstance(raw, dict):
            raise ConfigError(f"a model configuration is a JSON object; got {_kind(raw)}.")
        text = _decoder_part(raw)
        _refuse_other_layers(raw, text)
        num_heads = _count(text, _HEADS)
        hidden_size = _count(text, _HIDDEN)
        model_type = text.get("model_type", raw.get("model_type", "unknown"))
        if not isinstance(model_type, str):
            raise ConfigError(
                f"field 'model_type' is {shown(model_type)}; expected a name such as \"llama\"."
            )
        rope_theta, scaling = _rope(text, model_type)
        return cls(
            model_type=model_type,
            num_layers=_count(text, _LAYERS),
            num_heads=num_heads,
            num_kv_heads=_kv_heads(text, num_heads),
            head_dim=_head_dim(text, hidden_size, num_heads),
            hidden_size=hidden_size,
            intermediate_size=_count(text, _INTERMEDIATE, required=False),
            vocab_size=_count(text, _VOCAB, required=False),
            max_position_embeddings=_count(text, _POSITIONS, required=False),
            rope_theta=rope_theta,
            rms_norm_eps=_real(text, "rms_norm_eps"),
            tie_word_embeddings=_flag(text, raw, "tie_word_embeddings", _TIED_BY_DEFAULT.get(model_type)),
            dtype=_dtype(text, raw),
            rope_scaling=scaling,
            num_experts=_count(text, _EXPERTS, required=False) or 0,
        )


def load_config(source: str | Path | dict) -> ModelConfig:
    """The shape in a `config.json`: its path, the folder that holds it, or its parsed content."""
    if isinstance(source, dict):
        return ModelConfig.from_dict(source)
    path = Path(source)
    if path.is_dir():
        path = path / "config.json"
    try:
        return ModelConfig.from_dict(read_json(path))
    except ConfigError as error:
        raise ConfigError(f"{_where(path)}: {error}") from None


def read_json(path: Path) -> dict:
    """The JSON object in a model's file at `path`; ConfigError says what stands there instead."""
    try:
        if not path.is_file():
            raise ConfigError("no such file; expected a config.json or the folder that holds one.")
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > _MAX_FILE:
        raise ConfigError(f"more than {_MAX_FILE} bytes; expected a few thousand of JSON.")
    try:
        raw = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text (byte {error.start}); expected JSON.") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else shown(str(error), 120)
        raise ConfigError(f"not JSON ({reason}).") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"expected a JSON object; got {_kind(raw)}.")
    return raw


# ---- one field at a time -----------------------------------------------------------------------


def _count(text: dict, names: tuple[str, ...], required: bool = True) -> int | None:
    """The whole number under any of `names`; two names that disagree are an error, null counts as absent."""
    found = {name: text[name] for name in names if text.get(name) is not None}
    values = {name: _whole(name, value) for name, value in found.items()}
    if len(set(values.values())) > 1:
        pairs = " and ".join(f"{name} = {value}" for name, value in values.items())
        raise ConfigError(f"fields that mean the same disagree: {pairs}.")
    if values:
        return next(iter(values.values()))
    if required:
        state = "null" if any(name in text for name in names) else "missing"
        raise ConfigError(f"field '{names[0]}' is {state}; expected a whole number of 1 or more.")
    return None


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(
            f"field '{name}' is {shown(value)} ({_kind(value)}); expected a whole number of 1 or more."
        )
    if not 1 <= value <= _LIMITS.get(name, 10**6):
        limit = _LIMITS.get(name, 10**6)
        raise ConfigError(f"field '{name}' is {shown(value)}; expected a whole number from 1 to {limit}.")
    return value


# Far above any published model, so that a slip such as bytes for tokens is caught and nobody's model is.
_LIMITS = (
    dict.fromkeys((*_LAYERS, "num_layers"), 10_000)
    | dict.fromkeys((*_HEADS, *_KV_HEADS, *_HEAD_DIM, "num_heads", "num_kv_heads"), 65_536)
    | dict.fromkeys((*_HIDDEN, *_INTERMEDIATE), 10**7)
    | dict.fromkeys((*_VOCAB, *_POSITIONS), 10**9)
)


def _real(text: dict, name: str) -> float | None:
    value = text.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
        raise ConfigError(f"field '{name}' is {shown(value)}; expected a positive number.")
    return float(value)


def _flag(text: dict, raw: dict, name: str, default: bool | None) -> bool | None:
    value = text.get(name, raw.get(name))
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ConfigError(f"field '{name}' is {shown(value)}; expected true or false.")
    return value


def _dtype(text: dict, raw: dict) -> str | None:
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


def _kv_heads(text: dict, num_heads: int) -> int:
    attn = text.get("attn_config")  # MPT and DBRX nest it
    nested = attn.get("kv_n_heads") if isinstance(attn, dict) else None
    count = _count(text, _KV_HEADS, required=False)
    if nested is not None:
        if count not in (None, _whole("kv_n_heads", nested)):
            raise ConfigError(
                f"num_key_value_heads = {count} and attn_config.kv_n_heads = {nested} disagree."
            )
        count = nested
    # Falcon-7B and StarCoder say `multi_query` (one KV head); Falcon's newer architecture counts KV heads.
    multi_query = _flag(text, text, "multi_query", None)
    new_falcon = _flag(text, text, "new_decoder_architecture", False)
    if multi_query and not new_falcon and "num_key_value_heads" not in text:
        return 1
    if multi_query is None and count is None and text.get("model_type") in ("falcon", "gpt_bigcode"):
        raise ConfigError("field 'multi_query' is missing; expected true or false for this model type.")
    if _flag(text, text, "multi_query_attention", None) is False:  # ChatGLM
        return num_heads
    return num_heads if count is None else count


def _head_dim(text: dict, hidden_size: int, num_heads: int) -> int:
    explicit = _count(text, _HEAD_DIM, required=False)
    if explicit is not None:
        return explicit
    if hidden_size % num_heads:
        raise ConfigError(
            f"field 'head_dim' is missing and hidden_size = {hidden_size} is not a multiple of "
            f"num_attention_heads = {num_heads}; expected one of them to settle the width of a head."
        )
    return hidden_size // num_heads


def _rope(text: dict, model_type: str) -> tuple[float | None, RopeScaling | None]:
    nested = text.get("rope_parameters")
    old = text.get("rope_scaling")
    for name, value in (("rope_parameters", nested), ("rope_scaling", old)):
        if value is not None and not isinstance(value, dict):
            raise ConfigError(f"field '{name}' is {shown(value)}; expected a JSON object or null.")
    nested, old = nested or {}, old or {}
    theta = _real(text, "rope_theta")
    inner = _real(nested, "rope_theta")
    if None not in (theta, inner) and theta != inner:
        raise ConfigError(f"rope_theta = {theta} and rope_parameters.rope_theta = {inner} disagree.")
    theta = theta if inner is None else inner
    if theta is None and model_type == "llama":
        theta = 10000.0  # LlamaConfig's default and the base in arXiv:2104.09864; Llama-2 files leave it out
    spec = old or nested
    kind = spec.get("rope_type", spec.get("type", "default"))
    if kind in (None, "default", "mrope"):
        return theta, None
    if not isinstance(kind, str):
        raise ConfigError(f"field 'rope_type' is {shown(kind)}; expected a name such as \"default\".")
    factor = _real(spec, "factor")
    if kind != "llama3":
        return theta, RopeScaling(kind, factor or math.nan)
    names = ("low_freq_factor", "high_freq_factor")
    low, high = (_real(spec, name) for name in names)
    original = _count(spec, ("original_max_position_embeddings",))
    if None in (factor, low, high):
        raise ConfigError(
            f"rope_scaling of kind llama3 needs factor, {' and '.join(names)}; got {shown(spec)}."
        )
    return theta, RopeScaling(kind, factor, low, high, original)


# ---- which part of the file, and which models ----------------------------------------------------


def _decoder_part(raw: dict) -> dict:
    """The object that holds the text decoder's fields: the file itself, or the part a vision model nests."""
    for name in _NESTED:
        if name in raw and raw[name] is not None:
            if not isinstance(raw[name], dict):
                raise ConfigError(f"field '{name}' is {_kind(raw[name])}; expected a JSON object.")
            nested = raw[name]
            if not any(alias in nested for alias in _LAYERS):
                continue
            for names in (_LAYERS, _HEADS, _KV_HEADS, _HIDDEN):
                outer, inner = (_count(part, names, required=False) for part in (raw, nested))
                if None not in (outer, inner) and outer != inner:
                    raise ConfigError(f"field '{names[0]}' is {outer} at the top and {inner} in '{name}'.")
            return nested
    return raw


def _refuse_other_layers(raw: dict, text: dict) -> None:
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
    window = _count(text, ("sliding_window",), required=False)
    longest = _count(text, _POSITIONS, required=False)
    if window and _flag(text, text, "use_sliding_window", True) and (longest is None or window < longest):
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
    ):
        if text.get(name):
            raise ConfigError(
                f"field '{name}' is {shown(text[name])}: not every layer keeps K and V of every token."
            )


def _kind(value: object) -> str:
    names = {type(None): "null", bool: "true or false", str: "a string", list: "a list", dict: "an object",
             int: "a whole number", float: "a number with a fraction"}  # fmt: skip
    return names.get(type(value), type(value).__name__)


def _where(path: Path) -> str:
    return str(path).encode("unicode_escape").decode("ascii")[:200]
