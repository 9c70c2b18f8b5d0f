"""Staged checks of answers in words: a text, letters to choose, a dict, a tuple."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvcourse.checks.messages import Messages
from kvcourse.checks.plain import MAPPINGS, counts_from_zero, describe


class Answers(Messages):
    """Checks of what is no number and no list of numbers; some hand back what is in it."""

    def text(
        self,
        got: Any,
        want: str,
        case: str,
        also: Iterable[str] = (),
        mistakes: Mapping[str, str] | None = None,
    ) -> None:
        """`got` is the text `want` or one of `also`; `mistakes` maps a hint to the text it gives."""
        __tracebackhide__ = True
        if type(got) is not str:
            self._fail(case, "a text (str)", describe(got), self._why(got), safe=True)
        if got not in (want, *also):
            hints = [hint for hint, wrong in (mistakes or {}).items() if got == wrong]
            self._fail(case, describe(want), describe(got), " Or: ".join(hints))

    def one_of(self, got: Any, allowed: Iterable[str], case: str) -> str:
        """The text among `allowed` that `got` is; upper and lower case are the same. Anything else fails."""
        __tracebackhide__ = True
        names = {name.lower(): name for name in allowed}
        if type(got) is not str or got.strip().lower() not in names:
            known = ", ".join(list(names.values())[:4]) + (", ..." if len(names) > 4 else "")
            self._fail(case, f"one of {known}", describe(got), self._why(got), safe=True)
        return names[got.strip().lower()]

    def record(self, got: Any, fields: Sequence[str], case: str) -> list[Any]:
        """The values of `fields` in `got`, a dict or one of Python's own kinds of it, which may have more."""
        __tracebackhide__ = True
        if type(got) not in MAPPINGS:
            self._fail(case, f"a dict with {', '.join(fields)}", describe(got), self._why(got), safe=True)
        missing = [name for name in fields if name not in got and not counts_from_zero(got)]
        if missing:
            came = describe([name for name in got if type(name) is str])
            self._fail(case, f"the key {missing[0]!r}", f"the keys {came}", safe=True)
        return [got.get(name, 0) for name in fields]

    def choices(self, got: Any, allowed: Iterable[str], case: str) -> frozenset[str]:
        """The letters in `got`: a set (or list, tuple, string) of some of `allowed`; anything else fails."""
        __tracebackhide__ = True
        names = sorted(allowed)
        if type(got) not in (set, frozenset, list, tuple, str):
            self._fail(case, f"a set of letters among {', '.join(names)}", describe(got), self._why(got))
        letters = [item.strip().lower() if type(item) is str else item for item in got]
        strange = [item for item in letters if type(item) is not str or item not in names]
        if strange:
            self._fail(case, f"letters among {', '.join(names)} only", describe(strange[0]))
        if not letters:
            self._fail(case, f"at least one of {', '.join(names)}", "none")
        return frozenset(letters)

    def items(self, got: Any, count: int, case: str) -> list[Any]:
        """The items of `got`, a tuple or list of `count`."""
        __tracebackhide__ = True
        if type(got) not in (tuple, list):
            self._fail(case, f"a tuple of {count}", describe(got), self._why(got), safe=True)
        if len(got) != count:
            self._fail(case, f"a tuple of {count}", f"{len(got)} items", safe=True)
        return list(got)
