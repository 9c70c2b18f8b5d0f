"""The fields of one `config.json`: read once, checked, and remembered with where each number came from."""

import re

from kvcourse.errors import ConfigError, shown
from kvcourse.memory import class_defaults
from kvcourse.memory.checked import whole
from kvcourse.memory.model import Fact

# Where models of images and sound keep their decoder; one may lie in another, as in Qwen2.5-Omni.
_NESTED = ("thinker_config", "text_config", "llm_config", "language_config")
CLASS_DEFAULT = "the default of Transformers' configuration class"
_REQUIRED = object()

# Kinds of layers under their older names, as Transformers reads them.
_RENAMED = {"attention": "full_attention", "mamba": "linear_attention", "mamba2": "linear_attention",
            "recurrent": "linear_attention", "deepseek_sparse_attention": "indexed_attention",
            "qwen_sparse_attention": "indexed_attention"}  # fmt: skip

MOST_LAYERS = 10_000  # far above any published model; the cache is a list with an entry for each

# A field with such a word in its name may change what a layer keeps. Unless the reader of the model's family
# has used it, the model is refused: a number computed past such a field would be a guess.
_ABOUT_THE_CACHE = re.compile(
    r"window|sliding|swa_|local|chunk|lora_rank|latent|linear_|mamba|ssm|state|conv|recurrent|share|cla_|yoco|"
    r"compress|index|sparse|cross_|encoder|layer_types|block_type|attn_type|attention_types|attention_layers|"
    r"hybrid|pattern|block_config|per_layer|global_|kv_|_kv|multi_query|key_value|attn_config|attn_layer|layer_group"
)
# The same words in fields that are about something else: experts, vision, generation, training.
_ABOUT_OTHER_THINGS = re.compile(
    r"expert|moe|vision|image|^img_|audio|acoustic|video|projector|_token_id$|_token_index$|^mtp_|^num_nextn_|^initializer_|"
    r"rope_|bias$|tokenizer|encoder_config$|^activation|^ignore_index$|^num_(sliding_)?attention_heads|^seconds_per_|"
    r"^swiglu|^(auto_map|number_of_conv_states|index_kpool_always_select_tail|chunk_size_feed_forward|cross_attention_hidden_size|"
    r"decoder_sparse_step|encoder_no_repeat_ngram_size|hidden_size_per_layer_input|id2label|label2id|mlp_layer_types|"
    r"output_hidden_states|quantization_config|shared_intermediate_size|task_specific_params|tie_encoder_decoder|"
    r"use_cache|vocab_size_per_layer_input)$"
)


def about_a_cache(name: str) -> bool:
    """Whether a field of this name may change what a layer keeps."""
    return bool(_ABOUT_THE_CACHE.search(name)) and not _ABOUT_OTHER_THINGS.search(name)


class Fields:
    """One configuration. Accessors name the field in their errors and note each value's origin in `facts`."""

    def __init__(self, raw: dict, source_tokens: int | None = None) -> None:
        if not isinstance(raw, dict):
            raise ConfigError(f"a model configuration is a JSON object; got {shown(raw)}.")
        self.outer = raw
        self.raw = _decoder_part(raw)
        self.defaults: dict = {}  # of the type's class, once the type is known
        self.aliases: dict[str, str] = {}
        self.source_tokens = source_tokens  # of an encoder, where the caller knows their number
        self.used: set[str] = set()
        self.facts: dict[str, Fact] = {}

    def get(self, name: str) -> object:
        """The value of a field, from the decoder's part or else from the whole; null is absent."""
        found = {}
        for known in self._names(name):
            self.used.add(known)
            value = self.raw.get(known)
            value = self.outer.get(known) if value is None else value
            if value is not None:
                found[known] = value
        (first, value), *others = found.items() or [(name, None)]
        for other, second in others:
            if second != value:
                raise ConfigError(
                    f"fields that mean the same disagree: {first} = {shown(value)} and {other} = "
                    f"{shown(second)}."
                )
        return value

    def absent(self, name: str) -> bool:
        """Whether the file leaves the field out, under all its names: a null is there and means none."""
        return not any(known in self.raw for known in self._names(name))

    def _names(self, name: str) -> list[str]:
        other = self.aliases.get(name)
        return [name, *([other] if other else []), *(a for a, known in self.aliases.items() if known == name)]

    def read_as(self, model_type: str) -> None:
        """Take the defaults and the other names of fields that the class of this type has."""
        known = class_defaults.of(class_defaults.SAME_AS.get(model_type, model_type))
        self.defaults, self.aliases = known, known.get("aliases", {})

    def default(self, name: str) -> object:
        """What the type's class means by an absent field; None where it says nothing."""
        found = [self.defaults.get(known) for known in self._names(name)]
        return next((value for value in found if value is not None), None)

    def count(
        self, fact: str, *names: str, default: object = _REQUIRED, why: str = "", least: int = 1
    ) -> int:
        """A whole number under any of `names`; else `default`, whose meaning `why` explains."""
        most = MOST_LAYERS if fact == "num_layers" else 10**9
        found = {name: self.get(name) for name in names}
        found = {name: whole(f"field '{name}'", v, least, most) for name, v in found.items() if v is not None}
        if len(set(found.values())) > 1:
            pairs = " and ".join(f"{name} = {value}" for name, value in found.items())
            raise ConfigError(f"fields that mean the same disagree: {pairs}.")
        if found:
            name, value = next(iter(found.items()))
            return self.note(fact, value, name)
        # A decoder inside a wrapper often says only how it differs from its class; a whole file says all.
        if (default is not _REQUIRED or self.raw is not self.outer) and all(map(self.absent, names)):
            for name in names:
                if isinstance(usual := self.default(name), int):
                    return self.note(fact, usual, f"{name} is absent: {CLASS_DEFAULT}")
        if default is _REQUIRED:
            state = "null" if any(name in self.raw for name in names) else "missing"
            raise ConfigError(f"field '{names[0]}' is {state}; expected a whole number of {least} or more.")
        return self.note(fact, default, f"{names[0]} is absent: {why}" if why else f"{names[0]} is absent")

    def given(self, name: str, least: int = 1, default: int | None = None) -> int:
        """A whole number under its own name; absent, the class default or else `default`."""
        usual = self.default(name)
        if usual is not None and self.get(name) is None and not self.absent(name):
            raise ConfigError(f"field '{name}' is null; expected a whole number of {least} or more.")
        usual = default if usual is None else usual
        return self.count(
            name, name, default=_REQUIRED if usual is None else usual, why=CLASS_DEFAULT, least=least
        )

    def optional(self, fact: str, name: str, least: int = 1) -> int | None:
        """The same, or None for a null and where neither the file nor the class says anything."""
        if self.get(name) is None and (not self.absent(name) or self.default(name) is None):
            return None
        return self.count(fact, name, default=self.default(name), why=CLASS_DEFAULT, least=least)

    def ignore(self, *names: str) -> None:
        """Read fields that change nothing in a cache, so that they are not refused."""
        for name in names:
            self.get(name)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.get(name)
        if value is None:
            usual = self.default(name)
            return default if usual is None else usual
        if not isinstance(value, bool):
            raise ConfigError(f"field '{name}' is {shown(value)}; expected true or false.")
        return value

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"field '{name}' is {shown(value)}; expected a string.")
        return value

    def names(self, name: str, length: int) -> list[str] | None:
        """A list of `length` names, one for each layer."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(
                f"field '{name}' is {shown(value)}; expected a list with a name for each layer."
            )
        extra = self.get("num_nextn_predict_layers")
        if type(extra) is int and extra > 0 and len(value) == length + extra:
            value = value[:length]  # what follows belongs to multi-token prediction
        if len(value) != length:
            raise ConfigError(
                f"field '{name}' names {len(value)} layers; expected num_hidden_layers = {length}."
            )
        return [_RENAMED.get(kind, kind) for kind in value]

    def indices(self, name: str, layers: int) -> set[int] | None:
        """The numbers of layers, 0 to `layers` - 1, that a list names; each at most once."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise ConfigError(f"field '{name}' is {shown(value)}; expected a list of layer numbers.")
        if len(value) > layers:
            raise ConfigError(f"field '{name}' names {len(value)} layers; expected at most {layers}.")
        for item in value:
            if type(item) is not int or not 0 <= item < layers:
                raise ConfigError(
                    f"field '{name}' names layer {shown(item)}; expected numbers from 0 to {layers - 1}."
                )
        return set(value)

    def note(self, fact: str, value: object, source: str) -> object:
        self.facts[fact] = Fact(fact, value, source)
        return value

    def about_the_cache(self) -> list[str]:
        """Fields that may change what a layer keeps and that nobody has read yet."""
        return [
            name
            for part in ([self.raw] if self.raw is self.outer else [self.raw, self.outer])
            for name, value in part.items()
            if name not in self.used and value not in (None, False, 0, "", [], {})
            if about_a_cache(name)
        ]

    def refuse_the_unread(self, model_type: str) -> None:
        """Raise for a field that may change what a layer keeps and that nobody has read."""
        for name in self.about_the_cache():
            raise ConfigError(
                f"field '{name}' is {shown(self.get(name))}, which is not covered for model_type "
                f"{shown(model_type)}: it may change what a layer keeps."
            )


def _decoder_part(raw: dict) -> dict:
    for name in _NESTED:
        nested = raw.get(name)
        if nested is None:
            continue
        if not isinstance(nested, dict):
            raise ConfigError(f"field '{name}' is {shown(nested)}; expected a JSON object.")
        # Twice at most: a decoder in a thinker. Deeper nesting is nobody's.
        inner = nested.get("text_config") if name == "thinker_config" else None
        part = inner if isinstance(inner, dict) else nested
        for deeper in _NESTED:
            if part.get(deeper):
                raise ConfigError(f"field '{deeper}' lies in '{name}', a decoder in a decoder; expected one.")
        return part
    return raw
