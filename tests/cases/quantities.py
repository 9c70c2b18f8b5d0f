"""From a quantity and parameters to values: `kvcourse.memory` computes, this file only asks it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from cases import shapes
from cases.params import Params, Uncovered
from kvcourse.errors import ConfigError
from kvcourse.memory import CacheModel, blocks_for, duplication, heads_per_rank, part_bytes

GIB = 2**30


@dataclass(frozen=True)
class Value:
    """One reading of a quantity: exact, in bytes or in what `counts` names."""

    number: Fraction
    counts: str
    reading: str = ""


def values(quantity: str, params: dict, model: object = None) -> list[Value]:
    """Every meaning of a row. Raises Uncovered naming the quantity, key or kind that is not understood."""
    if quantity not in QUANTITIES:
        raise Uncovered(f"quantity {quantity!r}")
    row = Params(params)
    try:
        found = QUANTITIES[quantity](row, model)
    except ConfigError as error:
        raise Uncovered(str(error)) from None
    row.refuse_the_unread()
    return found


def _kv_bytes(row: Params, model: object) -> list[Value]:
    shape, copies = _shape(row, model), shapes.batch(row)
    return [
        Value(Fraction(shape.model.bytes(tokens, copies, shape.storage)), "bytes", reading)
        for tokens, reading in shapes.lengths(row)
    ]


def _bytes_per_token(row: Params, model: object) -> list[Value]:
    shape = _shape(row, model)
    return [Value(Fraction(shape.model.bytes_per_token(shape.storage)), "bytes")]


def _block_bytes(row: Params, model: object) -> list[Value]:
    shape = _shape(row, model)
    return [Value(Fraction(shape.model.bytes(row.need(*BLOCK), dtype=shape.storage)), "bytes")]


def _block_bytes_of_one_tensor(row: Params, model: object) -> list[Value]:
    """One layer's keys, or values, of one block: the pieces that a server moves when layers are apart."""
    shape = _shape(row, model)
    first = CacheModel(shape.model.layers[:1])
    part = first.layers[0].parts(row.need(*BLOCK))[0]
    return [Value(Fraction(part_bytes(part, shape.storage)), "bytes")]


def _pool_tokens(row: Params, model: object) -> list[Value]:
    blocks, block = row.count(*BLOCKS), row.count(*BLOCK)
    if blocks is not None:
        if block is None:
            raise Uncovered("no key 'block'")
        return [Value(Fraction(blocks * block), "tokens")]
    max_len, concurrency = row.count(*MAX_LEN), row.number("concurrency", "max_concurrency")
    if concurrency is not None and max_len is not None:
        return [Value(concurrency * max_len, "tokens")]
    shape = _shape(row, model)
    per_token = shape.model.bytes_per_token(shape.storage) * (block or 1)
    return [
        Value(Fraction(int(pool) // per_token * (block or 1)), "tokens", reading)
        for pool, reading in _pool(row)
    ]


def _pool_blocks(row: Params, model: object) -> list[Value]:
    block = row.need(*BLOCK)
    row.used.difference_update(BLOCK)
    return [Value(value.number / block, "blocks", value.reading) for value in _pool_tokens(row, model)]


def _concurrency(row: Params, model: object) -> list[Value]:
    """Sequences of the longest allowed length that the pool holds: vLLM's "Maximum concurrency"."""
    max_len, tokens = row.need(*MAX_LEN), row.count("tokens", "pool_tokens", "kv_tokens")
    pools = [Value(Fraction(tokens), "tokens")] if tokens is not None else _pool_tokens(row, model)
    return [Value(pool.number / max_len, "ratio", pool.reading) for pool in pools]


def _requests(row: Params, model: object) -> list[Value]:
    slots, reserve = row.number("slots", "pool_tokens", "tokens"), row.count("reserve", *MAX_LEN)
    if slots is None:
        slots = _pool_tokens(row, model)[0].number
    if not reserve:
        raise Uncovered("no key 'reserve'")
    return [Value(Fraction(slots // reserve), "requests")]


def _refusal(row: Params, model: object) -> list[Value]:
    try:
        heads_per_rank(row.need(*shapes.KV_HEADS), row.need(*shapes.TP))
    except ConfigError:
        return [Value(Fraction(1), "verdict", "refused")]
    return [Value(Fraction(0), "verdict", "accepted")]


def _kv_heads_per_rank(row: Params, model: object) -> list[Value]:
    return [Value(Fraction(heads_per_rank(row.need(*shapes.KV_HEADS), row.need(*shapes.TP))), "count")]


def _duplication(row: Params, model: object) -> list[Value]:
    kv_heads = 1 if row.has(*shapes.RANK, "latent") else row.need(*shapes.KV_HEADS)
    row.value(*shapes.RANK, "latent")
    return [Value(Fraction(duplication(kv_heads, row.need(*shapes.TP), row.count("dcp") or 1)), "ratio")]


def _blocks(row: Params, model: object) -> list[Value]:
    return [Value(Fraction(blocks_for(row.need(*shapes.TOKENS), row.need(*BLOCK))), "blocks")]


def _ratio(row: Params, model: object) -> list[Value]:
    """How far a wrong number is from the right one, both of which are linear in what the row gives."""
    true, naive = row.number("true_head_dim", "true", "right"), row.number("naive", "naive_head_dim", "wrong")
    if true is None and row.has("latent", *shapes.RANK) and row.has(*shapes.KEY_DIM, *shapes.HEAD_DIM):
        # The same layers cached as latents and as the keys and values made from them.
        true = Fraction(shapes.read_latent(row).parts(1)[0].elements)
        naive = Fraction(sum(part.elements for part in shapes.read_attention(row).parts(1)))
    if not true or not naive:
        raise Uncovered("a ratio of what these keys give")
    return [
        Value(max(naive / true, true / naive), "ratio"),
        Value(naive / true, "too high"),
        Value(true / naive, "too low"),
        Value(100 * (naive / true - 1), "% too high"),
        Value(100 * (1 - naive / true), "% too low"),
    ]


# ---- what several quantities need ------------------------------------------------------------------

BLOCK = ("block", "block_size", "tokens_per_block", "page_size", "block_tokens")
BLOCKS = ("blocks", "num_blocks", "gpu_blocks", "n_blocks", "num_gpu_blocks")
MAX_LEN = ("max_len", "max_model_len", "max_seq_len", "max_length")
_POOL = re.compile(
    r"(?:avail|available|pool|kv_mem|kv_memory|kv_pool|kv_cache|budget|free|memory)(?:_(gib|gb|mib|mb|bytes))?"
)
_UNITS = {"gib": [(GIB, "GiB")], "mib": [(2**20, "MiB")], "bytes": [(1, "bytes")],
          "gb": [(GIB, "GB of 1024s"), (10**9, "GB of 1000s")],
          "mb": [(2**20, "MB of 1024s"), (10**6, "MB of 1000s")]}  # fmt: skip


def _shape(row: Params, model: object) -> shapes.Shape:
    if not row.has(*shapes.SHAPE):
        return shapes.published(model)
    return shapes.shape(row)


def _pool(row: Params) -> list[tuple[Fraction, str]]:
    """Bytes set aside for caches. A key that names no unit holds GB, in print 1000s or 1024s."""
    for name in row.raw:
        found = _POOL.fullmatch(name)
        if found:
            number = row.number(name)
            meanings = _UNITS[found.group(1) or "gb"]
            return [(number * size, text if len(meanings) > 1 else "") for size, text in meanings]
    raise Uncovered("no key for the memory of the pool, such as 'pool_gib'")


QUANTITIES: dict[str, Callable[[Params, object], list[Value]]] = {
    "kv_bytes": _kv_bytes,
    "bytes_per_token": _bytes_per_token,
    "block_bytes": _block_bytes,
    "block_bytes_one_layer_one_side": _block_bytes_of_one_tensor,
    "pool_tokens": _pool_tokens,
    "pool_blocks": _pool_blocks,
    "concurrency": _concurrency,
    "requests": _requests,
    "refusal": _refusal,
    "kv_heads_per_rank": _kv_heads_per_rank,
    "duplication": _duplication,
    "blocks": _blocks,
    "ratio": _ratio,
}
