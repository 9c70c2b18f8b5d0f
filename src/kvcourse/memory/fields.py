"""The fields of one `config.json`: read once, checked, and remembered with where each number came from."""

import re

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.checked import whole
from kvcourse.memory.model import Fact

_NESTED = ("text_config", "llm_config", "language_config")  # where vision-language models keep their decoder
CLASS_DEFAULT = "the default of Transformers' configuration class"
_REQUIRED = object()

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
    r"expert|moe|vision|image|audio|video|projector|_token_id$|_token_index$|^mtp_|^num_nextn_|^initializer_|^rope_|"
    r"^swiglu|^(activation_sparsity_pattern|auto_map|chunk_size_feed_forward|cross_attention_hidden_size|"
    r"decoder_sparse_step|encoder_no_repeat_ngram_size|hidden_size_per_layer_input|id2label|label2id|mlp_layer_types|"
    r"output_hidden_states|quantization_config|shared_intermediate_size|task_specific_params|tie_encoder_decoder|"
    r"use_cache|vocab_size_per_layer_input)$"
)


class Fields:
    """One configuration. Accessors name the field in their errors and note each value's origin in `facts`."""

    def __init__(self, raw: dict, source_tokens: int | None = None) -> None:
        if not isinstance(raw, dict):
            raise ConfigError(f"a model configuration is a JSON object; got {shown(raw)}.")
        self.outer = raw
        self.raw = _decoder_part(raw)
        self.source_tokens = source_tokens  # of an encoder, where the caller knows their number
        self.used: set[str] = set()
        self.facts: dict[str, Fact] = {}

    def get(self, name: str) -> object:
        """The value of a field, from the decoder's part or else from the whole; null is absent."""
        self.used.add(name)
        value = self.raw.get(name)
        return self.outer.get(name) if value is None else value

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
        if default is _REQUIRED:
            state = "null" if any(name in self.raw for name in names) else "missing"
            raise ConfigError(f"field '{names[0]}' is {state}; expected a whole number of {least} or more.")
        return self.note(fact, default, f"{names[0]} is absent: {why}" if why else f"{names[0]} is absent")

    def given(self, name: str, default: int, least: int = 1) -> int:
        """A whole number under its own name, or the class default."""
        return self.count(name, name, default=default, why=CLASS_DEFAULT, least=least)

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name)
        if value is None:
            return default
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
        if len(value) != length:
            raise ConfigError(
                f"field '{name}' names {len(value)} layers; expected num_hidden_layers = {length}."
            )
        return value

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
            if _ABOUT_THE_CACHE.search(name) and not _ABOUT_OTHER_THINGS.search(name)
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
        return nested
    return raw
