"""What can be wrong with a request to the allocator. Whoever raises one of these has changed nothing."""

import operator

from kvcourse.errors import UserError, shown


class BlockError(UserError):
    """A request the block allocator cannot carry out; its state is as before the call."""


class OutOfBlocks(BlockError):
    """Not enough free blocks now; it may work once another sequence has been freed."""

    def __init__(self, what: str, needed: int, free: int, spare: int = 0):
        kept = f" with {spare} kept spare by the watermark" if spare else ""
        super().__init__(f"out of blocks: {what} needs {needed} free blocks, got {free}{kept}.")
        self.needed, self.free, self.spare = needed, free, spare


class SequenceTooLong(BlockError):
    """More tokens than the whole pool can hold; waiting will not help."""


class SequenceError(BlockError):
    """A sequence id that is unknown (never started, or freed), or that is already in use."""


class DoubleFree(BlockError):
    """A block given back by someone who holds no reference to it."""


class TableError(BlockError):
    """A block table that points outside the pool or disagrees with its length."""


def whole_number(
    value: object, name: str, least: int = 1, most: int | None = None, error: type[UserError] = BlockError
) -> int:
    """`value` as an int in least..most, or an error that names what it is."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        limit = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise error(f"{name} must be a whole number {limit}; got {shown(value)}.")
    return number


def whole_numbers(values: object, name: str, error: type[UserError] = BlockError) -> list[int]:
    """`values` as a list of ints (arrays of ints will do), or an error that names them."""
    try:
        return list(map(operator.index, values))
    except TypeError:
        raise error(f"{name} must be whole numbers; got {shown(values)}.") from None
