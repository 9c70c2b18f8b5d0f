"""The queue of a server that serves first come, first served."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real

from kvcourse.errors import UserError, shown
from kvcourse.workloads import Request


class SimulationError(UserError):
    """A simulation that cannot be run as asked."""


@dataclass(slots=True)
class Queued:
    """Request `number` in order of arrival: tokens to store at once and to come, first step it may run."""

    number: int
    stored: int
    to_come: int
    arrival: int
    is_new: bool = True  # False once it has been preempted


class Queue:
    """Who has been preempted stands before everybody else, in the order of arrival.

    Requests are taken from the iterable one by one as they are let in, so it may be endless.
    """

    def __init__(self, requests: Iterable[Request], step_seconds: float):
        if not _is_real(step_seconds) or not 0 < step_seconds < math.inf:
            raise SimulationError(f"a step must take more than 0 seconds; got {shown(step_seconds)}.")
        try:
            self._requests = enumerate(requests)
        except TypeError:
            raise SimulationError(
                f"requests are some of (arrival in seconds, prompt, output); got {shown(requests)}."
            ) from None
        self._step_seconds = step_seconds
        self._latest = 0.0
        self._put_back: list[Queued] = []  # the last of them is the head of the queue
        self._next = self._arrival()

    @property
    def head(self) -> Queued | None:
        """Who is next, perhaps not there yet; None when nobody is left."""
        return self._put_back[-1] if self._put_back else self._next

    def pop(self) -> Queued:
        if self._put_back:
            return self._put_back.pop()
        head, self._next = self._next, self._arrival()
        return head

    def put_back(self, request: Queued) -> None:
        self._put_back.append(request)

    def _arrival(self) -> Queued | None:
        numbered = next(self._requests, None)
        if numbered is None:
            return None
        number, request = numbered
        try:
            arrival, prompt, output = request
            if not _is_real(arrival):
                raise TypeError
        except (TypeError, ValueError):
            raise SimulationError(
                f"a request is (arrival in seconds, prompt, output); request {number} is {shown(request)}."
            ) from None
        if not self._latest <= arrival < math.inf:
            raise SimulationError(
                f"requests come in order of arrival, none before 0 s: request {number} comes at "
                f"{shown(arrival)} s, after {self._latest:g} s."
            )
        try:
            step = math.ceil(arrival / self._step_seconds)
        except OverflowError:
            raise SimulationError(
                f"request {number} comes at {shown(arrival)} s, more steps of {shown(self._step_seconds)} s "
                "than can be counted."
            ) from None
        self._latest = float(arrival)
        return Queued(number, prompt, output, step)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
