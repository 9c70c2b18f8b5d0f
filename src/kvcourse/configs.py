"""A model's shape, read from the `config.json` that its publisher ships.

Only what the KV cache, the weights and the decoder need; nothing is guessed. A field the file leaves out is
`None` here, unless the format itself says what its absence means (no `num_key_value_heads` = one per query
head; no `head_dim` = hidden_size / heads). Models whose cache is not "K and V for each KV head of each layer"
are refused with a sentence, because the formula would be silently wrong for them.
"""

import contextlib
import gc
import json
from dataclasses import dataclass
from pathlib import Path

from kvcourse import config_fields as fields
from kvcourse.errors import ConfigError, shown

# What Transformers' own configuration classes mean by a file that does not say.
_TIED_BY_DEFAULT = {"llama": False, "mistral": False, "mixtral": False, "qwen2": False, "qwen3": False,
                    "gpt2": True, "gemma": True, "gemma2": True, "falcon": True}  # fmt: skip
_MAX_FILE = 64 * 2**20


@dataclass(frozen=True)
class RopeScaling:
    """How RoPE is stretched to contexts longer than those trained on first: "linear", "llama3", ..."""

    kind: str
    factor: float | None = None
    low_freq_factor: float | None = None  # this and what follows: llama3 only
    high_freq_factor: float | None = None
    original_max_position_embeddings: int | None = None


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
    hidden_act: str | None = None  # activation of the MLP
    num_experts: int = 0  # 0 = dense; experts multiply the weights and leave the cache as it is

    def __post_init__(self) -> None:
        for name in ("num_layers", "num_heads", "num_kv_heads", "head_dim", "hidden_size"):
            fields.whole(name, getattr(self, name))
        for name in ("intermediate_size", "vocab_size", "max_position_embeddings"):
            if getattr(self, name) is not None:
                fields.whole(name, getattr(self, name))
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
            raise ConfigError(f"a model configuration is a JSON object; got {fields.kind_of(raw)}.")
        text = fields.decoder_part(raw)
        fields.refuse_other_layers(raw, text)
        num_heads = fields.count(text, fields.HEADS)
        hidden_size = fields.count(text, fields.HIDDEN)
        model_type = text.get("model_type", raw.get("model_type", "unknown"))
        if not isinstance(model_type, str):
            raise ConfigError(
                f"field 'model_type' is {shown(model_type)}; expected a name such as \"llama\"."
            )
        rope_theta, scaling = _rope(text, model_type)
        return cls(
            model_type=model_type,
            num_layers=fields.count(text, fields.LAYERS),
            num_heads=num_heads,
            num_kv_heads=fields.kv_heads(text, num_heads),
            head_dim=fields.head_dim(text, hidden_size, num_heads),
            hidden_size=hidden_size,
            intermediate_size=fields.count(text, fields.INTERMEDIATE, required=False),
            vocab_size=fields.count(text, fields.VOCAB, required=False),
            max_position_embeddings=fields.count(text, fields.POSITIONS, required=False),
            rope_theta=rope_theta,
            rms_norm_eps=fields.real(text, "rms_norm_eps"),
            tie_word_embeddings=fields.flag(
                text, raw, "tie_word_embeddings", _TIED_BY_DEFAULT.get(model_type)
            ),
            dtype=fields.dtype(text, raw),
            rope_scaling=scaling,
            hidden_act=fields.activation(text),
            num_experts=fields.count(text, fields.EXPERTS, required=False) or 0,
        )


def load_config(source: str | Path | dict) -> ModelConfig:
    """The shape in a `config.json`: its path, the folder that holds it, or its parsed content."""
    if isinstance(source, dict):
        return ModelConfig.from_dict(source)
    path = Path(source)
    with contextlib.suppress(OSError, ValueError):  # a name too long or with a null: `read_json` says so
        path = path / "config.json" if path.is_dir() else path
    raw = read_json(path)
    try:
        return ModelConfig.from_dict(raw)
    except ConfigError as error:
        raise ConfigError(f"{_where(path)}: {error}") from None


def read_json(path: Path) -> dict:
    """The JSON object in a model's file at `path`; ConfigError says what stands there instead."""
    where = _where(path)
    try:
        if not path.is_file():  # a named pipe would be waited for
            raise ConfigError(f"{where}: no such file.")
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read ({error.strerror}).") from None
    if len(data) > _MAX_FILE:
        raise ConfigError(f"{where}: more than {_MAX_FILE} bytes; expected a few thousand of JSON.")
    try:
        raw = _loaded(data.decode("utf-8-sig"))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: not UTF-8 text (byte {error.start}); expected JSON.") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else shown(str(error), 120)
        raise ConfigError(f"{where}: not JSON ({reason}).") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{where}: expected a JSON object; got {fields.kind_of(raw)}.")
    return raw


def _loaded(text: str) -> object:
    """The JSON in `text`. Millions of small lists are read in half the time without looking for cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return json.loads(text, object_pairs_hook=_object)
    finally:
        if enabled:
            gc.enable()


def _object(pairs: list[tuple[str, object]]) -> dict:
    """One JSON object. Python would take the last of two values for a field without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if value != found[name]:
                raise ConfigError(
                    f"field {shown(name)} stands there twice, as {shown(value)} and {shown(found[name])}."
                )
    return found


def _rope(text: dict, model_type: str) -> tuple[float | None, RopeScaling | None]:
    nested = text.get("rope_parameters")
    old = text.get("rope_scaling")
    for name, value in (("rope_parameters", nested), ("rope_scaling", old)):
        if value is not None and not isinstance(value, dict):
            raise ConfigError(f"field '{name}' is {shown(value)}; expected a JSON object or null.")
    nested, old = nested or {}, old or {}
    theta = fields.real(text, "rope_theta")
    inner = fields.real(nested, "rope_theta")
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
    if kind == "llama3":
        factor, low, high = (
            fields.real(spec, name, required=True)
            for name in ("factor", "low_freq_factor", "high_freq_factor")
        )
        return theta, RopeScaling(
            kind, factor, low, high, fields.count(spec, ("original_max_position_embeddings",))
        )
    return theta, RopeScaling(kind, fields.real(spec, "factor", required=kind == "linear"))


def _where(path: Path) -> str:
    return str(path).encode("unicode_escape").decode("ascii")[:200]
