"""One story a test: hits, copy-on-write, crops, refusals. All together: test_block_manager_machine.py."""

import copy

import numpy as np
import pytest

from kvcourse.blocks import (
    BlockCopy,
    BlockError,
    BlockManager,
    OutOfBlocks,
    SequenceError,
    SequenceTooLong,
    check,
)


def state(manager):
    return copy.deepcopy(
        (
            manager.pool.ref_counts,
            list(manager.pool.free_list),
            vars(manager.index),
            {seq_id: (manager.tokens(seq_id), manager.table(seq_id)) for seq_id in manager.sequences},
            manager.counters,
        )
    )


def refuses(manager, error, operation, *args):
    """`operation` raises `error`, and nothing has changed."""
    before = state(manager)
    with pytest.raises(error) as caught:
        operation(*args)
    assert state(manager) == before
    check(manager)
    return str(caught.value)


def prompt(num_tokens, first=0):
    return list(range(first, first + num_tokens))


# ---- growing and ending


@pytest.mark.parametrize(("num_tokens", "blocks"), [(1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_a_prompt_takes_whole_blocks(num_tokens, blocks):
    manager = BlockManager(8, 4)
    assert manager.start("a", prompt(num_tokens)) == 0
    assert manager.table("a").block_ids == list(range(blocks))
    assert manager.table("a").num_tokens == num_tokens
    assert manager.pool.num_used == blocks


def test_a_sequence_grows_by_a_block_when_its_last_one_is_full():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(3))
    tables = []
    for token in range(6):
        assert manager.append("a", token) == []
        tables.append(len(manager.table("a").block_ids))
    assert tables == [1, 2, 2, 2, 2, 3]
    assert manager.tokens("a") == [*prompt(3), *range(6)]


def test_several_tokens_at_once_take_what_one_by_one_takes():
    one, several = BlockManager(8, 4), BlockManager(8, 4)
    for manager in (one, several):
        manager.start("a", prompt(3))
    for token in range(9):
        one.append("a", token)
    several.append("a", range(9))
    assert state(one) == state(several)


def test_a_full_pool_holds_exactly_its_slots():
    manager = BlockManager(3, 4)
    manager.start("a", prompt(12))
    assert manager.pool.num_free == 0 and manager.filled_slots() == 12
    manager.free("a")
    assert manager.pool.num_free == 3 and manager.filled_slots() == 0


def test_block_size_one_works():
    manager = BlockManager(4, 1)
    manager.start("a", prompt(3))
    manager.append("a", 9)
    manager.free("a")
    assert manager.start("b", prompt(4)) == 3
    check(manager)


# ---- prefix hits


def test_a_freed_prefix_is_found_again_and_its_last_token_still_runs():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(8))
    blocks = manager.table("a").block_ids
    manager.free("a")
    assert manager.hit_tokens(prompt(8)) == 4, "a prompt that fills its blocks loses a whole one"
    assert manager.start("b", prompt(9)) == 8
    assert manager.table("b").block_ids[:2] == blocks
    assert (manager.counters.prompt_tokens, manager.counters.hit_tokens) == (17, 8)


def test_a_running_sequence_shares_its_full_blocks_only():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(7))
    assert manager.start("b", prompt(12)) == 4
    a, b = manager.table("a").block_ids, manager.table("b").block_ids
    assert a[0] == b[0] and a[1] != b[1]
    assert manager.pool.ref_counts[a[0]] == 2
    assert manager.filled_slots() == 4 + 3 + 8


def test_generated_tokens_can_be_hit_too():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(3))
    manager.append("a", 3)
    assert manager.hit_tokens(prompt(5)) == 4


def test_what_matches_after_a_miss_does_not_count():
    manager = BlockManager(12, 4)
    manager.start("a", prompt(12))
    assert manager.hit_tokens([*prompt(4), 99, *prompt(8, 5)]) == 4
    assert manager.hit_tokens([99, *prompt(12, 1)]) == 0


def test_other_extras_and_images_never_hit():
    manager = BlockManager(20, 4)
    manager.start("a", prompt(9), extras=("adapter-1", "salt"))
    assert manager.hit_tokens(prompt(9), extras=("adapter-1", "salt")) == 8
    for extras in ((), ("adapter-2", "salt"), ("adapter-1", "other"), ("adapter-1salt",), ("adapter-1",)):
        assert manager.hit_tokens(prompt(9), extras=extras) == 0
    manager.start("b", prompt(9), images=[(5, 7, "cat")])
    assert manager.hit_tokens(prompt(9), images=[(5, 7, "cat")]) == 8
    assert manager.hit_tokens(prompt(9), images=[(5, 7, "dog")]) == 4
    assert manager.hit_tokens(prompt(9)) == 4


def test_a_fork_keeps_its_extras():
    manager = BlockManager(20, 4)
    manager.start("a", prompt(3), extras="adapter-1")
    manager.fork("a", "b")
    manager.append("b", [3, 4])
    assert manager.hit_tokens(prompt(5)) == 0
    assert manager.hit_tokens(prompt(5), extras="adapter-1") == 4


def test_a_reused_block_is_not_found_under_its_old_content():
    manager = BlockManager(3, 4)
    manager.start("a", prompt(9))
    manager.free("a")
    manager.start("b", prompt(9, first=50))
    manager.free("b")
    assert manager.hit_tokens(prompt(9)) == 0
    assert manager.hit_tokens(prompt(9, first=50)) == 8
    assert manager.counters.blocks_evicted == 2


def test_the_longest_unused_goes_first_and_tails_before_prefixes():
    manager = BlockManager(6, 4)
    manager.start("old", prompt(8))
    manager.start("new", prompt(8, first=50))
    manager.free("old")
    manager.free("new")
    # blocks 4 and 5 hold nothing; of the others old's tail goes first, then its prefix
    assert list(manager.pool.free_list) == [4, 5, 1, 0, 3, 2]
    manager.start("c", prompt(12, first=90))
    assert manager.hit_tokens(prompt(8)) == 4
    assert manager.hit_tokens(prompt(9, first=50)) == 8


def test_a_hit_is_not_evicted_by_the_very_start_that_found_it():
    manager = BlockManager(4, 4)
    manager.start("a", prompt(8))
    manager.start("z", prompt(8, first=50))
    manager.free("a")
    manager.free("z")
    assert list(manager.pool.free_list) == [1, 0, 3, 2], "a's blocks would go first"
    assert manager.start("c", [*prompt(8), 99]) == 8
    assert manager.table("c").block_ids == [0, 1, 3]


def test_free_blocks_that_a_start_hits_are_not_counted_as_room():
    manager = BlockManager(4, 4)
    manager.start("a", prompt(8))
    manager.free("a")
    manager.start("b", prompt(4, first=50))
    refuses(manager, OutOfBlocks, manager.start, "c", [*prompt(8), *prompt(5, first=70)])
    assert manager.start("c", [*prompt(8), 70]) == 8


def test_equal_blocks_filled_side_by_side_are_kept_apart():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(4))
    manager.start("b", prompt(4))  # its only full block holds its last token: no hit
    assert manager.table("a").block_ids != manager.table("b").block_ids
    manager.free("a")
    assert manager.start("c", prompt(5)) == 4
    check(manager)


def test_without_prefix_caching_nothing_is_found_and_the_last_freed_is_reused_first():
    manager = BlockManager(4, 4, prefix_caching=False)
    manager.start("a", prompt(8))
    manager.free("a")
    assert list(manager.pool.free_list) == [1, 0, 2, 3]
    assert manager.start("b", prompt(9)) == 0
    assert len(manager.index) == 0
    check(manager)


def test_a_cleared_cache_finds_nothing_and_running_sequences_go_on():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    manager.clear_cache()
    assert manager.hit_tokens(prompt(6)) == 0
    manager.append("a", [6, 7, 8])
    manager.free("a")
    check(manager)


# ---- fork and copy-on-write


def test_a_fork_allocates_and_copies_nothing():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    manager.fork("a", "b")
    assert manager.table("b") == manager.table("a")
    assert manager.pool.num_used == 2 and manager.counters.blocks_copied == 0


def test_the_first_write_to_a_shared_part_filled_block_copies_it_and_the_second_does_not():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    manager.fork("a", "b")
    assert manager.append("b", 99) == [BlockCopy(source=1, target=2, num_tokens=2)]
    assert manager.append("b", 99) == []
    assert manager.append("a", 77) == [], "the block is a's alone again"
    assert manager.table("a").block_ids == [0, 1]
    assert manager.table("b").block_ids == [0, 2]
    assert (manager.counters.blocks_copied, manager.counters.tokens_copied) == (1, 2)


def test_three_sharers_make_two_copies():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(5))
    manager.fork("a", "b")
    manager.fork("b", "c")
    copies = [copy for seq_id in "abc" for copy in manager.append(seq_id, 9)]
    assert [copy.source for copy in copies] == [1, 1]


def test_a_shared_full_block_is_never_copied():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(8))
    manager.fork("a", "b")
    assert manager.append("a", 1) == [] and manager.append("b", 2) == []
    assert manager.table("a").block_ids[:2] == manager.table("b").block_ids[:2]
    assert manager.counters.blocks_copied == 0


def test_a_parent_may_end_before_its_fork():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    manager.fork("a", "b")
    manager.free("a")
    assert manager.pool.num_used == 2
    assert manager.append("b", 9) == []
    manager.free("b")
    assert manager.pool.num_used == 0


def test_a_copy_needs_a_block_even_where_the_sequence_does_not_grow():
    manager = BlockManager(2, 4)
    manager.start("a", prompt(6))
    manager.fork("a", "b")
    refuses(manager, OutOfBlocks, manager.append, "b", 9)
    manager.free("a")
    assert manager.append("b", 9) == []


def test_a_copy_and_growth_in_one_append_are_refused_together():
    manager = BlockManager(3, 4)
    manager.start("a", prompt(6))
    manager.fork("a", "b")
    assert "needs 2 free blocks, got 1" in refuses(manager, OutOfBlocks, manager.append, "b", [7, 8, 9])
    assert manager.append("b", [7, 8]) == [BlockCopy(1, 2, 2)]


# ---- crop


def test_a_crop_gives_back_whole_blocks():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(10))
    for kept, blocks in ((10, 3), (9, 3), (8, 2), (5, 2), (4, 1), (0, 0)):
        manager.crop("a", kept)
        assert len(manager.table("a").block_ids) == blocks
        assert manager.tokens("a") == prompt(kept)
        check(manager)
    manager.append("a", 5)
    assert manager.table("a").num_tokens == 1


def test_a_cropped_full_block_is_found_until_it_is_written_to():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(4))
    manager.crop("a", 2)
    assert manager.hit_tokens(prompt(5)) == 4
    manager.append("a", 99)
    assert manager.hit_tokens(prompt(5)) == 0
    manager.append("a", 98)
    assert manager.hit_tokens([0, 1, 99, 98, 5]) == 4


def test_a_cropped_block_that_another_holds_is_copied_before_the_write():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(8))
    manager.fork("a", "b")
    manager.crop("b", 6)
    assert manager.append("b", 99) == [BlockCopy(1, 2, 2)]
    assert manager.table("a").block_ids == [0, 1]
    assert manager.hit_tokens(prompt(9)) == 8
    check(manager)


# ---- refusals


def test_ids_must_be_known_and_new_ones_must_be_new():
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    manager.start("gone", prompt(6))
    manager.free("gone")
    assert "'a'" in refuses(manager, SequenceError, manager.start, "a", prompt(2))
    assert "'a'" in refuses(manager, SequenceError, manager.fork, "a", "a")
    for seq_id in ("gone", "never", 7, None):
        for operation, *args in (
            (manager.append, 1),
            (manager.free,),
            (manager.crop, 1),
            (manager.fork, "new"),
            (manager.table,),
            (manager.tokens,),
        ):
            assert repr(seq_id) in refuses(manager, SequenceError, operation, seq_id, *args)
    refuses(manager, SequenceError, manager.start, ["a", "list"], prompt(2))


@pytest.mark.parametrize("tokens", [[], [1.5], "ab", [None], [2**63], 1.5, None])
def test_tokens_must_be_whole_numbers_and_one_at_least(tokens):
    for prefix_caching in (True, False):
        manager = BlockManager(8, 4, prefix_caching=prefix_caching)
        manager.start("a", prompt(6))
        refuses(manager, BlockError, manager.start, "b", tokens)
        assert "'a'" in refuses(manager, BlockError, manager.append, "a", tokens)


def test_extras_and_images_must_have_a_form():
    manager = BlockManager(8, 4)
    refuses(manager, BlockError, manager.start, "a", prompt(6), {"adapter": 1})
    refuses(manager, BlockError, manager.start, "a", prompt(6), (), [(3, 2, "cat")])


def test_out_of_blocks_names_the_sequence_and_the_numbers():
    manager = BlockManager(4, 4)
    manager.start("a", prompt(12))
    assert "'b' needs 2 free blocks, got 1" in refuses(
        manager, OutOfBlocks, manager.start, "b", prompt(5, 50)
    )
    manager.start("b", prompt(4, 50))
    assert "'a' needs 1 free blocks, got 0" in refuses(manager, OutOfBlocks, manager.append, "a", 1)


def test_a_sequence_longer_than_the_pool_is_told_so_at_once():
    manager = BlockManager(4, 4, null_block=0)
    assert "takes 4 blocks of 4 tokens; the pool has 3" in refuses(
        manager, SequenceTooLong, manager.start, "a", prompt(13)
    )
    manager.start("a", prompt(12))
    refuses(manager, SequenceTooLong, manager.append, "a", 1)
    refuses(manager, SequenceTooLong, manager.append, "a", range(100))


@pytest.mark.parametrize("kept", [-1, 7, 1.5, "1", None, True])
def test_a_crop_keeps_what_is_there(kept):
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    refuses(manager, BlockError, manager.crop, "a", kept)


@pytest.mark.parametrize(
    "sizes",
    [
        {"num_blocks": 0},
        {"num_blocks": -3},
        {"num_blocks": 4, "block_size": 0},
        {"num_blocks": 4, "block_size": -1},
        {"num_blocks": 4, "block_size": 1.5},
        {"num_blocks": 4, "watermark_blocks": -1},
        {"num_blocks": 4, "watermark_blocks": 5},
        {"num_blocks": 4, "null_block": 4},
    ],
)
def test_sizes_are_whole_and_fit_each_other(sizes):
    with pytest.raises(BlockError):
        BlockManager(**sizes)


def test_the_watermark_keeps_room_for_running_sequences_to_grow():
    manager = BlockManager(4, 4, watermark_blocks=1)
    manager.start("a", prompt(9))
    assert "with 1 kept spare" in refuses(manager, OutOfBlocks, manager.start, "b", prompt(2, 50))
    manager.append("a", range(4))  # growth may use the spare block
    assert manager.pool.num_free == 0


def test_the_watermark_does_not_keep_out_a_sequence_that_is_alone():
    manager = BlockManager(4, 4, watermark_blocks=4)
    manager.start("a", prompt(16))
    check(manager)


def test_a_table_handed_out_is_a_copy():
    manager = BlockManager(4, 4)
    manager.start("a", prompt(6))
    manager.table("a").block_ids.clear()
    manager.tokens("a").clear()
    check(manager)
    assert len(manager.table("a").block_ids) == 2


def test_numpy_tokens_are_the_same_tokens():
    manager = BlockManager(8, 4)
    manager.start("a", np.arange(6))
    assert manager.hit_tokens(prompt(6)) == 4
    manager.append("a", np.int64(6))
    manager.append("a", np.array([7, 8]))
    assert manager.tokens("a") == prompt(9)
    assert all(type(token) is int for token in manager.tokens("a"))


# ---- check() itself must be able to fail


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m._sequences["a"].block_ids.pop(),
        lambda m: m._sequences["a"].block_ids.__setitem__(1, 99),
        lambda m: m._sequences["a"].tokens.__setitem__(0, 99),
        lambda m: m.pool.ref_counts.__setitem__(0, 2),
        lambda m: m.pool.ref_counts.__setitem__(5, 1),
        lambda m: m.pool._empty.append(0),
        lambda m: m.pool._empty.remove(5),
        lambda m: m.index.insert(b"other", 0),
        lambda m: m.index._key_of.pop(0),
    ],
)
def test_check_sees_each_kind_of_damage(damage):
    manager = BlockManager(8, 4)
    manager.start("a", prompt(6))
    check(manager)
    damage(manager)
    with pytest.raises((AssertionError, BlockError)):
        check(manager)
