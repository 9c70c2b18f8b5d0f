"""What can be wrong with a request for contiguous memory. Whoever raises one of these has changed nothing."""

from kvcourse.errors import UserError


class ReservationError(UserError):
    """A request the pool cannot carry out; its state is as before the call."""


class OutOfSlots(ReservationError):
    """No free region is large enough now; it may work once another request has finished."""


class RequestTooLong(ReservationError):
    """More than the policy allows or the pool can ever give; waiting will not help."""


class RequestError(ReservationError):
    """A request or region that is unknown (never admitted, or finished), or that is already there."""
