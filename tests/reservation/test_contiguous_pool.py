"""The split of a pool against a map in which every slot is labelled once."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import OutOfBlocks
from kvcourse.errors import UserError
from kvcourse.reservation import (
    ContiguousPool,
    MaximumLength,
    Oracle,
    OutOfSlots,
    PagedPool,
    PoolSplit,
    PowerOfTwo,
    RequestError,
    RequestTooLong,
    ReservationError,
    can_fit,
    external_fragmentation,
    next_power_of_two,
)

POLICIES = [MaximumLength, PowerOfTwo, Oracle]


def labelled(pool):
    """What each slot of a contiguous pool is, found from the regions alone."""
    labels = ["external"] * pool.num_slots
    for request in pool.requests.values():
        start, size = request.region
        ends = (request.stored, request.final, request.asked, size)
        assert list(ends) == sorted(ends), "tokens <= final length <= asked <= given"
        for offset in range(size):
            assert labels[start + offset] == "external", "two regions share a slot"
            names = ("tokens", "reservation", "internal", "other")
            labels[start + offset] = next(n for n, end in zip(names, ends, strict=True) if offset < end)
    return Counter(labels)


@settings(deadline=None)
@given(
    st.sampled_from(POLICIES),
    st.integers(1, 80),
    st.integers(1, 20),
    st.lists(st.tuples(st.sampled_from("amf"), st.integers(1, 9), st.integers(1, 12)), max_size=40),
)
def test_every_slot_is_one_thing_and_the_split_counts_them(policy, num_slots, max_tokens, operations):
    pool, admitted = ContiguousPool(num_slots, policy(max_tokens)), 0
    for name, first, second in operations:
        running = list(pool.requests)
        before = pool.split(), pool.allocator.holes()
        try:
            if name == "a":
                pool.admit(admitted, first, second)
                admitted += 1
            elif running and name == "m":
                pool.append(running[first % len(running)])
            elif running:
                pool.finish(running[first % len(running)])
        except ReservationError:
            assert (pool.split(), pool.allocator.holes()) == before, "a refusal changes nothing"
        counts, split = labelled(pool), pool.split()
        assert split == PoolSplit(**counts)
        assert split.total == num_slots
        assert sum(hole.size for hole in pool.allocator.holes()) == split.external


@pytest.mark.parametrize(
    ("policy", "asked", "given"),
    [(MaximumLength(2048), 2048, 2048), (PowerOfTwo(2048), 7 + 32, 64), (Oracle(2048), 7 + 25, 32)],
)
def test_the_policies_ask_for_what_the_paper_says(policy, asked, given):
    """Section 6.1: an output of 25 tokens is reserved 32."""
    pool = ContiguousPool(4096, policy)
    pool.admit("a", 7, 25)
    assert pool.requests["a"].asked == asked
    assert pool.requests["a"].region.size == given
    assert pool.split().other == given - asked


def test_the_two_requests_of_the_papers_figure_3():
    """One of 10 tokens in the end in 2048 slots, one of 5 in 512; each has generated one token."""
    pool = ContiguousPool(2048, MaximumLength(2048))
    pool.admit("a", 7, 3)
    pool.append("a")
    assert pool.split() == PoolSplit(tokens=8, reservation=2, internal=2038)
    pool = ContiguousPool(512, MaximumLength(512))
    pool.admit("b", 3, 2)
    pool.append("b")
    assert pool.split() == PoolSplit(tokens=4, reservation=1, internal=507)


def test_waste_is_there_while_a_request_runs_and_gone_when_it_ends():
    pool = ContiguousPool(100, MaximumLength(100))
    pool.admit("a", 1, 1)
    pool.append("a")
    assert pool.split() == PoolSplit(tokens=2, internal=98)
    pool.finish("a")
    assert pool.split() == PoolSplit(external=100)


def test_an_output_never_reserves_past_the_longest_sequence():
    pool = ContiguousPool(64, PowerOfTwo(20))
    pool.admit("a", 10, 9)
    assert pool.requests["a"].asked == 20


@pytest.mark.parametrize(("n", "power"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (25, 32), (1025, 2048)])
def test_next_power_of_two(n, power):
    assert next_power_of_two(n) == power


@pytest.mark.parametrize("policy", POLICIES)
def test_refusals_say_why(policy):
    pool = ContiguousPool(16, policy(16))
    pool.admit("a", 8, 8)
    with pytest.raises(OutOfSlots):
        pool.admit("b", 8, 8)
    with pytest.raises(RequestTooLong, match="'b' has 9 \\+ 8 tokens; the longest sequence is 16"):
        pool.admit("b", 9, 8)
    with pytest.raises(RequestError, match="'a' is already running"):
        pool.admit("a", 1, 1)
    for operation in (pool.append, pool.finish):
        with pytest.raises(RequestError, match="no request 'b'"):
            operation("b")
    for _ in range(8):
        pool.append("a")
    with pytest.raises(RequestError, match="all of its 16 tokens"):
        pool.append("a")
    pool.finish("a")
    with pytest.raises(RequestError, match="no request 'a'"):
        pool.finish("a")


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", None, True])
def test_sizes_are_whole_and_above_zero(size):
    for make in (
        lambda: ContiguousPool(size, Oracle(8)),
        lambda: PagedPool(size, 1),
        lambda: PagedPool(8, size),
        *(lambda policy=policy: policy(size) for policy in POLICIES),
        lambda: ContiguousPool(8, Oracle(8)).admit("a", size, 1),
        lambda: ContiguousPool(8, Oracle(8)).admit("a", 1, size),
    ):
        with pytest.raises(ReservationError):
            make()
    with pytest.raises(ReservationError):
        PagedPool(8, 9)


@pytest.mark.parametrize("policy", POLICIES)
def test_lengths_out_of_an_array_will_do(policy):
    ours, theirs = ContiguousPool(64, policy(16)), ContiguousPool(64, policy(16))
    ours.admit("a", 3, 5)
    theirs.admit("a", *np.array([3, 5]))
    assert ours.split() == theirs.split()


@pytest.mark.parametrize("make", [lambda: ContiguousPool(16, Oracle(16)), lambda: PagedPool(16, 4)])
def test_tokens_at_once_are_the_same_tokens_one_by_one(make):
    bulk, single = make(), make()
    for pool in (bulk, single):
        pool.admit("a", 3, 9)
    bulk.append("a", 6)
    for _ in range(6):
        single.append("a")
    assert bulk.holding("a") == single.holding("a")
    assert bulk.split() == single.split()
    for count, what in (
        (4, "has 9 of its 12 tokens; 4 more"),
        (0, "got 0"),
        (-1, "got -1"),
        (1.5, "got 1.5"),
    ):
        with pytest.raises(ReservationError, match=what):
            bulk.append("a", count)
        assert bulk.split() == single.split(), "a refusal changes nothing"
    bulk.append("a", 3)
    assert bulk.split().tokens == 12


# ---- the paged pool


def test_a_paged_request_holds_the_blocks_its_tokens_need():
    pool = PagedPool(35, 4)
    pool.admit("a", 5, 2)
    assert pool.split() == PoolSplit(tokens=5, reservation=2, internal=1, external=27)
    pool.append("a")
    pool.append("a")
    assert pool.split() == PoolSplit(tokens=7, internal=1, external=27)
    with pytest.raises(RequestError, match="all of its 7"):
        pool.append("a")
    pool.finish("a")
    assert pool.split() == PoolSplit(external=35)
    with pytest.raises(RequestError, match="no request 'a'"):
        pool.finish("a")


@settings(deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 8),
    st.lists(st.tuples(st.sampled_from("amf"), st.integers(1, 9), st.integers(1, 12)), max_size=40),
)
def test_a_paged_pool_wastes_less_than_a_block_a_request(num_slots, block_size, operations):
    block_size = min(block_size, num_slots)
    pool = PagedPool(num_slots, block_size)
    admitted = 0
    for name, first, second in operations:
        running = list(pool.requests)
        before = pool.split()
        try:
            if name == "a":
                pool.admit(admitted, first, second)
                admitted += 1
            elif running and name == "m":
                pool.append(running[first % len(running)])
            elif running:
                pool.finish(running[first % len(running)])
        except (ReservationError, OutOfBlocks):
            assert pool.split() == before
        split = pool.split()
        assert split.total == num_slots
        assert min(split.tokens, split.reservation, split.internal, split.external, split.other) >= 0
        assert split.reservation + split.internal <= (block_size - 1) * len(pool.requests)
        free = pool.blocks.num_free * block_size
        assert split.external == free + num_slots % block_size


def test_a_paged_request_longer_than_the_pool_is_told_so_at_once():
    with pytest.raises(RequestTooLong, match="the blocks hold 32"):
        PagedPool(35, 4).admit("a", 30, 3)


def test_blocks_that_run_out_store_none_of_several_tokens():
    pool = PagedPool(16, 4)
    pool.admit("a", 4, 12)
    pool.admit("b", 4, 12)
    before = pool.split()
    with pytest.raises(OutOfBlocks, match="request 'a' needs 3 free blocks, got 2"):
        pool.append("a", 9)
    assert pool.split() == before
    pool.append("a", 8)
    assert pool.blocks.num_free == 0


def test_a_watermark_is_spared_beside_running_requests_only():
    pool = PagedPool(16, 4, watermark_blocks=2)
    pool.admit("a", 8, 8)
    with pytest.raises(OutOfBlocks, match="with 2 kept spare by the watermark"):
        pool.admit("b", 1, 1)
    assert list(pool.requests) == ["a"]
    pool.append("a", 8)
    pool.finish("a")
    pool.admit("b", 15, 1)
    assert pool.blocks.num_free == 0
    with pytest.raises(ReservationError, match="the watermark must be a whole number from 0 to 4"):
        PagedPool(16, 4, watermark_blocks=5)


# ---- holes


def test_a_sum_of_holes_is_no_room():
    assert can_fit([3, 5, 2], 5)
    assert not can_fit([3, 5, 2], 6)
    assert not can_fit([], 1)
    assert can_fit([], 0)


@pytest.mark.parametrize(
    ("extents", "share"), [([], 0), ([7], 0), ([0], 0), ([5, 5], 0.5), ([3, 5, 2], 0.5), ([1] * 4, 0.75)]
)
def test_external_fragmentation_is_what_the_largest_hole_leaves(extents, share):
    assert external_fragmentation(extents) == pytest.approx(share)


def test_ids_that_cannot_be_looked_up():
    for pool in (ContiguousPool(64, Oracle(32)), PagedPool(64)):
        for call in (
            lambda p=pool: p.admit([], 1, 1),
            lambda p=pool: p.append([]),
            lambda p=pool: p.finish([]),
        ):
            with pytest.raises(UserError, match="must be hashable"):
                call()
        assert pool.split().tokens == 0
