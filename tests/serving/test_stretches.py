"""The simulator against one that looks at every request in every step, and what must hold in any run."""

from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_server import Blocks, Buddies, Slabs, serve

from kvcourse.reservation import ContiguousPool, MaximumLength, Oracle, PagedPool, PowerOfTwo
from kvcourse.serving import SimulationError, simulate, stretches
from kvcourse.workloads import Lengths, Request, synthetic


def pair(kind, num_slots, longest, block=1, watermark=0):
    """Our pool and the oracle's memory, both fresh."""
    return {
        "max": lambda: (ContiguousPool(num_slots, MaximumLength(longest)), Slabs(num_slots, longest)),
        "pow2": lambda: (ContiguousPool(num_slots, PowerOfTwo(longest)), Buddies(num_slots, longest, False)),
        "oracle": lambda: (ContiguousPool(num_slots, Oracle(longest)), Buddies(num_slots, longest, True)),
        "paged": lambda: (PagedPool(num_slots, block, watermark), Blocks(num_slots, block, watermark)),
    }[kind]()


@st.composite
def situations(draw):
    """(kind, sizes of the pool, requests that fit into it)."""
    kind = draw(st.sampled_from(["max", "pow2", "oracle", "paged", "paged"]))
    num_slots = draw(st.integers(2, 70))
    block = draw(st.integers(1, min(9, num_slots // 2)))
    most = num_slots // block * block if kind == "paged" else 1 << (num_slots.bit_length() - 1)
    longest = draw(st.integers(2, most))
    watermark = draw(st.integers(0, 2)) if num_slots // block > 2 else 0
    requests, now = [], 0.0
    for _ in range(draw(st.integers(1, 14))):
        now += draw(st.sampled_from([0, 0, 0, 0, 0.5, 1, 2.25, 30]))
        prompt = draw(st.integers(1, longest - 1))
        requests.append(Request(now, prompt, draw(st.integers(1, longest - prompt))))
    return (kind, num_slots, longest, block, watermark), requests


def same(occupancy, seen):
    ours = {name: getattr(occupancy, name) for name in seen if name not in ("split", "samples")}
    samples = [(step, astuple(split), running) for step, split, running in occupancy.samples]
    assert {**ours, "split": list(astuple(occupancy.split)), "samples": samples} == seen


@settings(deadline=None, max_examples=300)
@given(
    situations(),
    st.sampled_from([1, 0.3, 7.5]),
    st.integers(0, 12),
    st.none() | st.integers(1, 60),
    st.none() | st.integers(1, 7),
)
def test_every_figure_is_that_of_the_step_by_step_server(situation, step_seconds, warm_up, steps, every):
    sizes, requests = situation
    pool, memory = pair(*sizes)
    window = {"step_seconds": step_seconds, "warm_up": warm_up, "steps": steps, "sample_every": every}
    seen = serve(memory, pool.num_slots, requests, **window)
    if seen["steps"] == 0:
        with pytest.raises(SimulationError, match="ended within"):
            simulate(pool, requests, **window)
        return
    occupancy = simulate(pool, requests, **window)
    same(occupancy, seen)
    assert occupancy.split.total == pool.num_slots * occupancy.steps


@pytest.mark.parametrize("rate", [None, 0.05])
@pytest.mark.parametrize("kind", ["max", "pow2", "oracle", "paged"])
def test_so_it_is_for_lengths_that_differ_widely(kind, rate):
    requests = synthetic(Lengths(20, 1.1, 40, 1.0, cut=128), 150, 5, rate)
    pool, memory = pair(kind, 600, 256, 4)
    occupancy = simulate(pool, requests, sample_every=100)
    same(occupancy, serve(memory, 600, requests, sample_every=100))
    assert occupancy.finished == 150
    assert (occupancy.preempted > 0) == (kind == "paged" and rate is None)
    assert (occupancy.waiting_steps < occupancy.steps) or rate is None


class Noting:
    """Around a pool: what it is asked to do, and whether it ever holds more than it has."""

    def __init__(self, pool):
        self.pool, self.calls = pool, []
        self.num_slots, self.requests, self.holding = pool.num_slots, pool.requests, pool.holding

    def admit(self, number, prompt, output):
        self.pool.admit(number, prompt, output)
        self.calls.append(("admit", number, prompt))

    def append(self, number, count):
        self.pool.append(number, count)

    def finish(self, number):
        self.pool.finish(number)
        self.calls.append(("finish", number, None))


@settings(deadline=None, max_examples=200)
@given(situations())
def test_what_must_hold_in_any_run(situation):
    sizes, requests = situation
    pool = Noting(pair(*sizes)[0])
    end = tokens = finished = 0
    for stretch in stretches(pool, requests):
        assert stretch.start == end, "every step is in one stretch"
        end += stretch.steps
        after = stretch.stored + stretch.steps * stretch.running
        assert 0 <= stretch.stored <= after <= stretch.used <= stretch.asked <= stretch.held <= pool.num_slots
        split = pool.pool.split()
        assert pool.num_slots - split.external == stretch.held, "the pool says so too"
        assert len(pool.requests) == stretch.running
        tokens += stretch.steps * stretch.running
        finished += stretch.finished
    assert finished == len(requests), "every request finishes"
    assert tokens == sum(request.output for request in requests), "every token is made once, none is lost"
    assert pool.pool.split().external == pool.num_slots, "all memory comes back"

    first, away, stored = [], [], {}
    for call, number, prompt in pool.calls:
        if call == "finish":
            away.append(number)
            continue
        if number in stored:
            assert number in away, "one that is there is not let in again"
            assert prompt >= stored[number], "who was preempted keeps its tokens"
            away.remove(number)
        else:
            first.append(number)
        stored[number] = prompt
    assert first == list(range(len(requests))), "first come, first served"


@settings(deadline=None)
@given(situations())
def test_who_was_preempted_is_let_in_before_anybody_new(situation):
    (_, num_slots, longest, block, _), requests = situation
    if num_slots // block * block < longest:
        return
    pool = Noting(PagedPool(num_slots, block))
    given_up = set()
    for stretch in stretches(pool, requests):
        calls, pool.calls = pool.calls, []
        for call, number, _ in calls:
            if call == "admit":
                assert number in given_up or not given_up
                given_up.discard(number)
        ended = [number for call, number, _ in calls if call == "finish"]
        given_up.update(ended[len(ended) - stretch.preempted :])


def test_an_endless_queue_is_read_as_far_as_it_is_served():
    read = []

    def endless():
        number = 0
        while True:
            read.append(number)
            yield Request(0.0, 3, 5)
            number += 1

    occupancy = simulate(ContiguousPool(16, Oracle(8)), endless(), steps=50)
    assert (occupancy.batch, occupancy.split.external, occupancy.waiting_steps) == (2, 0, 50)
    assert len(read) == 2 * 11 + 1, "two for each of steps 0, 5 ... 50, and the one who waits"


def test_while_nobody_is_there_all_is_free_and_nobody_waits():
    occupancy = simulate(PagedPool(8, 4), [Request(10.0, 2, 2)], sample_every=5)
    assert (occupancy.steps, occupancy.running, occupancy.waiting_steps) == (12, 2, 0)
    assert [(s.step, s.running, s.split.external) for s in occupancy.samples] == [
        (0, 0, 8),
        (5, 0, 8),
        (10, 1, 4),
    ]
