"""What a known mistake is: a wrong way to a quantity, or a factor too many. `i` holds the inputs by name."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

Value = Callable[[SimpleNamespace], float | int | None]


@dataclass(frozen=True)
class Way:
    """A wrong way to compute a quantity."""

    name: str
    value: Value
    hint: str


@dataclass(frozen=True)
class Slip:
    """A factor too many or too few. Two slips of one group do not happen together."""

    name: str
    factor: Value
    hint: str
    group: str


@dataclass(frozen=True)
class Quantity:
    """A number that learners compute: its right value and the mistakes known for it. Tolerance 0 = exact."""

    name: str
    needs: tuple[str, ...]
    right: Value
    ways: tuple[Way, ...] = ()
    slips: tuple[Slip, ...] = ()
    optional: tuple[str, ...] = ()
    tolerance: float = 0.0
