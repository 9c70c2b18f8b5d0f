"""A KV pool with one contiguous region a request."""

from collections.abc import Hashable
from dataclasses import dataclass

from kvcourse.blocks.errors import whole_number
from kvcourse.errors import shown
from kvcourse.reservation.errors import RequestError, RequestTooLong, ReservationError
from kvcourse.reservation.policies import MaximumLength, Oracle, PowerOfTwo
from kvcourse.reservation.split import PoolSplit, Region


@dataclass(slots=True)
class Request:
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
        self.requests: dict[Hashable, Request] = {}

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
        self.requests[request_id] = Request(region, asked, prompt, prompt + output)

    def append(self, request_id: Hashable) -> None:
        """Store one more token. Its slot is there already, so this needs no memory."""
        request = self._get(request_id)
        if request.stored == request.final:
            raise RequestError(f"request {shown(request_id)} already has all of its {request.final} tokens.")
        request.stored += 1

    def finish(self, request_id: Hashable) -> None:
        """Free the whole region, whether it was used or not."""
        self.allocator.free(self._get(request_id).region.start)
        del self.requests[request_id]

    def split(self) -> PoolSplit:
        running = self.requests.values()
        return PoolSplit(
            tokens=sum(request.stored for request in running),
            reservation=sum(request.final - request.stored for request in running),
            internal=sum(request.asked - request.final for request in running),
            external=self.num_slots - sum(request.region.size for request in running),
            other=sum(request.region.size - request.asked for request in running),
        )

    def _get(self, request_id: Hashable) -> Request:
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
