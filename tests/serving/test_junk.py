"""Junk given to the pools and the simulator: one sentence that a person can act on, and nothing else."""

import random
from fractions import Fraction

import numpy as np
import pytest

from kvcourse.blocks import BlockError, BlockPool, block_key
from kvcourse.errors import UserError
from kvcourse.reservation import (
    ContiguousPool,
    MaximumLength,
    PagedPool,
    ReservationError,
    SlabAllocator,
    can_fit,
    external_fragmentation,
    next_power_of_two,
)  # fmt: skip
from kvcourse.serving import SimulationError, over_seeds, paper_pools, simulate
from kvcourse.serving.stretches import stretches
from kvcourse.workloads import (
    SHAREGPT,
    Lengths,
    Request,
    TraceError,
    WorkloadError,
    poisson_arrivals,
    read_azure_trace,
    synthetic,
)  # fmt: skip

HUGE = 10**30
ONE = [Request(0, 3, 5)]
PARENT = b"x" * 32


def run(requests=ONE, pool=None, **options):
    return simulate(PagedPool(64) if pool is None else pool, requests, **options)


def lengths(**changed):
    numbers = {"prompt_mean": 100, "prompt_sigma": 1, "output_mean": 100, "output_sigma": 1, "cut": 1024}
    return Lengths(**numbers | changed)


JUNK = [
    (lambda: ContiguousPool(64, "x"), ReservationError, "a policy is MaximumLength, PowerOfTwo or Oracle"),
    (lambda: ContiguousPool(64, MaximumLength), ReservationError, "with its longest sequence"),
    (lambda: run(pool="x"), SimulationError, "needs a ContiguousPool or a PagedPool; got 'x'"),
    (lambda: stretches(None, ONE), SimulationError, "needs a ContiguousPool or a PagedPool; got None"),
    (lambda: run(5), SimulationError, "arrival in seconds, prompt, output); got 5"),
    (lambda: run(["abc"]), SimulationError, "request 0 is 'abc'"),
    (lambda: run([("0", 3, 5)]), SimulationError, "request 0 is ('0', 3, 5)"),
    (lambda: run([(True, 3, 5)]), SimulationError, "request 0 is (True, 3, 5)"),
    (lambda: run([(np.array([3.0]), 3, 5)]), SimulationError, "request 0 is"),
    (lambda: run([(float("nan"), 3, 5)]), SimulationError, "in order of arrival"),
    (lambda: run([(10**400, 3, 5)]), SimulationError, "more steps of 1.0 s than can be counted"),
    (lambda: run([(1.0, 3, 5)], step_seconds=1e-320), SimulationError, "more steps of 1e-320 s"),
    (lambda: run(step_seconds=True), SimulationError, "more than 0 seconds; got True"),
    (lambda: synthetic("x", 2, 1), WorkloadError, "such as SHAREGPT; got 'x'"),
    (lambda: poisson_arrivals(1, 1.0, 1), WorkloadError, "number of arrivals"),
    (lambda: poisson_arrivals(1, -1, 1), WorkloadError, "number of arrivals"),
    (lambda: poisson_arrivals(True, 1, 1), WorkloadError, "rate of arrivals"),
    (lambda: SHAREGPT.prompts(1.5, random.Random(0)), WorkloadError, "number of lengths"),
    (lambda: SHAREGPT.outputs(-1, random.Random(0)), WorkloadError, "number of lengths"),
    (lambda: synthetic(SHAREGPT, HUGE, 1), WorkloadError, "from 0 to 16777216"),
    (lambda: poisson_arrivals(1, HUGE, 1), WorkloadError, "from 0 to 16777216"),
    (lambda: over_seeds(lambda seed: {"x": seed}, 8), SimulationError, "such as range(8); got 8"),
    (lambda: lengths(prompt_sigma=True), WorkloadError, "sigma of the prompts"),
    (lambda: lengths(cut=10**7), WorkloadError, "from 2 to 131072; got 10000000"),
    (lambda: next_power_of_two(-1), ReservationError, "number to round up"),
    (lambda: next_power_of_two(3.0), ReservationError, "number to round up"),
    (lambda: can_fit(None, 3), ReservationError, "sizes of the free extents"),
    (lambda: can_fit([3], "3"), ReservationError, "the size of a region"),
    (lambda: external_fragmentation(["3"]), ReservationError, "sizes of the free extents"),
    (lambda: block_key(PARENT, [1.0]), BlockError, "64-bit whole numbers; got [1.0]"),
    (lambda: block_key(PARENT, [HUGE]), BlockError, "64-bit whole numbers"),
    (lambda: block_key(PARENT, 5), BlockError, "64-bit whole numbers; got 5"),
    (lambda: block_key("x", [1]), BlockError, "a key in bytes; got 'x'"),
    (lambda: read_azure_trace("a\0b"), TraceError, "given by its path"),
    (lambda: read_azure_trace(None), TraceError, "given by its path; got None"),
    (lambda: read_azure_trace(0), TraceError, "given by its path; got 0"),
    (lambda: BlockPool(HUGE), BlockError, "from 1 to 16777216"),
    (lambda: PagedPool(HUGE), UserError, "from 1 to 16777216"),
    (lambda: SlabAllocator(HUGE, 4), ReservationError, "from 0 to 16777216"),
    (lambda: paper_pools(HUGE), UserError, "16777216"),
]


@pytest.mark.parametrize(("call", "error", "says"), JUNK, ids=range(len(JUNK)))
def test_junk_gets_one_sentence(call, error, says):
    with pytest.raises(error) as caught:
        call()
    said = str(caught.value)
    assert says in said and said.endswith(".") and "\n" not in said and len(said) < 250


def test_what_resembles_junk_is_served():
    assert [next_power_of_two(n) for n in (0, np.int64(3), np.int64(4))] == [0, 4, 4]
    assert can_fit(np.array([2, 3]), np.int64(3)) and not can_fit([], 1)
    assert external_fragmentation(np.array([1, 3])) == 0.25
    assert block_key(PARENT, np.array([1, 2])) == block_key(PARENT, (1, 2))
    assert SlabAllocator(3, 4).largest == 0
    assert poisson_arrivals(1, 0, 1) == SHAREGPT.prompts(0, random.Random(0)) == []
    arrivals = (np.int64(0), Fraction(1, 2), np.float32(1.0), 2)
    assert run([(arrival, 3, 5) for arrival in arrivals]).finished == len(arrivals)


def test_a_run_that_an_error_ends_asks_for_a_fresh_pool():
    pool = PagedPool(64)
    with pytest.raises(ReservationError, match="the blocks hold 64"):
        run([Request(0, 3, 5), Request(1, 60, 50)], pool)
    with pytest.raises(SimulationError, match="empty pool; this one holds 1"):
        run(pool=pool)
    with pytest.raises(SimulationError, match="empty pool"):
        stretches(pool, ONE)
