"""Which model types are read, and how: one entry a type, one file a kind of layer."""

from collections.abc import Callable

from kvcourse.memory.families import attention, encoder_decoder, latent, mixed, recurrent
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import Layer

FAMILIES: dict[str, Callable[[Fields], tuple[Layer, ...]]] = {
    **attention.FAMILIES,
    **latent.FAMILIES,
    **mixed.FAMILIES,
    **recurrent.FAMILIES,
    **encoder_decoder.FAMILIES,
}

# Vision-language models: their decoder is one of the types above, kept in a nested part of the file. The
# value is the type that Transformers takes where the nested part names none.
WRAPPERS: dict[str, str | None] = {
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "llama4": "llama4_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "idefics3": "llama",
    "internvl": "qwen2",
    "llava": "llama",
    "llava_next": "llama",
    "llava_onevision": "qwen2",
    "mistral3": "mistral",
    "paligemma": "gemma",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "smolvlm": "llama",
}
