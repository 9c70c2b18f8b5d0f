import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import BlockError, BlockPool, DoubleFree, OutOfBlocks


def state(pool):
    return list(pool.ref_counts), list(pool.free_list), pool.num_free


def test_blocks_go_out_in_order_and_those_without_content_come_back_first():
    pool = BlockPool(6)
    assert pool.allocate(3) == [0, 1, 2]
    pool.free([2, 1, 0])
    assert list(pool.free_list) == [2, 1, 0, 3, 4, 5]


def test_cached_blocks_are_reused_last_and_the_others_first():
    pool = BlockPool(6)
    pool.allocate(4)
    pool.free([3, 2, 1, 0], cached={0, 1})
    assert list(pool.free_list) == [3, 2, 4, 5, 1, 0]


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
    pool.share([2])
    assert list(pool.free_list) == [0, 1, 3, 4]
    assert pool.ref_counts[2] == 1


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


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", None, [1]])
def test_a_count_is_a_whole_number_above_zero(count):
    pool = BlockPool(4)
    with pytest.raises(BlockError, match="number of blocks to allocate"):
        pool.allocate(count)
    assert state(pool) == state(BlockPool(4))


def test_numpy_integers_will_do():
    pool = BlockPool(np.int64(4))
    assert pool.allocate(np.int32(2)) == [0, 1]
    pool.free(np.array([1]))
    assert pool.num_free == 3


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
    before = state(pool)
    with pytest.raises(BlockError, match=f"block {blocks[-1]}:"):
        pool.share(blocks)
    assert state(pool) == before


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["allocate", "share", "free"]), st.integers(0, 6))))
def test_references_and_free_blocks_always_add_up(operations):
    pool = BlockPool(6, null_block=3)
    references = dict.fromkeys((0, 1, 2, 4, 5), 0)
    for name, number in operations:
        before = state(pool)
        try:
            if name == "allocate":
                for block in pool.allocate(number):
                    assert references[block] == 0, f"block {block} was handed out while held"
                    references[block] = 1
            elif name == "share":
                pool.share([number])
                references[number] += 1
            else:
                pool.free([number])
                references[number] -= 1
        except BlockError:
            assert state(pool) == before
        assert all(count >= 0 for count in references.values())
        assert sorted(pool.free_list) == [block for block, count in references.items() if count == 0]
        assert pool.num_free + pool.num_used == 5
        assert {block: pool.ref_counts[block] for block in references} == references


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
