"""A server with more requests than it can hold: what its memory is full of, step by step."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from kvcourse.blocks import OutOfBlocks
from kvcourse.blocks.errors import whole_number
from kvcourse.reservation.contiguous import ContiguousPool
from kvcourse.reservation.errors import OutOfSlots, ReservationError
from kvcourse.reservation.paged import PagedPool
from kvcourse.reservation.split import PoolSplit


@dataclass(slots=True)
class Occupancy:
    """Sums over the steps of a run."""

    steps: int = 0
    split: PoolSplit = field(default_factory=PoolSplit)
    running: int = 0
    finished: int = 0
    preempted: int = 0

    @property
    def batch(self) -> float:
        """Requests running at once, on average."""
        return self.running / self.steps

    def shares(self) -> dict[str, float]:
        """Percent of the pool under the four headings of figure 2, on average."""
        return self.split.shares()


def saturate(
    pool: ContiguousPool | PagedPool, requests: Iterable[tuple[int, int]], steps: int, warm_up: int = 0
) -> Occupancy:
    """Serve `requests`, each (prompt, output) in tokens, first come, first served, as many at once as fit.

    A step admits what fits, stores one token for each running request, is counted unless it is one of the
    first `warm_up`, and ends the requests that are complete. Where a paged pool has no block for a token, the
    newest request gives its blocks back and goes to the head of the queue, with what it has stored as its
    prompt: recomputation, the paper's section 4.5. A run ends early when all requests are done.
    """
    steps = whole_number(steps, "the number of steps", error=ReservationError)
    warm_up = whole_number(warm_up, "the number of steps to warm up", 0, error=ReservationError)
    arrivals = ((number, prompt, output) for number, (prompt, output) in enumerate(requests))
    waiting: deque[tuple[int, int, int]] = deque()
    running: dict[int, list[int]] = {}  # tokens stored and tokens to come, oldest request first
    seen = Occupancy()

    for step in range(steps + warm_up):
        while waiting or _arrived(waiting, arrivals):
            number, prompt, output = waiting[0]
            try:
                pool.admit(number, prompt, output)
            except (OutOfSlots, OutOfBlocks):
                break
            waiting.popleft()
            running[number] = [prompt, output]
        if not running:
            break

        for number in list(running):
            while number in running:
                try:
                    pool.append(number)
                except OutOfBlocks:
                    newest = next(reversed(running))
                    pool.finish(newest)
                    waiting.appendleft((newest, *running.pop(newest)))
                    seen.preempted += step >= warm_up
                else:
                    running[number][0] += 1
                    running[number][1] -= 1
                    break

        if step >= warm_up:
            seen.steps += 1
            seen.split += pool.split()
            seen.running += len(running)
        for number in [number for number, (_, to_come) in running.items() if to_come == 0]:
            pool.finish(number)
            del running[number]
            seen.finished += step >= warm_up
    if not seen.steps:
        raise ReservationError(
            f"the requests ended within the {warm_up} steps of warming up; give more of them."
        )
    return seen


def _arrived(waiting: deque, arrivals: Iterable) -> bool:
    """Moves the next arrival to the queue; False when there is none."""
    request = next(arrivals, None)
    if request is not None:
        waiting.append(request)
    return request is not None
