"""From a published `config.json` to the layers of a cache.

Only the model types in `families.FAMILIES` are read. Any other type, and any field that might change the
cache and that nobody has read, is refused by name: a wrong number would look just like a right one.
"""

from kvcourse.configs import ModelConfig
from kvcourse.errors import ConfigError, UnitError, shown
from kvcourse.memory.families import FAMILIES, reader_of, wrapped
from kvcourse.memory.families.per_layer import override
from kvcourse.memory.fields import Fields
from kvcourse.memory.formats import parse_format
from kvcourse.memory.gguf_names import as_config
from kvcourse.memory.layers import FullAttention
from kvcourse.memory.model import CacheModel, Fact

_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length",
              "max_target_positions")  # fmt: skip


def from_config(config: dict | ModelConfig, source_tokens: int | None = None) -> CacheModel:
    """The cache of the model that a parsed `config.json` describes. Raises ConfigError naming the field.

    `source_tokens` is the length of an encoder-decoder's source, where the model does not fix it.
    """
    if isinstance(config, ModelConfig):
        return _from_shape(config)
    fields = Fields(as_config(config) if isinstance(config, dict) else config, source_tokens)
    model_type = _model_type(fields)
    fields.read_as(model_type)
    layers = override(fields, FAMILIES[reader_of(model_type)](fields))
    fields.refuse_the_unread(model_type)
    return CacheModel(
        layers=layers,
        model_type=model_type,
        dtype=_dtype(fields),
        max_tokens=_max_tokens(fields),
        facts=tuple(fields.facts.values()),
    )


def _from_shape(config: ModelConfig) -> CacheModel:
    names = ("num_layers", "num_heads", "num_kv_heads", "head_dim", "hidden_size")
    return CacheModel(
        layers=(FullAttention(config.num_kv_heads, config.head_dim),) * config.num_layers,
        model_type=config.model_type,
        dtype=config.dtype,
        max_tokens=config.max_position_embeddings,
        facts=tuple(Fact(name, getattr(config, name), f"ModelConfig.{name}") for name in names),
    )


def _model_type(fields: Fields) -> str:
    """The type that says how to read the decoder's part: its own, or what its wrapper means by none."""
    outer, inner = fields.outer.get("model_type"), fields.raw.get("model_type")
    for name in (outer, inner):
        if name is not None and not isinstance(name, str):
            raise ConfigError(f"field 'model_type' is {shown(name)}; expected a name such as \"llama\".")
    nested = fields.raw is not fields.outer
    usual = wrapped(outer)
    if nested and usual is None:
        raise _not_covered(fields, outer)
    if nested:
        fields.ignore("window_size")  # of a projector of sound; a decoder has its own in its part
    if inner is None or (nested and wrapped(inner) is not None and reader_of(inner) is None):
        inner = usual  # such as a thinker that names itself and not its decoder
    if inner is None:
        raise ConfigError(
            "field 'model_type' is missing; expected a name such as \"llama\", which says how to read it."
        )
    if reader_of(inner) is None and not nested and usual is not None and reader_of(usual) is not None:
        inner = usual  # a wrapper's type over a flat file: the decoder's own fields
    if reader_of(inner) is None:
        raise _not_covered(fields, inner)
    return inner


def _not_covered(fields: Fields, model_type: object) -> ConfigError:
    telling = fields.about_the_cache()
    because = f" Its cache depends on {', '.join(telling[:4])}." if telling else ""
    return ConfigError(
        f"model_type {shown(model_type)} is not covered: kvcourse reads {len(FAMILIES)} types (llama, qwen3, "
        f"gpt2, ...) and does not guess at others.{because}"
    )


def _dtype(fields: Fields) -> str | None:
    """The dtype of the published weights; one that caches are not kept in (fp8 weights) says nothing here."""
    name = fields.text("dtype") or fields.text("torch_dtype")
    try:
        known = None if name is None else parse_format(name)
    except UnitError:
        return None
    return known.name if known is not None and known.is_float else None


def _max_tokens(fields: Fields) -> int | None:
    for name in _POSITIONS:
        if fields.get(name) is not None:
            return fields.count("max_tokens", name)
    return None
