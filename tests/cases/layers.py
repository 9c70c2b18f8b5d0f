"""From the parameters of a row to the layers it names. Solves kinds, not rows."""

import re
from dataclasses import replace

from cases import names
from cases.params import Params, Uncovered
from kvcourse.errors import UserError
from kvcourse.memory import (
    CompressedAttention,
    FullAttention,
    LatentAttention,
    RecurrentState,
    SlidingAttention,
    parse_format,
)

_COMPRESSED = re.compile(r"c(\d+)a_layers")


def describes_layers(params: Params) -> bool:
    """Whether the row gives a shape at all."""
    telling = (names.LAYERS, names.KV_HEADS, names.HEAD_DIM, names.KEY_DIM, names.HIDDEN, names.FULL,
               names.SLIDING, names.RANK, names.LATENT, names.RECURRENT, ("kv_heads_per_rank",))  # fmt: skip
    return any(params.has(*aliases) for aliases in telling) or any(map(_COMPRESSED.fullmatch, params.raw))


def layers(params: Params) -> list:
    """The layers that a row counts: all it has, or those of the kinds it names."""
    if any(map(_COMPRESSED.fullmatch, params.raw)):
        return _compressed(params)
    recurrent, others = _recurrent(params), params.count(*names.RECURRENT) or 0
    if params.has(*names.RANK, *names.LATENT):
        return [latent(params)] * _count(params, others) + recurrent
    if any(isinstance(params.raw.get(name), list) for name in names.EACH_HEADS):
        return _per_layer(params) + recurrent
    if recurrent and not params.has(*names.KV_HEADS, *names.HEAD_DIM, *names.FULL):
        params.count(*names.LAYERS)
        return recurrent
    return _attending(params, others) + recurrent


def reserves(params: Params) -> bool:
    """Whether the row tells how many cells a server set aside, whatever the window needs."""
    from_parts = params.has(*names.CONTEXT) and params.has(*names.UBATCH) and params.has(*names.WINDOW)
    return params.has(*names.CELLS) or from_parts


def _attending(params: Params, others: int) -> list:
    """Layers of one kind, or full and windowed ones; each kind may have heads of its own."""
    attention, window = attention_of(params), params.count(*names.WINDOW)
    if reserves(params) or params.flag("swa_full", "full_swa"):
        window = None
    full, sliding = _numbers(params, others, bool(window))
    if full is None and sliding is None:
        plain = attention if window is None else SlidingAttention(window, attention)
        return [plain] * _count(params, others)
    if sliding and window is None and not reserves(params) and not params.has("swa_full", "full_swa"):
        raise Uncovered("no key 'window'")
    wide = _with(attention, params.count(*names.WIDE_HEADS), params.count(*names.WIDE_DIM))
    slim = _with(attention, params.count(*names.SLIM_HEADS), params.count(*names.SLIM_DIM))
    windowed = slim if window is None else SlidingAttention(window, slim)
    return [windowed] * (sliding or 0) + [wide] * (full or 0)


def _numbers(params: Params, others: int, windowed: bool) -> tuple[int | None, int | None]:
    """How many layers are full and how many windowed; (None, None) where the row does not tell kinds apart.

    A row that names one kind alone counts that kind alone, as a log of one buffer does; but windowed layers
    beside a total leave the rest full.
    """
    full, sliding, every = (params.count(*n) for n in (names.FULL, names.SLIDING, names.FULL_EVERY))
    total = params.count(*names.LAYERS)
    holding = None if total is None else total - (params.count(*names.SHARED) or 0)
    holding = _agreed(params, holding)
    if every is not None and holding is not None and windowed and full is None and sliding is None:
        full = holding // every if every else 0
        sliding = holding - full
    if windowed and sliding is not None and full is None and holding is not None:
        full = holding - sliding - others
    named = (full or 0) + (sliding or 0)
    if (full is not None and full < 0) or (holding is not None and named > holding):
        raise Uncovered(f"{named} layers named, more than the {holding} that hold a cache")
    return full, sliding


def _agreed(params: Params, holding: int | None) -> int | None:
    """Layers that keep something of their own: told, or those not shared; both must say the same."""
    stored = params.count(*names.STORED)
    if stored is not None and holding not in (None, stored) and params.has(*names.SHARED):
        raise Uncovered(f"{stored} layers stored, where all but the shared are {holding}")
    return holding if stored is None else stored


def _with(attention: FullAttention, kv_heads: int | None, head_dim: int | None) -> FullAttention:
    return replace(
        attention,
        kv_heads=attention.kv_heads if kv_heads is None else kv_heads,
        head_dim=attention.head_dim if head_dim is None else head_dim,
    )


def _count(params: Params, others: int) -> int:
    """Layers of the one kind that a row has: those named, or all but the shared and the recurrent ones."""
    named = params.count(*names.FULL)
    if named is not None:
        params.count(*names.LAYERS)
        return named
    total = params.count(*names.LAYERS)
    holding = _agreed(params, None if total is None else total - (params.count(*names.SHARED) or 0))
    if holding is None:
        raise Uncovered("no key 'layers'")
    count = holding - others
    if count < 0:
        raise Uncovered("more layers shared or recurrent than there are")
    return count


def attention_of(params: Params) -> FullAttention:
    key_row, value_row = params.count("n_embd_k_gqa"), params.count("n_embd_v_gqa")
    if key_row is not None:
        return FullAttention(1, key_row, value_row)
    kv_heads, heads, hidden = (params.count(*n) for n in (names.KV_HEADS, names.HEADS, names.HIDDEN))
    per_rank = params.count("kv_heads_per_rank")
    kv_heads = kv_heads if per_rank is None else per_rank
    width, key, value = (params.count(*n) for n in (names.HEAD_DIM, names.KEY_DIM, names.VALUE_DIM))
    nope, rope = params.count("qk_nope_head_dim"), None
    if nope is not None:  # a latent model's keys and values, expanded to heads
        rope = params.need(*names.ROPE)
        key = nope + rope
    key = width if key is None else key
    if key is None and kv_heads is None and heads is None and hidden is not None:
        return FullAttention(1, hidden)  # MHA: the heads together are as wide as the model
    if key is None and hidden is not None and heads:
        if hidden % heads:
            raise Uncovered(f"hidden size {hidden} is no multiple of {heads} heads")
        key = hidden // heads
    kv_heads = heads if kv_heads is None else kv_heads
    if kv_heads is None or key is None:
        raise Uncovered("no key 'kv_heads'" if kv_heads is None else "no key 'head_dim'")
    return FullAttention(kv_heads, key, value)


def latent(params: Params) -> LatentAttention:
    whole, rope = params.count(*names.LATENT), params.count(*names.ROPE) or 0
    rank = params.count(*names.RANK)
    if whole is not None and rank is not None and whole != rank + rope:
        raise Uncovered(f"a latent of {whole} from a rank of {rank} and {rope} rotary numbers")
    copy = params.flag("transposed_copy")
    index = params.count(*names.INDEX) or 0
    if rank is None:
        return LatentAttention(whole, 0 if whole > rope else rope, index, copy)
    return LatentAttention(rank, rope, index, copy)


def _per_layer(params: Params) -> list:
    heads, layers_told = params.value(*names.EACH_HEADS), params.count(*names.LAYERS)
    if not all(type(count) is int and count >= 0 for count in heads):
        raise Uncovered(f"key {params.name(*names.EACH_HEADS)!r} with the value {heads!r}")
    if layers_told not in (None, len(heads)):
        raise Uncovered(f"{len(heads)} numbers of KV heads for {layers_told} layers")
    if params.count(*names.FULL) not in (None, sum(count > 0 for count in heads)):
        raise Uncovered("the number of layers with attention is not that of the KV heads")
    width, key, value = (params.count(*n) for n in (names.HEAD_DIM, names.KEY_DIM, names.VALUE_DIM))
    if width is None and key is None:
        raise Uncovered("no key 'head_dim'")
    return [FullAttention(count, width if key is None else key, value) for count in heads if count]


def _compressed(params: Params) -> list:
    """DeepSeek-V4: so many layers for each ratio, the finest with the indexer; windowed ones have none."""
    found = [
        (int(_COMPRESSED.fullmatch(name).group(1)), name)
        for name in params.raw
        if _COMPRESSED.fullmatch(name)
    ]
    numbers = {ratio: params.need(name) for ratio, name in found} | {0: params.count(*names.SLIDING) or 0}
    window, width = params.need(*names.WINDOW), params.need(*names.HEAD_DIM)
    index, finest = params.count(*names.INDEX) or 0, min(filter(None, numbers), default=0)
    if params.count(*names.LAYERS) not in (None, sum(numbers.values())):
        raise Uncovered(f"{sum(numbers.values())} layers named, of another number in all")
    return [
        CompressedAttention(window, ratio, width, index if ratio and ratio == finest else 0)
        for ratio, number in numbers.items()
        for _ in range(number)
    ]


def _recurrent(params: Params) -> list:
    """Recurrent layers with their states; [] where the row tells only their number: they keep no K and V."""
    number = params.count(*names.RECURRENT)
    if number is None or not params.has(*names.STATE_HEADS, "d_state", "ssm_state_size", "d_inner"):
        return []
    dtype = params.text(*names.STATE_DTYPE)
    try:
        dtype = None if dtype is None else parse_format(dtype).name
    except UserError as error:
        raise Uncovered(str(error)) from None
    kernel = params.count(*names.KERNEL) or 1
    return [_state(params, kernel - 1, dtype)] * number


def _state(params: Params, inputs: int, dtype: str | None) -> RecurrentState:
    """Mamba: inner channels of d_state. Mamba-2: heads of width x d_state. Gated delta net: key x value."""
    heads, kept = params.count(*names.STATE_HEADS), params.count("d_state", "ssm_state_size", "mamba_d_state")
    key, value = params.count("linear_key_head_dim"), params.count("linear_value_head_dim")
    if heads is not None and key is not None and value is not None:
        channels = 2 * params.need("linear_num_key_heads") * key + heads * value if inputs else 0
        return RecurrentState(heads, key * value, channels, inputs, dtype)
    inner, width = params.count("d_inner", "mamba_d_inner"), params.count("mamba_head_dim", "ssm_head_dim")
    if kept is None:
        raise Uncovered("no key 'd_state'")
    groups = params.count("n_groups", "mamba_n_groups", "ssm_groups") or 0
    if heads is not None and width is not None:
        return RecurrentState(
            heads, width * kept, (heads * width + 2 * groups * kept) * bool(inputs), inputs, dtype
        )
    if inner is None:
        raise Uncovered("no key 'd_inner'")
    return RecurrentState(inner, kept, (inner + 2 * groups * kept) * bool(inputs), inputs, dtype)
