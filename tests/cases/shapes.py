"""From the parameters of a row to layers, lengths and storage. Solves kinds, not rows."""

from dataclasses import dataclass

from cases.params import Params, Uncovered
from kvcourse import registry
from kvcourse.errors import UserError
from kvcourse.memory import (
    CacheModel,
    Format,
    FullAttention,
    LatentAttention,
    SlidingAttention,
    Storage,
    from_config,
    parse_format,
    parse_storage,
    reserved,
)

LAYERS = ("layers", "num_layers", "n_layers", "n_layer", "num_hidden_layers", "block_count")
KV_HEADS = ("kv_heads", "num_kv_heads", "n_kv_heads", "n_head_kv", "num_key_value_heads", "head_count_kv")
HEADS = ("heads", "q_heads", "num_heads", "n_heads", "n_head", "num_attention_heads")
HEAD_DIM = ("head_dim", "d_head", "head_size")
KEY_DIM = ("head_dim_k", "k_head_dim", "n_embd_head_k", "qk_head_dim")
VALUE_DIM = ("head_dim_v", "v_head_dim", "n_embd_head_v")
HIDDEN = ("hidden", "hidden_size", "d", "d_model", "n_embd", "n_state")
FULL = ("full", "full_layers", "full_attention_layers", "global_layers", "attn_layers", "attention_layers",
        "layers_with_attention", "num_attention_layers", "n_attn_layers")  # fmt: skip
SLIDING = ("swa", "swa_layers", "sliding", "sliding_layers", "sliding_attention_layers", "local_layers",
           "swa_layers_with_kv", "window_layers")  # fmt: skip
SHARED = ("kv_shared_layers", "num_kv_shared_layers", "shared_layers")
WINDOW = ("window", "sliding_window", "n_swa", "swa_window")
RANK, ROPE = ("kv_lora_rank", "latent_rank"), ("qk_rope_head_dim", "rope_dim", "rope", "qk_rope_dim")
INDEX = ("indexer", "index", "index_head_dim", "index_dim", "indexer_dim")
TP = ("tp", "tensor_parallel", "tensor_parallel_size", "devices", "gpus", "ranks", "tp_size", "world_size")
TOKENS = ("tokens", "seq_len", "context", "context_length", "n_tokens", "ctx_len", "length", "n_text_ctx",
          "n_audio_ctx", "max_length", "seqlen")  # fmt: skip
CELLS = ("cells", "kv_size", "n_cells")
SLOTS = ("slots", "n_parallel", "n_seq_max")
CONTEXT = ("n_ctx", "ctx", "ctx_size")
UBATCH = ("n_ubatch", "ubatch")
BATCH = ("batch", "batch_size", "seqs", "sequences", "num_seqs", "n_seqs", "users", "requests", "concurrent")
SHAPE = (
    *LAYERS,
    *KV_HEADS,
    *HEAD_DIM,
    *KEY_DIM,
    *HIDDEN,
    *FULL,
    *SLIDING,
    *RANK,
    "latent",
    "kv_heads_per_rank",
)


@dataclass(frozen=True)
class Shape:
    """What a row caches: a model with all its layers or those it names, and in which formats."""

    model: CacheModel
    storage: Storage


def shape(params: Params) -> Shape:
    """The layers and storage that a row describes; on one of `tp` devices where it says so."""
    model = CacheModel(tuple(_layers(params)))
    ranks = params.count(*TP)
    try:
        return Shape(model if ranks is None else model.shard(ranks), storage(params))
    except UserError as error:
        raise Uncovered(str(error)) from None


def storage(params: Params) -> Storage:
    both = params.text("dtype", "type", "kv_dtype", "cache_dtype", "kv_cache_dtype")
    key = params.text("type_k", "dtype_k", "k_type", "k_dtype", "cache_type_k") or both
    value = params.text("type_v", "dtype_v", "v_type", "v_dtype", "cache_type_v") or both
    width = params.number("dtype_bytes", "bytes_per_element", "elem_bytes", "bytes", "kv_bytes_per_element")
    if width is not None and (8 * width).denominator == 1:
        plain = Format(f"{float(width)} bytes", int(8 * width))
        return Storage(plain, plain)
    if key is None or value is None:
        raise Uncovered("no key 'dtype'")
    try:
        return Storage(parse_format(key), parse_format(value))
    except UserError as error:
        raise Uncovered(str(error)) from None


def published(name: object) -> Shape:
    """The shape of a published model, for a row that names one and gives no shape."""
    try:
        model = from_config(registry.find(name).config)
    except UserError as error:
        raise Uncovered(f"no shape in the row, and {error}") from None
    return Shape(model, parse_storage(model.dtype or "fp16"))


# ---- layers --------------------------------------------------------------------------------------


def _layers(params: Params) -> list:
    if params.has(*RANK, "latent"):
        return [read_latent(params)] * _plain_count(params)
    kv_heads = params.raw.get(next((name for name in KV_HEADS if name in params.raw), ""))
    if isinstance(kv_heads, list):
        return _per_layer(params)
    full, sliding = params.count(*FULL), params.count(*SLIDING)
    attention = read_attention(params)
    if full is None and sliding is None:
        return [_maybe_windowed(params, attention)] * _plain_count(params)
    layers, shared = params.count(*LAYERS), params.count(*SHARED) or 0
    every = reserves(params)  # a log of one buffer: the layers named are those in it
    window = None if every and params.name(*WINDOW) else params.count(*WINDOW)
    if layers is not None and sliding is not None and full is None and window is not None:
        full = layers - shared - sliding
    named = (full or 0) + (sliding or 0)
    if (full or 0) < 0 or (layers is not None and named > layers - shared):
        raise Uncovered(f"{named} layers named, more than the {layers} - {shared} that hold a cache")
    if sliding and window is None and not every:
        raise Uncovered("no key 'window'")
    windowed = attention if window is None else SlidingAttention(window, attention)
    return [windowed] * (sliding or 0) + [attention] * (full or 0)


def _plain_count(params: Params) -> int:
    layers, shared = params.need(*LAYERS), params.count(*SHARED) or 0
    if shared > layers:
        raise Uncovered(f"{shared} shared layers of {layers}")
    return layers - shared


def _maybe_windowed(params: Params, attention: FullAttention) -> FullAttention | SlidingAttention:
    if params.flag("swa_full", "full_swa") or reserves(params):
        params.name(*WINDOW)
        return attention
    window = params.count(*WINDOW)
    return attention if window is None else SlidingAttention(window, attention)


def read_attention(params: Params) -> FullAttention:
    key_row, value_row = params.count("n_embd_k_gqa"), params.count("n_embd_v_gqa")
    if key_row is not None:
        return FullAttention(1, key_row, value_row)
    kv_heads, heads, hidden = params.count(*KV_HEADS), params.count(*HEADS), params.count(*HIDDEN)
    per_rank = params.count("kv_heads_per_rank")
    kv_heads = per_rank if per_rank is not None else kv_heads
    width, key, value = params.count(*HEAD_DIM), params.count(*KEY_DIM), params.count(*VALUE_DIM)
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


def read_latent(params: Params) -> LatentAttention:
    latent, rope = params.count("latent"), params.count(*ROPE) or 0
    rank = params.count(*RANK) if latent is None else latent
    copy = params.flag("transposed_copy")
    return LatentAttention(rank, rope, params.count(*INDEX) or 0, copy)


def _per_layer(params: Params) -> list:
    heads = params.value(*KV_HEADS)
    if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in heads):
        raise Uncovered(f"key {params.name(*KV_HEADS)!r} with the value {heads!r}")
    if params.count(*LAYERS) not in (None, len(heads)):
        raise Uncovered(f"{len(heads)} numbers of KV heads for {params.count(*LAYERS)} layers")
    if params.count(*FULL) not in (None, sum(count > 0 for count in heads)):
        raise Uncovered("the number of layers with attention is not that of the KV heads")
    width, key, value = params.count(*HEAD_DIM), params.count(*KEY_DIM), params.count(*VALUE_DIM)
    if width is None and key is None:
        raise Uncovered("no key 'head_dim'")
    return [FullAttention(count, width if key is None else key, value) for count in heads if count]


# ---- lengths -------------------------------------------------------------------------------------


def reserves(params: Params) -> bool:
    """Whether the row tells how many cells a server set aside, whatever the window needs."""
    return params.has(*CELLS) or (params.has(*CONTEXT) and params.has(*UBATCH) and params.has(*WINDOW))


def lengths(params: Params) -> list[tuple[int, str]]:
    """Tokens of one sequence's cache, or cells of all: each reading with its name."""
    cells, tokens, context = params.count(*CELLS), params.count(*TOKENS), params.count(*CONTEXT)
    if cells is not None:
        for told in (SLOTS, UBATCH, WINDOW):  # how the server came to that number
            params.count(*told)
        return [(cells, "")]
    if tokens is not None:
        return [(tokens, "")]
    if context is None:
        raise Uncovered("no key 'tokens'")
    slots = params.count(*SLOTS)
    if reserves(params):
        return _window_lengths(context, params.need(*WINDOW), params.need(*UBATCH), slots or 1)
    if slots is not None:
        each = f"{slots} slots, each rounded up to {reserved.PAD} cells"
        return [(reserved.slot_cells(context, slots), each)]
    rounded = reserved.padded(context)
    if rounded == context:
        return [(context, "")]
    return [(context, "context as given"), (rounded, f"context rounded up to {rounded} cells")]


def _window_lengths(context: int, window: int, ubatch: int, slots: int) -> list[tuple[int, str]]:
    shared = reserved.window_cells(context, window, ubatch, slots)
    if slots == 1:
        return [(shared, "window and one batch, rounded up")]
    each = slots * reserved.window_cells(context // slots, window, ubatch)
    return [(shared, f"one buffer for {slots} slots"), (each, f"{slots} slots with a buffer each")]


def batch(params: Params) -> int:
    """How many such caches: sequences, and llama.cpp's or whisper.cpp's factor for parallel decoders."""
    sequences, factor = params.count(*BATCH), params.count("factor", "decoders")
    return (1 if sequences is None else sequences) * (1 if factor is None else factor)
