"""From a quantity and parameters to values: `kvcourse.memory` computes, this file only asks it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from cases import names, shapes
from cases.layers import attention_of, describes_layers, latent
from cases.params import Params, Uncovered
from cases.pools import pool_bytes
from kvcourse.errors import ConfigError
from kvcourse.memory import (
    CacheModel,
    blocks_for,
    duplication,
    heads_per_rank,
    part_bytes,
    weight_bytes,
)


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
    if not found:
        raise Uncovered("no memory is left for caches")
    return found


_TOLD = (r"(true|right|correct|real)(_|$)", r"(naive|wrong)(_|$)")


def _shape(row: Params, model: object) -> shapes.Shape:
    return shapes.shape(row) if describes_layers(row) else shapes.published(model)


def _kv_bytes(row: Params, model: object) -> list[Value]:
    shape, copies = _shape(row, model), shapes.batch(row)
    found, shared = [], row.count(*names.DCP) or 1  # devices that share the tokens
    for told, reading in shapes.lengths(row):
        tokens = blocks_for(told, shared)
        found.append(Value(Fraction(shape.model.bytes(tokens, copies, shape.storage)), "bytes", reading))
        alone = shape.without_states()
        if alone.layers and alone.layers != shape.model.layers:
            size = alone.bytes(tokens, copies, shape.storage)
            found.append(Value(Fraction(size), "bytes", f"{reading} without the recurrent states".strip()))
    return found


def _state_bytes(row: Params, model: object) -> list[Value]:
    shape, copies = _shape(row, model), shapes.batch(row)
    if len(shape.without_states().layers) == len(shape.model.layers):
        raise Uncovered("no key 'd_state'")
    states = shape.model.bytes(0, copies, shape.storage) - shape.without_states().bytes(
        0, copies, shape.storage
    )
    return [Value(Fraction(states), "bytes")]


def _bytes_per_token(row: Params, model: object) -> list[Value]:
    shape = _shape(row, model)
    return [Value(Fraction(shape.model.bytes_per_token(shape.storage)), "bytes")]


def _bytes_per_token_of_one_layer(row: Params, model: object) -> list[Value]:
    shape = _shape(row, model)
    return [Value(Fraction(CacheModel(shape.model.layers[:1]).bytes_per_token(shape.storage)), "bytes")]


def _block_bytes(row: Params, model: object) -> list[Value]:
    shape = _shape(row, model)
    return [Value(Fraction(shape.model.bytes(row.need(*names.BLOCK), dtype=shape.storage)), "bytes")]


def _block_bytes_of_one_layer(row: Params, model: object) -> list[Value]:
    shape = _shape(row, model)
    first = CacheModel(shape.model.layers[:1])
    return [Value(Fraction(first.bytes(row.need(*names.BLOCK), dtype=shape.storage)), "bytes")]


def _block_bytes_of_one_tensor(row: Params, model: object) -> list[Value]:
    """One layer's keys, or values, of one block: the pieces that a server moves when layers are apart."""
    shape = _shape(row, model)
    if not shape.model.layers:
        raise Uncovered("no layers")
    part = shape.model.layers[0].parts(row.need(*names.BLOCK))[0]
    return [Value(Fraction(part_bytes(part, shape.storage)), "bytes")]


# ---- what a pool holds -----------------------------------------------------------------------------


def _pool_tokens(row: Params, model: object) -> list[Value]:
    blocks, block = row.count(*names.BLOCKS), row.count(*names.BLOCK)
    if blocks is not None:
        if block is None:
            raise Uncovered("no key 'block'")
        return [Value(Fraction(blocks * block), "tokens")]
    max_len, concurrency = row.count(*names.MAX_LEN), row.number("concurrency", "max_concurrency")
    if concurrency is not None and max_len is not None:
        return [Value(concurrency * max_len, "tokens")]
    shape, block = _shape(row, model), block or 1
    per_block = shape.model.bytes_per_token(shape.storage) * block
    if not per_block:
        raise Uncovered("layers whose cache does not grow")
    return [Value(Fraction(pool // per_block * block), "tokens", told) for pool, told in pool_bytes(row)]


def _pool_blocks(row: Params, model: object) -> list[Value]:
    block = row.need(*names.BLOCK)
    return [Value(value.number / block, "blocks", value.reading) for value in _pool_tokens(row, model)]


def _concurrency(row: Params, model: object) -> list[Value]:
    """Sequences of the longest allowed length that the pool holds: vLLM's "Maximum concurrency"."""
    max_len, tokens = row.need(*names.MAX_LEN), row.count("tokens", "pool_tokens", "kv_tokens", "slots")
    if not max_len:
        raise Uncovered("a longest length of 0")
    pools = [Value(Fraction(tokens), "tokens")] if tokens is not None else _pool_tokens(row, model)
    return [Value(pool.number / max_len, "ratio", pool.reading) for pool in pools]


def _requests(row: Params, model: object) -> list[Value]:
    slots, reserve = row.number("slots", "pool_tokens", "tokens"), row.count("reserve", *names.MAX_LEN)
    if not reserve:
        raise Uncovered("no key 'reserve'")
    pools = [Value(slots, "tokens")] if slots is not None else _pool_tokens(row, model)
    return [Value(Fraction(pool.number // reserve), "requests", pool.reading) for pool in pools]


def _blocks(row: Params, model: object) -> list[Value]:
    return [Value(Fraction(blocks_for(row.need(*names.TOKENS), row.need(*names.BLOCK))), "blocks")]


# ---- devices and comparisons -----------------------------------------------------------------------


def _refusal(row: Params, model: object) -> list[Value]:
    try:
        heads_per_rank(row.need(*names.KV_HEADS), row.need(*names.TP))
    except ConfigError:
        return [Value(Fraction(1), "verdict", "refused")]
    return [Value(Fraction(0), "verdict", "accepted")]


def _kv_heads_per_rank(row: Params, model: object) -> list[Value]:
    return [Value(Fraction(heads_per_rank(row.need(*names.KV_HEADS), row.need(*names.TP))), "count")]


def _duplication(row: Params, model: object) -> list[Value]:
    is_latent = row.has(*names.RANK, *names.LATENT)
    kv_heads = 1 if is_latent else row.need(*names.KV_HEADS)
    if is_latent:
        latent(row)
    return [Value(Fraction(duplication(kv_heads, row.need(*names.TP), row.count(*names.DCP) or 1)), "ratio")]


def _ratio(row: Params, model: object) -> list[Value]:
    """How far a wrong number is from the right one, both of which are linear in what the row gives."""
    true, naive = (row.number(*(name for name in row.raw if re.match(told, name))) for told in _TOLD)
    if true is None and row.has(*names.TP):
        return _duplication(row, model)
    if true is None and row.has(*names.LATENT, *names.RANK):
        # The same layers cached as latents and as the keys and values made from them.
        true = Fraction(sum(part.elements for part in latent(row).parts(1)))
        naive = Fraction(sum(part.elements for part in attention_of(row).parts(1)))
        row.count(*names.LAYERS)
    if true is None and row.has(*names.KV_HEADS) and row.has(*names.HEADS):
        true, naive = row.number(*names.KV_HEADS), row.number(*names.HEADS)
    if not true or not naive:
        raise Uncovered("a ratio of what these keys give")
    return [
        Value(max(naive / true, true / naive), "ratio"),
        Value(naive / true, "too high"),
        Value(true / naive, "too low"),
        Value(100 * (naive / true - 1), "% too high"),
        Value(100 * (1 - naive / true), "% too low"),
    ]


def _weight_bytes(row: Params, model: object) -> list[Value]:
    number, dtype = row.number("params", "parameters", "n_params", "num_parameters"), row.text(*names.DTYPE)
    if number is None or dtype is None or number.denominator != 1:
        raise Uncovered("no key 'params' with a whole number, or no 'dtype'")
    ranks = row.count(*names.TP) or 1
    try:
        size = weight_bytes(int(number), dtype)
    except ValueError as error:
        raise Uncovered(str(error)) from None
    return [Value(Fraction(size, ranks), "bytes")]


QUANTITIES: dict[str, Callable[[Params, object], list[Value]]] = {
    "kv_bytes": _kv_bytes,
    "kv_bytes_per_rank": _kv_bytes,
    "state_bytes": _state_bytes,
    "bytes_per_token": _bytes_per_token,
    "kv_bytes_per_token": _bytes_per_token,
    "bytes_per_token_per_rank": _bytes_per_token,
    "bytes_per_token_one_layer": _bytes_per_token_of_one_layer,
    "block_bytes": _block_bytes,
    "block_bytes_one_layer": _block_bytes_of_one_layer,
    "block_bytes_one_layer_one_side": _block_bytes_of_one_tensor,
    "pool_tokens": _pool_tokens,
    "pool_blocks": _pool_blocks,
    "concurrency": _concurrency,
    "max_concurrency": _concurrency,
    "requests": _requests,
    "blocks": _blocks,
    "refusal": _refusal,
    "kv_heads_per_rank": _kv_heads_per_rank,
    "duplication": _duplication,
    "replication": _duplication,
    "ratio": _ratio,
    "weight_bytes": _weight_bytes,
}
