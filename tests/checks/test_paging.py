"""The pool that tests lend, and places counted one by one, against the course's own block tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.blocks import BlockManager, BlockTable, blocks_for, last_block_tokens
from kvcourse.checks.paging import Ledger, LentPool, filled, locate_mistakes, places, slot_mistakes


@given(tokens=st.integers(0, 60), block_size=st.integers(1, 9))
def test_counting_agrees_with_the_block_table(tokens, block_size):
    blocks = filled(tokens, block_size)
    assert (len(blocks), sum(blocks)) == (blocks_for(tokens, block_size), tokens)
    assert (blocks[-1] if blocks else 0) == last_block_tokens(tokens, block_size)
    table = BlockTable(block_size, list(range(len(blocks), 0, -1)), tokens)
    assert places(table.block_ids, block_size)[:tokens] == [table.locate(p) for p in range(tokens)]


def test_every_known_mistake_gives_something_else():
    table, size = [7, 2, 9, 4], 4
    wrong = locate_mistakes(table, size, 7)
    assert places(table, size)[7] == (2, 3) and (2, 3) not in wrong.values()
    assert len(set(wrong.values())) == len(wrong)
    slots = [block * size + offset for block, offset in places(table, size)]
    runs = slot_mistakes(table, size, 3, 9)
    assert slots[3:9] not in runs.values() and all(len(hint) < 200 for hint in runs)


def test_lent_pool_hands_out_in_order_and_takes_back_once():
    pool = LentPool([5, 3, 8])
    assert (pool.next, pool.allocate(), pool.allocate(), pool.held, pool.num_free()) == (5, 5, 3, [5, 3], 1)
    pool.free(5)
    assert (pool.next, pool.held, pool.num_free()) == (5, [3], 2)
    for block in (5, 8, 9, -1, "3", None):
        with pytest.raises(ValueError, match="did not give it"):
            pool.free(block)
    assert (pool.allocate(), pool.allocate()) == (5, 8)
    with pytest.raises(MemoryError, match="no block of this pool is free"):
        pool.allocate()
    assert pool.held == [3, 5, 8]


steps = st.lists(
    st.tuples(st.sampled_from(["fork", "append", "append", "append", "free"]), st.integers(0, 99)),
    max_size=60,
)


@given(block_size=st.integers(1, 5), tokens=st.integers(1, 12), steps=steps)
def test_ledger_agrees_with_the_block_manager(block_size, tokens, steps):
    manager, ledger = BlockManager(400, block_size, prefix_caching=False), Ledger(block_size)
    manager.start("0", range(tokens))
    ledger.start("0", tokens, manager.table("0").block_ids)
    for number, (kind, pick) in enumerate(steps):
        if not ledger.tables:
            break
        name = sorted(ledger.tables)[pick % len(ledger.tables)]
        if kind == "fork":
            manager.fork(name, f"s{number}")
            ledger.fork(name, f"s{number}")
        elif kind == "free":
            manager.free(name)
            ledger.free(name)
        else:
            copies = [[copy.source, copy.target] for copy in manager.append(name, 1)]
            assert ledger.append(name, manager.table(name).block_ids[-1]) == (copies[0] if copies else [])
        assert len(ledger.blocks()) == manager.pool.num_used
        assert ledger.tables == {name: manager.table(name).block_ids for name in manager.sequences}
