import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import BlockError, BlockTable, TableError, blocks_for, last_block_tokens, unused_slots


@pytest.mark.parametrize(
    ("num_tokens", "blocks", "in_last"), [(0, 0, 0), (1, 1, 1), (3, 1, 3), (4, 1, 4), (5, 2, 1), (8, 2, 4)]
)
def test_blocks_at_the_boundaries(num_tokens, blocks, in_last):
    assert blocks_for(num_tokens, 4) == blocks
    assert last_block_tokens(num_tokens, 4) == in_last


def test_each_sequence_wastes_less_than_a_block():
    assert unused_slots([1, 4, 5, 8], 4) == 3 + 0 + 3 + 0
    assert unused_slots([17], 16) == 15
    assert unused_slots([], 16) == 0
    assert unused_slots([5, 9], 1) == 0


def test_the_table_and_not_the_position_says_which_block():
    table = BlockTable(4, [7, 2, 5], 10)
    assert [table.locate(position) for position in (0, 3, 4, 9)] == [(7, 0), (7, 3), (2, 0), (5, 1)]
    assert table.slot(4) == 2 * 4
    assert table.slot_mapping() == [28, 29, 30, 31, 8, 9, 10, 11, 20, 21]
    assert table.slot_mapping(3, 5) == [31, 8]
    assert table.slot_mapping(10) == []


@settings(deadline=None)
@given(st.permutations(range(6)), st.integers(1, 5), st.data())
def test_slots_of_a_table_are_distinct_and_in_its_blocks(blocks, block_size, data):
    num_tokens = data.draw(st.integers(0, 6 * block_size))
    table = BlockTable(block_size, list(blocks)[: blocks_for(num_tokens, block_size)], num_tokens)
    table.check(6)
    slots = table.slot_mapping()
    assert len(set(slots)) == num_tokens
    assert [(slot // block_size, slot % block_size) for slot in slots] == [
        table.locate(position) for position in range(num_tokens)
    ]


@pytest.mark.parametrize("position", [-1, 10, 12])
def test_a_position_past_the_tokens_is_refused(position):
    table = BlockTable(4, [7, 2, 5], 10)
    for look_up in (table.locate, table.slot):
        with pytest.raises(TableError, match=f"position {position} "):
            look_up(position)
    with pytest.raises(TableError):
        table.slot_mapping(position, position + 1)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (BlockTable(4, [0, 8], 5), r"\[8\]"),
        (BlockTable(4, [-1, 2], 5), r"\[-1\]"),
        (BlockTable(4, [1, 2], 4), "take 1 blocks; the table has 2"),
        (BlockTable(4, [1, 2], 9), "take 3 blocks; the table has 2"),
        (BlockTable(4, [1], 0), "take 0 blocks"),
        (BlockTable(4, [2, 2], 8), "twice"),
        (BlockTable(4, [], -1), "number of tokens"),
        (BlockTable(0, [], 0), "block size"),
        (BlockTable(4, ["a"], 1), "whole numbers"),
        (BlockTable(4, None, 1), "whole numbers"),
        (BlockTable("4", [1], 1), "block size"),
    ],
)
def test_a_table_that_points_outside_or_disagrees_with_its_length_is_refused(table, says):
    with pytest.raises(BlockError, match=says):
        table.check(8)


@settings(deadline=None)
@given(st.permutations(range(8)), st.integers(1, 4), st.integers(1, 16), st.data())
def test_any_damage_to_a_table_is_named_and_nothing_changes(blocks, block_size, num_tokens, data):
    num_tokens = min(num_tokens, 8 * block_size)
    table = BlockTable(block_size, list(blocks)[: blocks_for(num_tokens, block_size)], num_tokens)
    table.check(8)
    place = data.draw(st.integers(0, len(table.block_ids) - 1))
    outside = data.draw(st.integers(8, 99) | st.integers(-99, -1))
    damages = {
        "outside": (lambda ids: ids.__setitem__(place, outside), f"blocks [{outside}]"),
        "twice": (lambda ids: ids.append(ids[place]), "names a block twice"),
        "short": (lambda ids: ids.pop(place), f"the table has {len(table.block_ids) - 1}"),
    }
    damage, says = damages[data.draw(st.sampled_from(sorted(damages)))]
    damage(table.block_ids)
    before = copy.deepcopy(table)
    with pytest.raises(TableError) as caught:
        table.check(8)
    assert says in str(caught.value) and table == before


def test_a_table_too_short_for_its_length_has_no_slots_past_its_end():
    table = BlockTable(4, [7, 2], 10)
    assert table.slot_mapping(0, 8) == [*range(28, 32), *range(8, 12)]
    for look_up in (
        lambda: table.locate(8),
        lambda: table.slot(9),
        lambda: table.slot_mapping(),
        lambda: table.slot_mapping(7, 9),
    ):
        with pytest.raises(TableError, match=r"need block number 2 of the table, which has 2: \[7, 2\]"):
            look_up()


@pytest.mark.parametrize("num_blocks", [0, -1, 1.5, "8", None])
def test_a_pool_to_check_against_has_a_size(num_blocks):
    with pytest.raises(BlockError, match="number of blocks"):
        BlockTable(4, [0], 4).check(num_blocks)


def test_a_good_table_passes():
    BlockTable(4, [7, 0], 8).check(8)
    BlockTable(4, [], 0).check(8)


@pytest.mark.parametrize("bad", ["a", 1.0, None, []])
def test_positions_that_are_no_whole_numbers(bad):
    table = BlockTable(4, [2, 1], 6)
    calls = [lambda: table.locate(bad), lambda: table.slot(bad), lambda: table.slot_mapping(bad)]
    if bad is not None:  # None stands for the end
        calls.append(lambda: table.slot_mapping(0, bad))
    for call in calls:
        with pytest.raises(TableError, match="whole number"):
            call()


@pytest.mark.parametrize("args", [(3, 0), (3, -1), (-1, 4), ("3", 4), (3, None), (3.0, 4)])
def test_counts_that_have_no_blocks(args):
    for count in (blocks_for, last_block_tokens):
        with pytest.raises(BlockError, match="must be a whole number"):
            count(*args)
    with pytest.raises(BlockError):
        unused_slots([args[0]], args[1])


def test_unused_slots_of_what_is_no_list():
    with pytest.raises(BlockError, match="lengths"):
        unused_slots(None, 4)
