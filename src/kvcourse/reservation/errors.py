"""What can be wrong with a request for contiguous memory. Whoever raises one of these has changed nothing."""

import operator
from collections.abc import Container

from kvcourse.errors import UserError, shown


class ReservationError(UserError):
    """A request the pool cannot carry out; its state is as before the call."""


class OutOfSlots(ReservationError):
    """No free region is large enough now; it may work once another request has finished."""


class RequestTooLong(ReservationError):
    """More than the policy allows or the pool can ever give; waiting will not help."""


class RequestError(ReservationError):
    """A request or region that is unknown (never admitted, or finished), or that is already there."""


def region_start(start: object, held: Container[int]) -> int:
    """`start` as an int, if a region that is held starts there; RequestError for anything else."""
    try:
        number = operator.index(start)
    except TypeError:
        number = None
    if number is None or number not in held:
        raise RequestError(
            f"no region starts at slot {shown(start)}: it was never given, or is already free."
        )
    return number
