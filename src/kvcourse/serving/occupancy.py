"""What a pool is full of, on average over the steps of a run."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kvcourse.blocks.errors import whole_number
from kvcourse.reservation import ContiguousPool, PagedPool, PoolSplit
from kvcourse.serving.queue import SimulationError
from kvcourse.serving.stretches import Stretch, stretches
from kvcourse.workloads import Request


class Sample(NamedTuple):
    """The pool in one step, after its tokens are stored."""

    step: int
    split: PoolSplit
    running: int


@dataclass(slots=True)
class Occupancy:
    """Whole-number sums over the counted steps of a run, so the averages have no rounding in them.

    Free slots are external fragmentation only while somebody waits for them; `waiting_steps` says in how many
    of the steps that was so. Below saturation the rest of `external` is memory nobody asked for.
    """

    num_slots: int
    steps: int = 0
    split: PoolSplit = field(default_factory=PoolSplit)  # slots x steps
    running: int = 0  # requests x steps
    waiting_steps: int = 0
    finished: int = 0
    preempted: int = 0
    delays: list[int] = field(default_factory=list)  # steps from arrival to first admission, in that order
    samples: list[Sample] = field(default_factory=list)

    @property
    def batch(self) -> float:
        """Requests held at once, on average."""
        return self.running / self.steps

    @property
    def delay(self) -> float:
        """Steps a request waits before it is first let in, on average; 0 if none was."""
        return sum(self.delays) / len(self.delays) if self.delays else 0.0

    def parts(self) -> dict[str, float]:
        """Percent of the pool in each of the five parts, on average."""
        return self.split.parts()

    def shares(self) -> dict[str, float]:
        """Percent of the pool under the four headings of figure 2, on average."""
        return self.split.shares()


def simulate(
    pool: ContiguousPool | PagedPool,
    requests: Iterable[Request],
    *,
    step_seconds: float = 1.0,
    steps: int | None = None,
    warm_up: int = 0,
    sample_every: int | None = None,
) -> Occupancy:
    """Serve `requests` with an empty pool and average over `steps` steps after the first `warm_up`.

    Without `steps` the run lasts until every request has finished. `sample_every` n steps a Sample is kept.
    Errors: RequestTooLong for a request the pool can never hold, SimulationError if no step is counted. A run
    that `steps` or an error ends leaves its requests in the pool, so the next one takes a fresh pool.
    """
    warm_up = whole_number(warm_up, "the number of steps to warm up", 0, error=SimulationError)
    end = math.inf
    if steps is not None:
        end = warm_up + whole_number(steps, "the number of steps", error=SimulationError)
    if sample_every is not None:
        sample_every = whole_number(sample_every, "the steps between samples", error=SimulationError)
    run = stretches(pool, requests, step_seconds)

    seen = Occupancy(pool.num_slots)
    sums = [0, 0, 0, 0]  # stored, used, asked, held: slots x steps
    for stretch in run:
        if stretch.start > end:
            break
        if stretch.start > warm_up:
            seen.finished += stretch.finished
        if stretch.start == end:
            break
        if stretch.start >= warm_up:
            seen.preempted += stretch.preempted
            seen.delays += stretch.delays
        first = max(stretch.start, warm_up)
        last = min(stretch.start + stretch.steps, end)
        if first < last:
            _count(seen, sums, stretch, first, last)
            if sample_every:
                for step in range(-(-first // sample_every) * sample_every, last, sample_every):
                    seen.samples.append(_sample(pool.num_slots, stretch, step))
    if not seen.steps:
        raise SimulationError(
            f"the requests ended within the {warm_up} steps of warming up; give more of them."
        )
    seen.split = PoolSplit.of(pool.num_slots * seen.steps, *sums)
    return seen


def _count(seen: Occupancy, sums: list[int], stretch: Stretch, first: int, last: int) -> None:
    """Add steps first..last-1 of the stretch."""
    steps = last - first
    stored = stretch.stored + stretch.running * (first - stretch.start)
    sums[0] += steps * stored + stretch.running * (steps * (steps + 1) // 2)
    sums[1] += steps * stretch.used
    sums[2] += steps * stretch.asked
    sums[3] += steps * stretch.held
    seen.steps += steps
    seen.running += steps * stretch.running
    seen.waiting_steps += steps * stretch.waiting


def _sample(num_slots: int, stretch: Stretch, step: int) -> Sample:
    stored = stretch.stored + stretch.running * (step - stretch.start + 1)
    split = PoolSplit.of(num_slots, stored, stretch.used, stretch.asked, stretch.held)
    return Sample(step, split, stretch.running)
