"""The parameters of one row. Whatever is not read makes the row uncovered: nothing is ignored in silence."""

from fractions import Fraction


class Uncovered(Exception):
    """A kind, key or unit that is not understood (yet); the message says which."""


class Unreadable(Exception):
    """Input that no row can have: the message names the field."""


class Params:
    """Parameters with the names that rows use for the same thing; every read is remembered."""

    def __init__(self, raw: dict) -> None:
        for name, value in raw.items():
            if isinstance(value, bool) or value is None or isinstance(value, (str, list, dict)):
                continue
            if not isinstance(value, (int, float)) or value != value or value < 0 or value == float("inf"):
                raise Unreadable(f"params.{name} is {value!r}; expected a number of 0 or more")
        self.raw = raw
        self.used: set[str] = set()

    def name(self, *names: str) -> str | None:
        """Which of `names` the row has; two that disagree are not understood."""
        present = [name for name in names if name in self.raw]
        self.used.update(present)
        if len({repr(self.raw[name]) for name in present}) > 1:
            raise Uncovered(f"keys {' and '.join(present)} disagree")
        return present[0] if present else None

    def has(self, *names: str) -> bool:
        return any(name in self.raw for name in names)

    def value(self, *names: str) -> object:
        name = self.name(*names)
        return None if name is None else self.raw[name]

    def number(self, *names: str) -> Fraction | None:
        name = self.name(*names)
        if name is None:
            return None
        value = self.raw[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Uncovered(f"key {name!r} with the value {value!r}, expected a number")
        return Fraction(str(value))  # 8.11 as printed, not its nearest double

    def count(self, *names: str) -> int | None:
        number = self.number(*names)
        if number is not None and number.denominator != 1:
            raise Uncovered(f"key {self.name(*names)!r} with the fraction {float(number)}")
        return None if number is None else int(number)

    def need(self, *names: str) -> int:
        count = self.count(*names)
        if count is None:
            raise Uncovered(f"no key {names[0]!r}")
        return count

    def text(self, *names: str) -> str | None:
        name = self.name(*names)
        if name is not None and not isinstance(self.raw[name], str):
            raise Uncovered(f"key {name!r} with the value {self.raw[name]!r}, expected a name")
        return None if name is None else self.raw[name]

    def flag(self, *names: str) -> bool:
        name = self.name(*names)
        if name is not None and not isinstance(self.raw[name], bool):
            raise Uncovered(f"key {name!r} with the value {self.raw[name]!r}, expected true or false")
        return False if name is None else self.raw[name]

    def refuse_the_unread(self) -> None:
        for name in self.raw:
            if name not in self.used:
                raise Uncovered(f"key {name!r}")
