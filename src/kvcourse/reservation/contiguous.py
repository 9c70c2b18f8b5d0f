"""A KV pool with one contiguous region a request."""

from collections.abc import Hashable
from dataclasses import dataclass

from kvcourse.blocks.errors import whole_number
from kvcourse.errors import shown
from kvcourse.reservation.errors import RequestError, RequestTooLong, ReservationError
from kvcourse.reservation.policies import MaximumLength, Oracle, PowerOfTwo
from kvcourse.reservation.split import Extent, PoolSplit, Region


@dataclass(slots=True)
class Reservation:
    """A running request: slots it holds and asked for, tokens stored now, tokens it will have in the end."""

    region: Region
    asked: int
    stored: int
    final: int


class ContiguousPool:
    """`num_slots` slots, reserved by a policy when a request is admitted and freed whole when it finishes."""

    def __init__(self, num_slots: int, policy: MaximumLength | PowerOfTwo | Oracle):
        self.num_slots = whole_number(num_slots, "the number of slots", error=ReservationError)
        self.policy = policy
        self.allocator = policy.allocator(self.num_slots)
        self.requests: dict[Hashable, Reservation] = {}

    def admit(self, request_id: Hashable, prompt: int, output: int) -> None:
        """Reserve a region and store `prompt` tokens in it; `output` more will follow, one by one.

        Errors: RequestTooLong if it can never fit, OutOfSlots if it does not fit now, RequestError for an id
        in use.
        """
        check_request(self.requests, request_id, prompt, output)
        if prompt + output > self.policy.max_tokens:
            raise RequestTooLong(
                f"request {shown(request_id)} has {prompt} + {output} tokens; "
                f"the longest sequence is {self.policy.max_tokens}."
            )
        asked = self.policy.slots(prompt, output)
        region = self.allocator.allocate(asked)
        self.requests[request_id] = Reservation(region, asked, prompt, prompt + output)

    def append(self, request_id: Hashable, count: int = 1) -> None:
        """Store `count` more tokens. Their slots are there already, so this needs no memory."""
        request = self._get(request_id)
        request.stored = grown(request_id, request.stored, count, request.final)

    def finish(self, request_id: Hashable) -> None:
        """Free the whole region, whether it was used or not."""
        self.allocator.free(self._get(request_id).region.start)
        del self.requests[request_id]

    def extent(self, request_id: Hashable) -> Extent:
        """What the request holds. Its tokens need no memory until `held` of them are stored."""
        request = self._get(request_id)
        return Extent(request.stored, request.final, request.asked, request.region.size)

    def split(self) -> PoolSplit:
        return split_of(self)

    def _get(self, request_id: Hashable) -> Reservation:
        if not is_running(self.requests, request_id):
            raise RequestError(f"no request {shown(request_id)} here: never admitted, or finished.")
        return self.requests[request_id]


def check_request(running: dict, request_id: Hashable, prompt: int, output: int) -> None:
    """What every pool asks of a request before it admits it."""
    whole_number(prompt, "the tokens of a prompt", error=ReservationError)
    whole_number(output, "the tokens of an output", error=ReservationError)
    if is_running(running, request_id):
        raise RequestError(f"request {shown(request_id)} is already running.")


def is_running(running: dict, request_id: Hashable) -> bool:
    """Whether a request of that id is here; RequestError for what cannot be an id."""
    try:
        return request_id in running
    except TypeError:
        raise RequestError(f"a request's id must be hashable; got {shown(request_id)}.") from None


def grown(request_id: Hashable, stored: int, count: int, final: int) -> int:
    """Tokens after `count` more; RequestError if that is past what the request has in the end."""
    count = whole_number(count, "the tokens to store", error=ReservationError)
    if stored == final:
        raise RequestError(f"request {shown(request_id)} already has all of its {final} tokens.")
    if stored + count > final:
        raise RequestError(
            f"request {shown(request_id)} has {stored} of its {final} tokens; got {count} more."
        )
    return stored + count


def split_of(pool) -> PoolSplit:
    """Where all slots of the pool are, from the extents of its running requests."""
    sums = [0, 0, 0, 0]
    for request_id in pool.requests:
        sums = [total + slots for total, slots in zip(sums, pool.extent(request_id), strict=True)]
    return PoolSplit.of(pool.num_slots, *sums)
