"""The buddy allocator against a map of the pool in which every slot is looked at.

Where regions merge whenever they can, the free regions are decided by which slots are taken: they are the
largest aligned power-of-two pieces that are free and inside the pool. The oracle finds those by trying all.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.reservation import (
    BuddyAllocator,
    OutOfSlots,
    Region,
    RequestError,
    RequestTooLong,
    ReservationError,
    next_power_of_two,
)


def free_pieces(taken):
    """Largest free aligned power-of-two pieces of a pool, given as one flag a slot."""
    pieces = []
    start = 0
    while start < len(taken):
        size = 1
        while size <= len(taken):
            size *= 2
        while size and not (
            start % size == 0 and start + size <= len(taken) and not any(taken[start : start + size])
        ):
            size //= 2
        if size:
            pieces.append(Region(start, size))
        start += size or 1
    return pieces


@settings(deadline=None)
@given(st.integers(1, 70), st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=40))
def test_it_does_what_a_search_of_the_whole_pool_does(num_slots, operations):
    buddy, taken, held = BuddyAllocator(num_slots), [False] * num_slots, []
    for is_allocation, number in operations:
        pieces = free_pieces(taken)
        assert buddy.holes() == pieces
        if is_allocation:
            size = next_power_of_two(number)
            enough = [piece for piece in pieces if piece.size >= size]
            if not enough:
                with pytest.raises((OutOfSlots, RequestTooLong)):
                    buddy.allocate(number)
                assert buddy.holes() == pieces
                continue
            region = buddy.allocate(number)
            best = min(enough, key=lambda piece: (piece.size, piece.start))
            assert region == Region(best.start, size)
            assert region.start % region.size == 0, "a region starts at a multiple of its size"
            assert not any(taken[region.start : region.start + size]), "regions overlap"
            taken[region.start : region.start + size] = [True] * size
            held.append(region)
        elif held:
            region = held.pop(number % len(held))
            buddy.free(region.start)
            taken[region.start : region.start + region.size] = [False] * region.size
    for region in held:
        buddy.free(region.start)
    assert buddy.holes() == BuddyAllocator(num_slots).holes(), "when all is free, all has merged again"


def test_any_order_of_frees_merges_to_one_region():
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1]):
        buddy = BuddyAllocator(8)
        starts = [buddy.allocate(2).start for _ in range(4)]
        for number in order:
            buddy.free(starts[number])
        assert buddy.holes() == [Region(0, 8)]


def test_neighbours_that_are_no_buddies_do_not_merge():
    buddy = BuddyAllocator(8)
    starts = [buddy.allocate(2).start for _ in range(4)]
    buddy.free(starts[1])
    buddy.free(starts[2])
    assert buddy.holes() == [Region(2, 2), Region(4, 2)]
    with pytest.raises(OutOfSlots):
        buddy.allocate(4)  # four slots are free, side by side


def test_a_pool_that_is_no_power_of_two_is_used_to_the_last_slot():
    buddy = BuddyAllocator(15728)
    assert [hole.size for hole in buddy.holes()] == [8192, 4096, 2048, 1024, 256, 64, 32, 16]
    assert buddy.largest == 8192
    for size in (8192, 4096, 2048, 1024, 256, 64, 32, 16):
        buddy.allocate(size)
    assert buddy.holes() == []
    with pytest.raises(OutOfSlots):
        buddy.allocate(1)


def test_one_slot_is_a_pool():
    buddy = BuddyAllocator(1)
    assert buddy.allocate(1) == Region(0, 1)
    buddy.free(0)
    assert buddy.holes() == [Region(0, 1)]


def test_a_double_free_is_an_error_and_changes_nothing():
    buddy = BuddyAllocator(8)
    start = buddy.allocate(2).start
    buddy.allocate(2)
    for wrong in (1, 4, -1, 99, None):
        with pytest.raises(RequestError, match="no region starts at slot"):
            buddy.free(wrong)
    buddy.free(start)
    holes = buddy.holes()
    with pytest.raises(RequestError, match=f"no region starts at slot {start}"):
        buddy.free(start)
    assert buddy.holes() == holes


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2", None])
def test_sizes_are_whole_and_above_zero(size):
    with pytest.raises(ReservationError):
        BuddyAllocator(size)
    with pytest.raises(ReservationError):
        BuddyAllocator(8).allocate(size)


def test_what_can_never_fit_is_told_from_what_does_not_fit_now():
    buddy = BuddyAllocator(12)
    with pytest.raises(RequestTooLong, match="the largest region is 8"):
        buddy.allocate(9)
    buddy.allocate(8)
    with pytest.raises(OutOfSlots, match="no free region of 8 slots for the 5 asked for"):
        buddy.allocate(5)


def test_what_is_no_start_changes_nothing():
    pool = BuddyAllocator(16)
    pool.allocate(4)
    holes = pool.holes()
    for wrong in ([], {}, 0.0, "0"):
        with pytest.raises(RequestError, match="no region starts at slot"):
            pool.free(wrong)
    assert pool.holes() == holes
