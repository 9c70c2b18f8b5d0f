"""The pool, and any order of its operations against two plain lists that are searched."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import BlockError, BlockPool, DoubleFree, OutOfBlocks


def state(pool):
    return list(pool.ref_counts), list(pool._empty), list(pool._cached)


def test_blocks_go_out_in_order_and_those_without_content_come_back_first():
    pool = BlockPool(6)
    assert pool.allocate(3) == [0, 1, 2]
    pool.free([0, 1, 2])
    assert pool.free_list == [2, 1, 0, 3, 4, 5], "the last one first"
    assert pool.allocate() == [2] and pool.allocate(2) == [1, 0]


def test_cached_blocks_are_reused_last_and_the_others_first():
    pool = BlockPool(6)
    pool.allocate(4)
    pool.free([0, 1, 2, 3], cached={0, 1})
    assert pool.free_list == [3, 2, 4, 5, 1, 0]
    assert pool.allocate(5) == [3, 2, 4, 5, 1]


def test_a_block_is_free_when_its_last_reference_goes():
    pool = BlockPool(3)
    (block,) = pool.allocate()
    pool.share([block])
    pool.free([block])
    assert block not in pool.free_list and pool.num_used == 1
    pool.free([block])
    assert block in pool.free_list and pool.num_used == 0


def test_sharing_a_free_block_takes_it_out_of_the_middle():
    pool = BlockPool(5)
    pool.free(pool.allocate(5), cached=range(5))
    pool.share([2])
    assert pool.free_list == [4, 3, 1, 0]
    assert pool.ref_counts[2] == 1
    pool.share([1, 1])
    assert pool.ref_counts[1] == 2 and pool.num_used == 2


def test_a_free_block_that_holds_nothing_cannot_be_shared():
    pool = BlockPool(5)
    pool.free(pool.allocate(2), cached={0})
    for blocks in ([3], [0, 1], [0, 0, 4]):
        before = state(pool)
        with pytest.raises(BlockError, match=f"block {blocks[-1]}: it is free and holds nothing"):
            pool.share(blocks)
        assert state(pool) == before


def test_the_null_block_is_never_handed_out():
    pool = BlockPool(4, null_block=0)
    assert pool.num_usable == 3
    assert pool.allocate(3) == [1, 2, 3]
    with pytest.raises(OutOfBlocks):
        pool.allocate()
    for operation in (pool.share, pool.free):
        with pytest.raises(BlockError, match="block 0"):
            operation([0])


def test_out_of_blocks_says_how_many_and_takes_none():
    pool = BlockPool(4)
    pool.allocate(3)
    before = state(pool)
    with pytest.raises(OutOfBlocks) as caught:
        pool.allocate(2)
    assert (caught.value.needed, caught.value.free) == (2, 1)
    assert state(pool) == before


@pytest.mark.parametrize("size", [0, -1, True, 2.0, "4", None])
def test_a_pool_has_a_whole_number_of_blocks_and_one_at_least(size):
    with pytest.raises(BlockError, match="number of blocks"):
        BlockPool(size)


@pytest.mark.parametrize("null_block", [-1, 4, 1.0, "0", True])
def test_the_null_block_lies_in_the_pool(null_block):
    with pytest.raises(BlockError, match="null block"):
        BlockPool(4, null_block)


@pytest.mark.parametrize("count", [0, -1, 1.5, 1.0, True, "2", None, [1]])
def test_a_count_is_a_whole_number_above_zero(count):
    pool = BlockPool(4)
    with pytest.raises(BlockError, match="number of blocks to allocate"):
        pool.allocate(count)
    assert state(pool) == state(BlockPool(4))


def test_numpy_integers_will_do():
    pool = BlockPool(np.int64(4))
    assert pool.allocate(np.int32(2)) == [0, 1]
    pool.free(np.array([1]))
    pool.free([np.int64(0)])
    assert pool.num_free == 4
    assert [type(block) for block in pool.allocate(4)] == [int] * 4


@pytest.mark.parametrize("blocks", [[2], [0, 2], [0, 0], [-1], [0, -4], [9], [0, 9], [0, 1, 1]])
def test_a_double_or_wrong_free_names_the_block_and_frees_nothing(blocks):
    pool = BlockPool(4)
    pool.allocate(2)
    before = state(pool)
    with pytest.raises(DoubleFree, match=f"block {blocks[-1]}:"):
        pool.free(blocks)
    assert state(pool) == before


def test_a_wrong_free_gives_back_no_reference_of_a_shared_block():
    pool = BlockPool(4)
    pool.allocate(2)
    pool.share([0])
    before = state(pool)
    with pytest.raises(DoubleFree):
        pool.free([0, 1, 0, 0])
    assert state(pool) == before
    pool.free([0, 1, 0])
    assert pool.num_used == 0


@pytest.mark.parametrize("blocks", [5, None, ["a"], [0.5], "0", [[0]]])
def test_what_is_no_block_id_is_refused(blocks):
    pool = BlockPool(4)
    pool.allocate(2)
    before = state(pool)
    for operation in (pool.share, pool.free):
        with pytest.raises(BlockError, match="block ids must be whole numbers"):
            operation(blocks)
    assert state(pool) == before


@pytest.mark.parametrize("blocks", [[-1], [0, 4], [0, 1, 99]])
def test_sharing_outside_the_pool_shares_nothing(blocks):
    pool = BlockPool(4)
    pool.allocate(2)
    before = state(pool)
    with pytest.raises(BlockError, match=f"block {blocks[-1]}:"):
        pool.share(blocks)
    assert state(pool) == before


BLOCKS = st.lists(st.integers(-2, 7), max_size=4)
operation = st.one_of(
    st.tuples(st.just("allocate"), st.integers(-1, 7)),
    st.tuples(st.just("share"), BLOCKS),
    st.tuples(st.just("free"), BLOCKS, st.none() | st.frozensets(st.integers(0, 5))),
    st.tuples(st.just("free all"), st.frozensets(st.integers(0, 5))),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(operation, max_size=30), st.sampled_from([None, 0, 3]))
def test_any_order_of_operations_is_that_of_plain_lists(operations, null_block):
    pool = BlockPool(6, null_block)
    empty, kept = [block for block in range(6) if block != null_block], []  # the next one to go out first
    references = Counter()
    for name, *args in operations:
        before = state(pool)
        if name == "allocate":
            (count,) = args
            if not 0 < count <= len(empty) + len(kept):
                with pytest.raises(BlockError if count < 1 else OutOfBlocks):
                    pool.allocate(count)
                assert state(pool) == before
                continue
            order = empty + kept
            assert pool.allocate(count) == order[:count]
            empty, kept = empty[count:], kept[max(0, count - len(empty)) :]
            references.update(order[:count])
        elif name == "share":
            (blocks,) = args
            if not all(references[block] or block in kept for block in blocks):
                with pytest.raises(BlockError, match="cannot share block"):
                    pool.share(blocks)
                assert state(pool) == before
                continue
            pool.share(blocks)
            references.update(blocks)
            kept = [block for block in kept if block not in blocks]
        else:
            blocks, cached = args if name == "free" else (sorted(references.elements()), *args)
            left = references.copy()
            left.subtract(blocks)
            if min(left.values(), default=0) < 0:
                with pytest.raises(DoubleFree, match="cannot free block"):
                    pool.free(blocks, cached or ())
                assert state(pool) == before
                continue
            pool.free(blocks, cached or ())
            gone = {block: place for place, block in enumerate(blocks) if left[block] == 0}
            last_first = sorted(gone, key=gone.get, reverse=True)
            empty = [block for block in last_first if block not in (cached or ())] + empty
            kept += [block for block in last_first if block in (cached or ())]
            references = left
        assert pool.free_list == empty + kept
        assert pool.num_free == len(empty + kept) and pool.num_free + pool.num_used == pool.num_usable
        assert pool.ref_counts == [references[block] for block in range(6)]


class Awkward:
    """A container that fails at its second question."""

    asked = 0

    def __contains__(self, block):
        self.asked += 1
        if self.asked > 1:
            raise KeyError(block)
        return False


def test_a_free_that_fails_midway_gives_nothing_back():
    """The ids come from a generator that raises, or whoever is asked for cached content does."""
    pool = BlockPool(8)
    blocks = pool.allocate(4)

    def broken():
        yield from blocks[:2]
        raise KeyError("midway")

    for ids, cached in ((broken(), ()), (blocks, Awkward())):
        with pytest.raises(KeyError):
            pool.free(ids, cached)
        assert pool.ref_counts == [1] * 4 + [0] * 4 and pool.num_free == 4
    pool.free(iter(blocks))
    assert pool.num_free == 8 and sorted(pool.free_list) == list(range(8))
