"""What all pools have in common: running requests by id, and the split over what each of them holds."""

from collections.abc import Hashable

from kvcourse.blocks.errors import whole_number
from kvcourse.errors import shown
from kvcourse.reservation.errors import RequestError, ReservationError
from kvcourse.reservation.split import PoolSplit


class Pool:
    """`num_slots` slots. A kind of pool adds `admit`, `append`, `finish` and `holding`."""

    def __init__(self, num_slots: int):
        self.num_slots = whole_number(num_slots, "the number of slots", error=ReservationError)
        self.requests: dict[Hashable, object] = {}  # the running ones

    def split(self) -> PoolSplit:
        """Where all slots are now."""
        holdings = map(self.holding, self.requests)
        return PoolSplit.of(self.num_slots, *map(sum, zip((0, 0, 0, 0), *holdings, strict=True)))

    def _check_new(self, request_id: Hashable, prompt: int, output: int) -> tuple[int, int]:
        """What every pool asks of a request before it admits it; its prompt and its output."""
        prompt = whole_number(prompt, "the tokens of a prompt", error=ReservationError)
        output = whole_number(output, "the tokens of an output", error=ReservationError)
        if self._is_running(request_id):
            raise RequestError(f"request {shown(request_id)} is already running.")
        return prompt, output

    def _get(self, request_id: Hashable):
        if not self._is_running(request_id):
            raise RequestError(f"no request {shown(request_id)} here: never admitted, or finished.")
        return self.requests[request_id]

    def _is_running(self, request_id: Hashable) -> bool:
        try:
            return request_id in self.requests
        except TypeError:
            raise RequestError(f"a request's id must be hashable; got {shown(request_id)}.") from None


def grown(request_id: Hashable, stored: int, count: int, final: int) -> int:
    """Tokens after `count` more; RequestError if that is past what the request has in the end."""
    count = whole_number(count, "the tokens to store", error=ReservationError)
    if stored == final:
        raise RequestError(f"request {shown(request_id)} already has all of its {final} tokens.")
    if stored + count > final:
        raise RequestError(
            f"request {shown(request_id)} has {stored} of its {final} tokens; {count} more are too many."
        )
    return stored + count
