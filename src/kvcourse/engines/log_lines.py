"""What a start-up log says of its KV cache, and whether that agrees: the parts that all engines share.

A reader (one file an engine) turns the lines it knows into a Reading and checks. Printed figures are rounded,
so a check is an interval: it fails only where no exact number could have been printed both ways.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction

from kvcourse.units import GIB, MIB

UNITS = {"GiB": GIB, "MiB": MIB, "B": 1}
# What stands in a log is untrusted: a figure is plain digits, and of no more of them than a real one has.
COUNT = r"([0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,5})(?!,?[0-9])"
SIZE = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(?![0-9.])"


@dataclass(frozen=True)
class Rounded:
    """A printed size: somewhere from `low` to `high` bytes."""

    low: Fraction
    high: Fraction

    @classmethod
    def parse(cls, digits: str, unit: str) -> "Rounded":
        """ "8.11" and "GiB": within half of the last digit."""
        half = Fraction(1, 2 * 10 ** len(digits.partition(".")[2]))
        value = Fraction(digits.replace(",", ""))
        return cls((value - half) * UNITS[unit], (value + half) * UNITS[unit])

    def __add__(self, other: "Rounded") -> "Rounded":
        return Rounded(self.low + other.low, self.high + other.high)

    def meets(self, low: Fraction | int, high: Fraction | int) -> bool:
        """Whether some number from `low` to `high` could have been printed so."""
        return self.low <= high and low <= self.high


@dataclass(frozen=True)
class Check:
    """One statement about the log's numbers: what was compared, and whether it holds."""

    agrees: bool
    text: str


@dataclass
class Reading:
    """What one engine's log tells. Sizes are of one device; what is None was not printed."""

    engine: str
    model: str | None = None
    ranks: int = 1
    cache_dtype: str | None = None  # None: the model's own
    tokens: int | None = None  # that the cache holds
    pool: Rounded | None = None  # what the cache takes, or what was there for it
    pool_is_room: bool = False  # whether `pool` is the room found, of which whole blocks are used
    shares: int = 1  # devices over which the tokens of `tokens` are spread (context parallelism)
    slack_tokens: int = 0  # tokens beyond `tokens` that the pool may still hold or reserve
    checks: list[Check] = field(default_factory=list)

    def check(self, agrees: bool, text: str) -> None:
        self.checks.append(Check(agrees, text))


def number(text: str) -> int:
    """A whole number with or without separators, as COUNT finds it."""
    return int(text.replace(",", ""))


def positive(found: re.Match | None, otherwise: int) -> int:
    """The first group as a number above 0; `otherwise` where nothing was found, or 0."""
    return (number(found[1]) if found else 0) or otherwise


def last(pattern: str, text: str) -> re.Match | None:
    """The last place where `pattern` stands: a log may hold more than one start."""
    found = None
    for found in re.finditer(pattern, text):  # noqa: B007 (the last one is wanted)
        pass
    return found
