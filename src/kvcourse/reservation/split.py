"""Where the slots of a KV pool are at one moment: five whole numbers that add up to the pool."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple

from kvcourse.blocks.errors import whole_number, whole_numbers
from kvcourse.reservation.errors import ReservationError


class Region(NamedTuple):
    """Slots start..start+size-1."""

    start: int
    size: int


class Holding(NamedTuple):
    """Slots of one running request, each number a part of the next."""

    stored: int  # have a token now
    used: int  # have one in the end; a paged request may take more slots than it holds now
    asked: int
    held: int


@dataclass(frozen=True, slots=True)
class PoolSplit:
    """Slots of a pool by what they are doing.

    Which empty slot of a running request is reservation and which internal fragmentation is known only
    afterwards, when its length is. Free slots are external fragmentation as long as a request waits that
    none of the holes can take; figure 2 of the paper shows them together with the rounding.
    """

    tokens: int = 0  # hold the KV of a token
    reservation: int = 0  # empty, and the request that holds them will use them
    internal: int = 0  # empty, and the request that holds them never will
    external: int = 0  # in nobody's region
    other: int = 0  # given beyond what was asked, because the allocator rounds up

    @classmethod
    def of(cls, num_slots: int, stored: int, used: int, asked: int, held: int) -> "PoolSplit":
        """The split of a pool of `num_slots` from the sums over its requests' holdings."""
        return cls(stored, used - stored, asked - used, num_slots - held, held - asked)

    @property
    def total(self) -> int:
        return sum(astuple(self))

    @property
    def external_and_other(self) -> int:
        return self.external + self.other

    def __add__(self, more: "PoolSplit") -> "PoolSplit":
        return PoolSplit(*(a + b for a, b in zip(astuple(self), astuple(more), strict=True)))

    def parts(self) -> dict[str, float]:
        """Percent of the pool in each of the five parts."""
        return {field.name: 100 * getattr(self, field.name) / self.total for field in fields(self)}

    def shares(self) -> dict[str, float]:
        """Percent of the pool, under the four headings of figure 2."""
        parts = {
            "tokens": self.tokens,
            "reservation": self.reservation,
            "internal": self.internal,
            "external_and_other": self.external_and_other,
        }
        return {name: 100 * slots / self.total for name, slots in parts.items()}


def can_fit(extents: Iterable[int], size: int) -> bool:
    """Whether a contiguous region of `size` fits in one of the free extents (their sizes)."""
    size = whole_number(size, "the size of a region", 0, error=ReservationError)
    return size <= max(_sizes(extents), default=0)


def external_fragmentation(extents: Iterable[int]) -> float:
    """1 - largest / all: the share of the free slots that the largest request in one piece cannot have."""
    extents = _sizes(extents)
    return 1 - max(extents) / sum(extents) if any(extents) else 0.0


def _sizes(extents: Iterable[int]) -> list[int]:
    return whole_numbers(extents, "the sizes of the free extents", error=ReservationError)
