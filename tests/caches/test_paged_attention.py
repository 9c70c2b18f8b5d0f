"""Attention through block tables against dense attention; merging partial results against one softmax."""

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.attention import causal_attention
from kvcourse.blocks import BlockTable, TableError, blocks_for
from kvcourse.caches.paged_attention import (
    InPlaceAttention,
    Partial,
    exponentials,
    finish,
    gather,
    gathered_attention,
    merge,
    write,
)
from kvcourse.errors import CacheError

# ---- pools filled by hand: nothing here goes through `write` or a manager --------------------------------


def paged_case(lengths, size, new=1, heads=(4, 2), width=8, spare=3, garbage=math.nan, seed=0, dtype=None):
    """Rows of random K and V, dense and scattered over a shuffled pool; all other slots hold `garbage`."""
    generator = torch.Generator().manual_seed(seed)
    h, h_kv = heads
    need = [blocks_for(n, size) for n in lengths]
    order = list(range(sum(need) + spare))
    random.Random(seed).shuffle(order)
    keys = torch.full((len(order), h_kv, width, size), garbage, dtype=dtype)
    values = torch.full((len(order), h_kv, size, width), garbage, dtype=dtype)
    tables, dense = [], []
    for n, count in zip(lengths, need, strict=True):
        blocks = [order.pop() for _ in range(count)]
        k, v = (torch.randn(1, h_kv, n, width, generator=generator).to(keys.dtype) for _ in range(2))
        for position in range(n):
            block, offset = blocks[position // size], position % size
            keys[block, :, :, offset] = k[0, :, position]
            values[block, :, offset] = v[0, :, position]
        tables.append(BlockTable(size, blocks, n))
        dense.append((k, v))
    q = torch.randn(len(lengths), h, new, width, generator=generator).to(keys.dtype)
    return q, keys, values, tables, dense


def dense_attention(q, dense):
    return torch.cat([causal_attention(q[i : i + 1], k, v) for i, (k, v) in enumerate(dense)])


def in_place(q, keys, values, tables, part=None):
    return InPlaceAttention(tables, q.shape[2], len(keys), q.device, part)(q, keys, values)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 5),
    lengths=st.lists(st.integers(1, 17), min_size=1, max_size=4),
    new=st.integers(1, 4),
    heads=st.sampled_from([(1, 1), (4, 4), (4, 2), (6, 2), (3, 1)]),
    part=st.sampled_from([None, 1, 2, 3]),
    garbage=st.sampled_from([math.nan, 1e4, -math.inf]),
    seed=st.integers(0, 1000),
)
def test_both_methods_are_dense_attention(size, lengths, new, heads, part, garbage, seed):
    lengths = [max(n, new) for n in lengths]
    q, keys, values, tables, dense = paged_case(lengths, size, new, heads, garbage=garbage, seed=seed)
    want = dense_attention(q, dense)
    for i, table in enumerate(tables):
        for got, stored in zip(gather(keys, values, table), dense[i], strict=True):
            assert torch.equal(got, stored)
    torch.testing.assert_close(gathered_attention(q, keys, values, tables), want, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(in_place(q, keys, values, tables, part), want, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("new", [1, 2])
@pytest.mark.parametrize("length", [2, 3, 4, 5, 8, 12])
@pytest.mark.parametrize("part", [None, 1])
def test_around_the_block_boundary(length, new, part):
    """Blocks of 4, all taken: the last slot of the pool is in use when the length is 12."""
    q, keys, values, tables, dense = paged_case([length], 4, new, spare=0)
    torch.testing.assert_close(
        in_place(q, keys, values, tables, part), dense_attention(q, dense), atol=1e-5, rtol=1e-5
    )


def test_one_token():
    """A single key has all of the probability, whatever its score: the output is its value."""
    q, keys, values, tables, dense = paged_case([1], 4)
    want = dense[0][1].repeat_interleave(2, dim=1)
    torch.testing.assert_close(in_place(q, keys, values, tables), want)


@pytest.mark.parametrize("new", [1, 3])
def test_parts_longer_than_the_default(new, monkeypatch):
    """The default splits long tables; the split must fall between blocks for every block size."""
    monkeypatch.setattr("kvcourse.caches.paged_attention.BAG_TOKENS", 10)
    monkeypatch.setattr("kvcourse.caches.paged_attention.COPY_TOKENS", 10)
    for size in (1, 3, 16):
        q, keys, values, tables, dense = paged_case([40, 7], size, new)
        torch.testing.assert_close(
            in_place(q, keys, values, tables), dense_attention(q, dense), atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("new", [1, 3])
def test_other_dtypes(dtype, new):
    q, keys, values, tables, dense = paged_case([9, 4], 4, new, dtype=dtype)
    got = in_place(q, keys, values, tables)
    assert got.dtype == dtype
    want = dense_attention(q.double(), [(k.double(), v.double()) for k, v in dense])
    tolerance = 1e-12 if dtype == torch.float64 else 1e-2
    torch.testing.assert_close(got.double(), want, atol=tolerance, rtol=tolerance)


def test_a_plan_serves_every_layer():
    q, keys, values, tables, dense = paged_case([9, 4], 4)
    plan = InPlaceAttention(tables, 1, len(keys))
    first = plan(q, keys, values)
    torch.testing.assert_close(plan(q, keys, 2 * values), 2 * first)
    torch.testing.assert_close(plan(q, keys, values), dense_attention(q, dense), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("part", [None, 1])
def test_extreme_scores(part):
    """Scores of +-1e4: exp overflows in any precision unless the largest is taken off first."""
    q, keys, values, tables, dense = paged_case([11, 6], 4)
    keys = torch.where(keys.isnan(), keys, keys.sign() * 1e4 / 8**0.5 * 2)
    dense = [(k.sign() * 1e4 / 8**0.5 * 2, v) for k, v in dense]
    got = in_place(q, keys, values, tables, part)
    assert got.isfinite().all()
    torch.testing.assert_close(got, dense_attention(q, dense), atol=1e-4, rtol=1e-4)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.integers(0, 100))
@settings(deadline=None)
def test_write_puts_each_token_in_its_slot(batch, new, size, seed):
    generator = torch.Generator().manual_seed(seed)
    slots = torch.randperm(8 * size, generator=generator)[: batch * new]
    if len(slots) < batch * new:
        return
    keys, values = torch.zeros(8, 2, 3, size), torch.zeros(8, 2, size, 3)
    k, v = torch.randn(2, batch, 2, new, 3, generator=generator)
    write(keys, values, slots // size, slots % size, k, v)
    for i, slot in enumerate(slots.tolist()):
        row, token = divmod(i, new)
        assert torch.equal(keys[slot // size, :, :, slot % size], k[row, :, token])
        assert torch.equal(values[slot // size, :, slot % size], v[row, :, token])
    assert keys.count_nonzero() == values.count_nonzero() == batch * new * 6


@pytest.mark.parametrize(
    "table, says",
    [
        (BlockTable(4, [0, 9], 8), "blocks [9] of a pool that has 0 to 4"),
        (BlockTable(4, [0, -1], 8), "blocks [-1]"),
        (BlockTable(4, [0], 8), "take 2 blocks"),
        (BlockTable(4, [0, 0], 8), "names a block twice"),
    ],
)
def test_a_table_that_does_not_fit(table, says):
    with pytest.raises(TableError) as error:
        InPlaceAttention([BlockTable(4, [1], 4), table], 1, 5)
    assert says in str(error.value)
    with pytest.raises(TableError) as error:
        gather(torch.zeros(5, 2, 3, 4), torch.zeros(5, 2, 4, 3), table)
    assert says in str(error.value)


def test_more_new_tokens_than_the_table_holds():
    with pytest.raises(CacheError, match="row 1 holds 2 tokens; 3 new"):
        InPlaceAttention([BlockTable(4, [1], 4), BlockTable(4, [0], 2)], 3, 5)


@pytest.mark.gpu
@pytest.mark.parametrize("new", [1, 3])
@pytest.mark.parametrize("part", [None, 1, 2])
def test_on_a_gpu(new, part):
    q, keys, values, tables, dense = paged_case([33, 5, 16], 4, new)
    got = in_place(q.cuda(), keys.cuda(), values.cuda(), tables, part)
    torch.testing.assert_close(got.cpu(), dense_attention(q, dense), atol=1e-4, rtol=1e-4)


# ---- merging -------------------------------------------------------------------------------------------


def part_of(scores, values):
    m, total, p = exponentials(scores)
    return Partial(m, total, p @ values)


def empty(values):
    return part_of(torch.full((0,), -torch.inf).new_full((1,), -torch.inf), torch.zeros(1, values.shape[-1]))


score = st.floats(-1e4, 1e4, width=32) | st.sampled_from([-1e4, 1e4, 0.0, -math.inf])


@settings(max_examples=100, deadline=None)
@given(st.lists(score, min_size=1, max_size=12), st.data())
def test_merging_in_any_order_and_grouping_is_one_softmax(scores, data):
    scores = torch.tensor(scores, dtype=torch.float64)
    values = torch.randn(len(scores), 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    cuts = sorted(data.draw(st.lists(st.integers(1, len(scores)), max_size=3)))
    bounds = list(zip([0, *cuts], [*cuts, len(scores)], strict=True))
    parts = [part_of(scores[a:b], values[a:b]) for a, b in bounds if a < b]
    parts = data.draw(st.permutations(parts))
    left = parts[0]
    for part in parts[1:]:
        left = merge(left, part)
    right = parts[-1]
    for part in parts[-2::-1]:
        right = merge(part, right)
    want = torch.zeros(3, dtype=torch.float64)
    if scores.max() > -math.inf:
        want = torch.softmax(scores, 0) @ values
    for got in (left, right):
        torch.testing.assert_close(finish(got), want, atol=1e-12, rtol=1e-12)


@given(score, st.integers(0, 50))
@settings(deadline=None)
def test_an_empty_part_changes_nothing(value, seed):
    values = torch.randn(4, 2, generator=torch.Generator().manual_seed(seed))
    part = part_of(torch.full((4,), value), values)
    for merged in (merge(part, empty(values)), merge(empty(values), part)):
        for got, want in zip(merged, part, strict=True):
            assert torch.equal(got, want)
    nothing = merge(empty(values), empty(values))
    assert torch.equal(finish(nothing), torch.zeros(2)) and nothing.m == -math.inf


def test_a_far_larger_part_wins():
    low, high = (
        part_of(torch.tensor([-1e4]), torch.ones(1, 2)),
        part_of(torch.tensor([1e4]), torch.zeros(1, 2)),
    )
    assert torch.equal(finish(merge(low, high)), torch.zeros(2))


def test_merging_weighs_parts_by_their_sums():
    """The mistake of averaging outputs: three keys of one part weigh as much as one of the other."""
    three = part_of(torch.zeros(3), torch.ones(3, 1))
    one = part_of(torch.zeros(1), torch.zeros(1, 1))
    assert finish(merge(three, one)).item() == pytest.approx(0.75)
