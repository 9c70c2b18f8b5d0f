"""Types that keep the newest inputs of short convolutions beside K and V, in every layer: Inkling, ZAYA."""

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.families.attention import Attention
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import FullAttention, Layer, SlidingAttention, Together
from kvcourse.memory.recurrent import RecurrentState

_FULL, _SLIDING = ("hybrid", "full_attention"), ("hybrid_sliding", "sliding_attention")


def inkling(fields: Fields) -> tuple[Layer, ...]:
    """Four convolutions a layer: over K, over V, and over what attention and the MLP give to the residual."""
    layers, full = fields.count("num_layers", "num_hidden_layers"), Attention().full_attention(fields)
    hidden = fields.count("hidden_size", "hidden_size")
    fields.ignore("swa_num_attention_heads", "mtp_local_layer_ids")
    slim = FullAttention(
        fields.given("swa_num_key_value_heads", default=full.kv_heads),
        fields.given("swa_head_dim", default=full.head_dim),
    )
    kernel, window = fields.given("conv_kernel_size"), fields.given("sliding_window_size")
    kinds, local = fields.names("layer_types", layers), fields.indices("local_layer_ids", layers)
    local = {i for i in range(layers) if (i + 1) % 6} if local is None else local
    slides = [i in local for i in range(layers)] if kinds is None else _slides(kinds)

    def layer(attention: FullAttention, kept: Layer) -> Together:
        heads = attention.kv_heads * attention.head_dim
        inputs = [RecurrentState(0, 0, width, kernel - 1) for width in (2 * heads, 2 * hidden)]
        return Together((kept, *inputs))

    windowed, whole = layer(slim, SlidingAttention(window, slim)), layer(full, full)
    return tuple(windowed if is_windowed else whole for is_windowed in slides)


def inkling_loop(fields: Fields) -> tuple[Layer, ...]:
    """Some layers run several times and keep all of it for every pass."""
    kept, loop = inkling(fields), fields.get("loop_config")
    if loop is not None and not isinstance(loop, dict):
        raise ConfigError(f"field 'loop_config' is {shown(loop)}; expected a JSON object.")
    inner = Fields(loop or {})
    first, last, passes = (
        inner.count(name, name, default=fields.given(usual))
        for name, usual in (
            ("core_start", "loop_layer_index_start"),
            ("core_end", "loop_layer_index_end"),
            ("num_passes", "loop_num_passes"),
        )
    )
    if not first <= last <= len(kept):
        raise ConfigError(f"layers {first} to {last} run in a loop; expected some of {len(kept)} layers.")
    return kept + kept[first:last] * (passes - 1)


def zaya(fields: Fields) -> tuple[Layer, ...]:
    """Compressed convolutional attention: two convolutions over Q and K, and half of V one token late."""
    layers, full = fields.count("num_layers", "num_hidden_layers"), Attention().full_attention(fields)
    heads = fields.count("num_heads", "num_attention_heads")
    inputs = fields.given("cca_time0") + fields.given("cca_time1") - 2
    channels = (heads + full.kv_heads) * full.head_dim
    state = RecurrentState(1, full.kv_heads * full.head_dim // 2, channels, inputs)
    kinds = fields.names("layer_types", layers) or ["hybrid"] * layers
    window = fields.optional("window", "sliding_window")
    slides = _slides(kinds)
    if any(slides) and window is None:
        raise ConfigError(
            "field 'layer_types' has sliding layers, but no 'sliding_window' tells their window."
        )
    kept = [SlidingAttention(window, full) if is_windowed else full for is_windowed in slides]
    return tuple(Together((layer, state)) for layer in kept)


def _slides(kinds: list[str]) -> list[bool]:
    for kind in kinds:
        if kind not in _FULL + _SLIDING:
            raise ConfigError(f"field 'layer_types' has a layer of kind {shown(kind)}, not covered here.")
    return [kind in _SLIDING for kind in kinds]


FAMILIES = {
    "inkling2_loop_text": inkling_loop,
    "inkling2_text": inkling,
    "inkling_text": inkling,
    "zaya": zaya,
}
