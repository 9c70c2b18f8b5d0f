"""A KV pool with one contiguous region a request."""

from collections.abc import Hashable
from dataclasses import dataclass

from kvcourse.errors import shown
from kvcourse.reservation.errors import RequestTooLong, ReservationError
from kvcourse.reservation.policies import MaximumLength, Oracle, PowerOfTwo
from kvcourse.reservation.pool import Pool, grown
from kvcourse.reservation.split import Holding, Region


@dataclass(slots=True)
class Reservation:
    """A running request: slots it holds and asked for, tokens stored now, tokens it will have in the end."""

    region: Region
    asked: int
    stored: int
    final: int


class ContiguousPool(Pool):
    """`num_slots` slots, reserved by a policy when a request is admitted and freed whole when it finishes."""

    requests: dict[Hashable, Reservation]

    def __init__(self, num_slots: int, policy: MaximumLength | PowerOfTwo | Oracle):
        super().__init__(num_slots)
        if not isinstance(policy, MaximumLength | PowerOfTwo | Oracle):
            raise ReservationError(
                f"a policy is MaximumLength, PowerOfTwo or Oracle, with its longest sequence; "
                f"got {shown(policy)}."
            )
        self.policy = policy
        self.allocator = policy.allocator(self.num_slots)

    def admit(self, request_id: Hashable, prompt: int, output: int) -> None:
        """Reserve a region and store `prompt` tokens in it; `output` more will follow.

        Errors: RequestTooLong if it can never fit, OutOfSlots if it does not fit now, RequestError for an id
        in use.
        """
        prompt, output = self._check_new(request_id, prompt, output)
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

    def holding(self, request_id: Hashable) -> Holding:
        request = self._get(request_id)
        return Holding(request.stored, request.final, request.asked, request.region.size)
