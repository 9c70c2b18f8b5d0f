"""The simulator: a server that jumps from event to event.

Between two events every running request stores one token a step and nothing else happens, so a stretch of
steps is described by a few whole numbers however long it is. An event is a request that ends, comes in, or
needs a block, so the work grows with the number of requests (and of blocks they take), not with their tokens.

One step does the following, in this order. Requests that stored their last token in the step before leave.
Waiting requests are let in, first come, first served: where the head of the queue does not fit, nobody
overtakes it. Then each running request, the oldest first, stores a token. Where a paged pool has no block for
it, the newest request gives all its blocks back and goes to the head of the queue. It keeps the tokens it
has, which its next turn recomputes as one prompt (Kwon et al., SOSP 2023, section 4.5).

A step takes the same time whatever it holds, and a prompt is stored within the step that lets it in: this is
a model of memory, not of speed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from kvcourse.blocks import OutOfBlocks
from kvcourse.errors import shown
from kvcourse.reservation import ContiguousPool, Holding, OutOfSlots, PagedPool
from kvcourse.serving.queue import Queue, Queued, SimulationError
from kvcourse.workloads import Request

OF_A_POOL = ("num_slots", "requests", "admit", "append", "finish", "holding")
ENDS, NEEDS_A_BLOCK = 0, 1  # at equal steps what ends comes before what needs memory


class Stretch(NamedTuple):
    """`steps` steps, from number `start` on, in which nobody comes, goes or takes memory."""

    start: int
    steps: int  # 0 for the last one, which only says who has finished
    running: int  # requests; each stores one token a step
    stored: int  # tokens before the first of the steps
    used: int  # slots held that have or will get a token
    asked: int
    held: int
    waiting: bool  # whether a request that has arrived is not let in
    finished: int  # requests that stored their last token in the step before `start`
    preempted: int  # times a request was preempted in the first step
    delays: list[int]  # of the requests let in for the first time: steps since they arrived


@dataclass(slots=True)
class _Running:
    request: Queued
    holding: Holding  # `stored` in it as of `since`, the rest as of now
    since: int  # step
    final: int  # tokens in the end


def stretches(
    pool: ContiguousPool | PagedPool, requests: Iterable[Request], step_seconds: float = 1.0
) -> Iterator[Stretch]:
    """What happens when `requests` meet an empty pool, until all are done.

    The pool knows a running request's tokens as of its latest event; the stretch counts them all. Errors:
    RequestTooLong when the pool can never hold the next request, SimulationError for arrivals out of order
    and for a pool that is not empty.
    """
    if not all(hasattr(pool, name) for name in OF_A_POOL):
        raise SimulationError(f"a simulation needs a ContiguousPool or a PagedPool; got {shown(pool)}.")
    if pool.requests:
        raise SimulationError(f"a simulation starts with an empty pool; this one holds {len(pool.requests)}.")
    return _Server(pool, Queue(requests, step_seconds)).stretches()


class _Server:
    def __init__(self, pool: ContiguousPool | PagedPool, queue: Queue):
        self.pool, self.queue = pool, queue
        self.step = 0
        self.running: dict[int, _Running] = {}  # by number of admission, so the oldest first
        self.admissions = 0
        self.events: list[tuple[int, int, int]] = []  # heap of (step, kind, number of admission)
        self.stored = self.used = self.asked = self.held = 0

    def stretches(self) -> Iterator[Stretch]:
        blocked = False  # the head of the queue was refused, and no memory has come back since
        while True:
            finished = self._let_go()
            blocked = blocked and not finished
            delays: list[int] = []
            if not blocked:
                blocked = self._let_in(delays)
            preempted = self._take_blocks()
            if preempted:
                blocked = False
            following = self._next_event(blocked, preempted)
            waiting = blocked or preempted > 0
            steps = 0 if following is None else following - self.step
            yield Stretch(
                self.step,
                steps,
                len(self.running),
                self.stored,
                self.used,
                self.asked,
                self.held,
                waiting,
                finished,
                preempted,
                delays,
            )
            if following is None:
                return
            self.stored += steps * len(self.running)
            self.step = following

    def _let_go(self) -> int:
        """End the requests that have all their tokens, and say how many."""
        finished = 0
        for one in self._due(ENDS):
            running = self.running.pop(one)
            self._forget(running, running.final)
            finished += 1
        return finished

    def _let_in(self, delays: list[int]) -> bool:
        """Let in who has arrived and fits; True if somebody must wait."""
        queue, pool, step = self.queue, self.pool, self.step
        while (head := queue.head) is not None and head.arrival <= step:
            try:
                pool.admit(head.number, head.stored, head.to_come)
            except (OutOfSlots, OutOfBlocks):
                return True
            queue.pop()
            if head.is_new:
                delays.append(step - head.arrival)
            holding = pool.holding(head.number)
            self.running[self.admissions] = running = _Running(
                head, holding, step, head.stored + head.to_come
            )
            self.stored += head.stored
            self.used += holding.used
            self.asked += holding.asked
            self.held += holding.held
            self._expect(self.admissions, running)
            self.admissions += 1
        return False

    def _take_blocks(self) -> int:
        """Give a block to whoever needs one for its token of this step; the number of preemptions."""
        preempted = 0
        for one in self._due(NEEDS_A_BLOCK):
            running = self.running[one]
            while one in self.running:
                try:
                    self.pool.append(running.request.number, self.step + 1 - running.since)
                except OutOfBlocks:
                    self._preempt(self.running.popitem()[1])
                    preempted += 1
                else:
                    before, running.holding = running.holding, self.pool.holding(running.request.number)
                    running.since = self.step + 1
                    self.used += running.holding.used - before.used
                    self.asked += running.holding.asked - before.asked
                    self.held += running.holding.held - before.held
                    self._expect(one, running)
                    break
        return preempted

    def _preempt(self, running: _Running) -> None:
        """It has not stored a token in this step yet: older requests come first."""
        stored = running.holding.stored + self.step - running.since
        self._forget(running, stored)
        request = running.request
        self.queue.put_back(
            Queued(request.number, stored, running.final - stored, request.arrival, is_new=False)
        )

    def _forget(self, running: _Running, stored: int) -> None:
        self.pool.finish(running.request.number)
        self.stored -= stored
        self.used -= running.holding.used
        self.asked -= running.holding.asked
        self.held -= running.holding.held

    def _expect(self, one: int, running: _Running) -> None:
        """Note when the request's slots are full, or when it ends if that is earlier."""
        holding = running.holding
        if running.final <= holding.held:
            heappush(self.events, (running.since + running.final - holding.stored, ENDS, one))
        else:
            heappush(self.events, (running.since + holding.held - holding.stored, NEEDS_A_BLOCK, one))

    def _due(self, kind: int) -> Iterator[int]:
        """Numbers of admission of the running requests with such an event now, the oldest first."""
        events, now = self.events, (self.step, kind)
        while events and events[0][:2] <= now:
            one = heappop(events)[2]
            if one in self.running:  # else it was preempted meanwhile
                yield one

    def _next_event(self, blocked: bool, preempted: int) -> int | None:
        """The next step in which something may happen; None when all is done."""
        if preempted:
            return self.step + 1  # who gave way is let in again, if it fits
        while self.events and self.events[0][2] not in self.running:
            heappop(self.events)
        steps = [self.events[0][0]] if self.events else []
        if not blocked and self.queue.head is not None:
            steps.append(self.queue.head.arrival)
        return min(steps, default=None)
