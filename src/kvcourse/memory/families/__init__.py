"""Which model types are read, and how: one entry a type, one file a kind of layer."""

from collections.abc import Callable

from kvcourse.memory.class_defaults import SAME_AS, wrappers
from kvcourse.memory.families import (
    attention_types,
    convolved,
    encoder_decoder,
    latent,
    mixed,
    recurrent,
)
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import Layer

FAMILIES: dict[str, Callable[[Fields], tuple[Layer, ...]]] = {
    **attention_types.FAMILIES,
    **latent.FAMILIES,
    **mixed.FAMILIES,
    **recurrent.FAMILIES,
    **convolved.FAMILIES,
    **encoder_decoder.FAMILIES,
}

# Files whose decoder is a nested part and that Transformers does not know, or knows under another name.
_MORE_WRAPPERS = {"deepseek_v41": "deepseek_v41_text", "deepseek_vl_v2": "deepseek_v2",
                  "kimi_k3": "kimi_linear", "kimi_vl": "deepseek_v3", "internvl_chat": "llama",
                  "mimo_vl": "qwen2", "minicpmv": "qwen2"}  # fmt: skip


def wrapped(model_type: object) -> str | None:
    """The type of the decoder inside a file of this type, where the nested part names none; else None."""
    known, seen = wrappers() | _MORE_WRAPPERS, None
    while isinstance(model_type, str) and model_type in known and model_type != seen:
        seen, model_type = model_type, known[model_type]
    return model_type if seen is not None else None


def reader_of(model_type: str) -> str | None:
    """The entry of FAMILIES that reads files of this type; None where nothing does."""
    name = SAME_AS.get(model_type, model_type)
    return name if name in FAMILIES else None
