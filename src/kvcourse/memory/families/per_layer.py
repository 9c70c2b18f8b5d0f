"""`per_layer_config`: what Transformers 5 writes for layers that differ from the rest of their model."""

from dataclasses import replace

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.checked import whole
from kvcourse.memory.fields import Fields, about_a_cache
from kvcourse.memory.latent import LatentAttention
from kvcourse.memory.layers import FullAttention, Layer, SlidingAttention

# Where a field of one layer goes: an attribute of what the layer keeps of each token.
_OF_HEADS = {"num_key_value_heads": "kv_heads", "head_dim": "head_dim"}
_OF_LATENTS = {"kv_lora_rank": "rank", "qk_rope_head_dim": "rope_dim"}
_OF_QUERIES = {"q_lora_rank", "qk_nope_head_dim", "v_head_dim", "num_key_value_heads", "head_dim"}


def override(fields: Fields, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers with the fields of single ones in place. Raises ConfigError for a field not understood."""
    told = fields.get("per_layer_config")
    if told is None:
        return layers
    if not isinstance(told, dict) or not all(isinstance(one, dict) for one in told.values()):
        raise ConfigError(f"field 'per_layer_config' is {shown(told)}; expected an object for each layer.")
    changed = list(layers)
    for index, one in told.items():
        if not (index.isascii() and index.isdigit() and len(index) < 9 and int(index) < len(layers)):
            raise ConfigError(
                f"field 'per_layer_config' names layer {shown(index)}; expected 0 to {len(layers) - 1}."
            )
        changed[int(index)] = _changed(layers[int(index)], one)
    return tuple(changed)


def _changed(layer: Layer, one: dict) -> Layer:
    kept = layer.attention if isinstance(layer, SlidingAttention) else layer
    if isinstance(kept, LatentAttention):
        names, harmless = _OF_LATENTS, _OF_QUERIES
    elif isinstance(kept, FullAttention):
        names, harmless = _OF_HEADS, set()
    else:
        names, harmless = {}, set(_OF_HEADS)  # a layer that keeps nothing of its own
    for name, value in one.items():
        if name == "sliding_window" and isinstance(layer, SlidingAttention):
            layer = replace(layer, window=whole(f"field '{name}'", value, least=1))
        elif name in names:
            kept = replace(kept, **{names[name]: whole(f"field '{name}'", value)})
        elif name not in harmless and about_a_cache(name):
            raise ConfigError(
                f"field 'per_layer_config' has {shown(name)} = {shown(value)}, which is not covered: "
                "it may change what the layer keeps."
            )
    return replace(layer, attention=kept) if isinstance(layer, SlidingAttention) else kept
