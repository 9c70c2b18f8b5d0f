"""Staged checks: type, then shape, then value; a failure says what was expected, what came and why it may be.

`check` is for the part of a test cell that learners read: its messages show the values. `hidden` is for the
part behind nbgrader's hidden markers: the same checks, but a message tells neither inputs nor values, only
the kind of error and the likely mistake, so feedback does not give the hidden test away. `blind` is for a
visible check whose expected value is the answer itself: it shows what came, not what was expected.

    check.integer(rows_projected(64, 16, True), 79, "rows_projected(64, 16, cached=True)",
                  quantity="rows_projected", prompt=64, new=16, cached=True)

What is expected is computed before the learner's function is called (it may change its arguments).
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvcourse.checks.catalog.memory import UNIT_BYTES
from kvcourse.checks.mistakes import Match, diagnose
from kvcourse.checks.own_work import borrowed
from kvcourse.checks.plain import (
    MAPPINGS,
    counts_from_zero,
    describe,
    known_type,
    real,
    truth,
    type_name,
    whole,
)

if TYPE_CHECKING:
    from kvcourse.memory import CacheModel

NOTHING = "None means that the function ended without `return`."
LAYERS = "cache_of_layers"  # a quantity of a CacheModel, whose mistakes are wrong models, not factors
BLOCKED = -1e4  # an additive mask that takes this much off a score blocks it in every dtype down to fp16


class CheckFailed(AssertionError):
    """A check that failed. The message is written for the learner."""


class Checks:
    """Checks whose messages show inputs and values (`show=True`) or hide them.

    `tell=False` keeps back what was expected and shows the rest.
    """

    def __init__(self, show: bool, tell: bool = True) -> None:
        self._show, self._tell = show, tell

    # ---- numbers ---------------------------------------------------------------------------------

    def integer(self, got: Any, want: int, case: str, quantity: str | None = None, **inputs: Any) -> None:
        """`got` is the whole number `want`: int, numpy integer, or a float or Fraction without remainder."""
        __tracebackhide__ = True
        number = whole(got)
        if number is None:
            self._fail(case, "a whole number", describe(got), self._why(got))
        if number != want:
            likely = _likely(quantity, number, inputs)
            self._fail(case, describe(want), describe(got), likely or _side(number, want))

    def number(
        self, got: Any, want: float, case: str, rtol: float = 0.02, quantity: str | None = None, **inputs: Any
    ) -> None:
        """`got` is within `rtol` of `want` (2 % unless told): int, float, Fraction or numpy's; nan fails."""
        __tracebackhide__ = True
        number = real(got)
        if number is None:
            self._fail(case, "a number", describe(got), self._why(got))
        if not abs(number - want) <= rtol * abs(want):
            likely = _likely(quantity, number, inputs)
            self._fail(
                case, f"{describe(want)} within {rtol:.1%}", describe(got), likely or _side(number, want)
            )

    def credit(
        self,
        got: Sequence[Any],
        want: Sequence[float],
        case: str,
        points: float,
        part: float,
        factors: Mapping[float, str],
        rtol: float = 0.02,
        quantity: str | None = None,
        inputs: Sequence[dict[str, Any]] = (),
    ) -> float:
        """Score of a list of numbers: `points` if all are right, `part` if all are off by one known factor.

        `factors` gives each accepted factor (got / expected) and the sentence that names the slip, which is
        printed with the part mark. Anything else fails; `quantity` and `inputs` (for each number) find the
        hint. Put it last in the cell, where nbgrader reads the score.
        """
        __tracebackhide__ = True
        numbers = [real(item) for item in got]
        if len(numbers) != len(want) or None in numbers:
            odd = [item for item in got if real(item) is None]
            came = describe(odd[0]) if odd else f"{len(numbers)}"
            self._fail(case, f"{len(want)} numbers", came, self._why(odd[0]) if odd else "")

        def fits(factor: float) -> bool:
            pairs = zip(numbers, want, strict=True)
            return all(abs(a - factor * b) <= rtol * abs(factor * b) for a, b in pairs)

        if fits(1.0):
            return points
        for factor, sentence in factors.items():
            if fits(factor):
                print(f"{case}: {part:g} of {points:g} points. {sentence}")
                return part
        first = next(at for at, b in enumerate(want) if not abs(numbers[at] - b) <= rtol * abs(b))
        likely = _likely(quantity, numbers[first], inputs[first]) if inputs else ""
        likely = likely or _side(numbers[first], want[first])
        self._fail(case, describe(want[first]), describe(got[first]), likely)
        return 0.0

    def size(
        self, got: Any, want: int, case: str, points: float, part: float,
        rtol: float = 0.05, quantity: str | None = None, **inputs: Any,
    ) -> float:  # fmt: skip
        """Score of a pair (number, unit) that stands for `want` bytes, within `rtol`: `points`.

        `part` where only the unit's family is wrong (GB said of a number of GiB); anything else fails. Put it
        last in the cell, where nbgrader reads the score.
        """
        __tracebackhide__ = True
        if type(got) not in (tuple, list) or len(got) != 2 or real(got[0]) is None or type(got[1]) is not str:
            example = "a pair of a number and a unit, such as (3.5, 'GiB')"
            self._fail(case, example, describe(got), self._why(got), safe=True)
        units = {"KB": "kB", "bytes": "B", "byte": "B", "Gi": "GiB", "Mi": "MiB", "Ki": "KiB"}
        number, unit = real(got[0]), units.get(got[1].strip(), got[1].strip())
        if unit not in UNIT_BYTES:
            known = f"a unit among {', '.join(UNIT_BYTES)}"
            self._fail(case, known, describe(got[1]), safe=True)
        right = want / UNIT_BYTES[unit]
        if abs(number - right) <= rtol * right:
            return points
        rough = {"unit": unit, "within": 0.03 * abs(number)}  # people round such figures
        likely = _likely(quantity, number, inputs | rough)
        twin = unit.replace("iB", "B").replace("KB", "kB") if "iB" in unit else unit.upper()[:1] + "iB"
        if unit != "B" and abs(number - want / UNIT_BYTES[twin]) <= 0.01 * want / UNIT_BYTES[twin]:
            print(
                f"{case}: {part:g} of {points:g} points. That is the number in {twin}; the unit says {unit}."
            )
            return part
        self._fail(case, f"{right:.6g} {unit}", f"{describe(number)} {unit}", likely or _side(number, right))
        return 0.0

    # ---- words and tokens ------------------------------------------------------------------------

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

    def yes_or_no(self, got: Any, want: bool, case: str, sentence: str) -> None:
        """`got` is True or False (or NumPy's), and the one that `want` is; if not, `sentence` tells why."""
        __tracebackhide__ = True
        if truth(got) is None:
            self._fail(case, "True or False", describe(got), self._why(got), safe=True)
        self.that(truth(got) is want, case, sentence)

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

    def integers(
        self,
        got: Any,
        want: Sequence[int],
        case: str,
        one: str = "number",
        mistakes: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """`got` is the whole numbers `want`, in order. `mistakes` maps a hint to what the mistake gives."""
        __tracebackhide__ = True
        many = one if len(want) == 1 else f"{one}s"
        self._sequence(got, want, case, one, many, mistakes)

    def items(self, got: Any, count: int, case: str) -> list[Any]:
        """The items of `got`, a tuple or list of `count`."""
        __tracebackhide__ = True
        if type(got) not in (tuple, list):
            self._fail(case, f"a tuple of {count}", describe(got), self._why(got), safe=True)
        if len(got) != count:
            self._fail(case, f"a tuple of {count}", f"{len(got)} items", safe=True)
        return list(got)

    def blocks(
        self, got: Any, count: int, among: Collection[int], case: str, otherwise: str = ""
    ) -> list[int]:
        """The ids in `got`: a list of `count` different blocks of `among`, in any order.

        `otherwise` says what a block outside `among` means.
        """
        __tracebackhide__ = True
        many = f"{count} block{'' if count == 1 else 's'}"
        if type(got) not in (list, tuple):
            self._fail(case, f"a list of {many}", describe(got), self._why(got), safe=True)
        if len(got) != count:
            self._fail(case, many, f"{len(got)}", safe=True)
        ids = [whole(item) for item in got]
        if None in ids:
            self._fail(case, "block ids that are whole numbers", describe(got[ids.index(None)]), safe=True)
        twice = [block for at, block in enumerate(ids) if block in ids[:at]]
        if twice:
            self._fail(case, f"{many}, all different", f"block {twice[0]} twice", safe=True)
        strange = [block for block in ids if block not in among]
        if strange:
            self._fail(case, f"blocks of {describe(sorted(among))}", f"block {strange[0]}", otherwise)
        return ids

    def tokens(self, got: Any, want: Sequence[int], case: str) -> None:
        """`got` is the token ids `want`: a list, a tuple, or a tensor or array of one dimension."""
        __tracebackhide__ = True
        self._sequence(got, want, case, "token", "token ids")

    def rows_fed(self, fed: Sequence[int], want: Sequence[int], case: str) -> None:
        """A WatchedModel's `fed` is `want`: so many rows at each call of `forward`."""
        __tracebackhide__ = True
        self._sequence(fed, want, case, "rows:", "calls of forward")

    def _sequence(
        self,
        got: Any,
        want: Sequence[int],
        case: str,
        one: str,
        many: str,
        mistakes: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        __tracebackhide__ = True
        if type_name(got) in ("torch.Tensor", "numpy.ndarray"):
            if len(got.shape) != 1:
                self._fail(case, f"{len(want)} {many} in one dimension", describe(got))
            got = got.tolist()
        if type(got) not in (list, tuple):
            self._fail(case, f"a list of {many}", describe(got), self._why(got))
        ids = [whole(item) for item in got]
        if None in ids:
            self._fail(case, f"{many} that are whole numbers", describe(got[ids.index(None)]))
        hints = [hint for hint, wrong in (mistakes or {}).items() if ids == list(wrong) != list(want)]
        if len(ids) != len(want):
            likely = " Or: ".join(hints)
            if one == "token" and len(ids) > len(want):
                more = f"{len(ids) - len(want)} " if self._show else ""
                likely = f"That is {more}more than asked for."
                if len(want) and ids[-len(want) :] == list(want):  # what was asked for, behind something else
                    likely = "The right tokens stand behind others. The prompt is not part of the answer."
            self._fail(case, f"{len(want)} {many}", f"{len(ids)}", likely, safe=True)
        for at, (a, b) in enumerate(zip(ids, want, strict=True)):
            if a != b:
                place = f"The first difference is at index {at}." if self._show else ""
                likely = " Or: ".join(hints) or place
                self._fail(case, f"{one} {b} at index {at}", f"{one} {a}", likely)

    # ---- tensors ---------------------------------------------------------------------------------

    def tensor(
        self,
        got: Any,
        want: Any,
        case: str,
        atol: float = 1e-5,
        legend: str = "",
        where: Any = None,
        mistakes: Mapping[str, Any] | None = None,
    ) -> None:
        """`got` is a tensor of `want`'s shape and dtype and differs nowhere by more than `atol`; nan fails.

        `legend` names the dimensions, such as "(H, D)". `where`, a bool tensor, limits what is compared.
        `mistakes` maps a hint to the tensor that the mistake gives: a wrong `got` that is one of them earns
        the hint.
        """
        __tracebackhide__ = True
        import torch

        if type(got) is not torch.Tensor:
            self._fail(case, "a torch.Tensor", describe(got), self._why(got), safe=True)
        if tuple(got.shape) != tuple(want.shape):
            self._fail(
                case, f"shape {tuple(want.shape)} {legend}".strip(), f"shape {tuple(got.shape)}", legend
            )
        if got.dtype != want.dtype:
            self._fail(case, f"dtype {want.dtype}", f"dtype {got.dtype}", safe=True)
        off = _off(got, want, atol, where)
        if bool(off.any()):
            known = (mistakes or {}).items()
            hints = [hint for hint, wrong in known if _same(got, wrong, 10 * atol, where)]
            first = tuple(int(index) for index in off.nonzero()[0])
            number, right = got[first].item(), want[first].item()
            found = f"{describe(number)} at {list(first)}, the first of {int(off.sum())} places that differ"
            expected = describe(right) + (f" within {atol:g}" if want.is_floating_point() else "")
            self._fail(case, expected, found, " Or: ".join(hints))

    def mask(self, got: Any, want: Any, case: str, mistakes: Mapping[str, Any] | None = None) -> None:
        """`got` lets the same pairs through as the bool tensor `want` (rows: queries, columns: keys).

        A bool tensor (True: may look) or one that is added to scores (0: may look, -inf: may not); leading
        dimensions of 1 do not matter.
        """
        __tracebackhide__ = True
        import torch

        if type(got) is not torch.Tensor:
            self._fail(case, "a bool tensor", describe(got), self._why(got), safe=True)
        rows, columns = want.shape
        if got.dim() < 2 or tuple(got.shape[-2:]) != (rows, columns) or got.numel() != rows * columns:
            self._fail(
                case, f"shape ({rows}, {columns})", f"shape {tuple(got.shape)}", "(n_new, n_past + n_new)"
            )
        grid = got.reshape(rows, columns)
        if grid.is_floating_point():
            if not bool(((grid == 0) | (grid <= BLOCKED)).all()):
                number = "A mask of numbers is added to the scores: 0 lets through, -inf blocks."
                self._fail(case, "a bool tensor", describe(got), number, safe=True)
            grid = grid == 0
        if grid.dtype != torch.bool:
            self._fail(case, "a bool tensor", describe(got), safe=True)
        wrong = (grid != want).nonzero()
        if len(wrong):
            hints = [hint for hint, other in (mistakes or {}).items() if torch.equal(grid, other)]
            row, column = (int(index) for index in wrong[0])
            says = {True: "may look", False: "may not look"}
            place = f"query {row} at key {column}"
            self._fail(
                case,
                f"{place}: {says[bool(want[row, column])]}",
                f"{says[bool(grid[row, column])]} ({len(wrong)} places differ)",
                " Or: ".join(hints),
            )

    # ---- errors, rules, the end ------------------------------------------------------------------

    def own_work(self, name: str, package: str = "kvcourse", given: Collection[str] = ()) -> None:
        """`name` was built in the notebook: it uses nothing from `package` but the names `given`."""
        __tracebackhide__ = True
        sentence = borrowed(name, package, given)
        if sentence:
            raise CheckFailed(f"{name}\n  {sentence}")

    def raises(self, error: type[Exception], function: Callable, *args: Any, case: str) -> None:
        """`function(*args)` raises `error`. Always beside a case that must not raise."""
        __tracebackhide__ = True
        try:
            got = function(*args)
        except error as raised:
            if isinstance(raised, NotImplementedError):  # the stub's own error is a RuntimeError
                raise
            return
        self._fail(case, f"{error.__name__}", f"no error, but {describe(got)}", safe=True)

    def that(self, holds: bool, case: str, sentence: str) -> None:
        """An invariant of the author's own: `holds` is True; if not, `sentence` tells what that means."""
        __tracebackhide__ = True
        if type(holds) is not bool:
            raise TypeError(f"an invariant is True or False; got {type_name(holds)}")
        if not holds:
            raise CheckFailed(f"{case}\n  {sentence}")

    def passed(self, name: str) -> None:
        """Say that the checks of this cell went through, and that grading adds others."""
        print(f"{name}: the checks you see pass. Grading adds others of the same kind.")

    # ---- messages --------------------------------------------------------------------------------

    def _fail(self, case: str, want: str, got: str, likely: str = "", safe: bool = False) -> None:
        """Raise the staged message. What is expected shows in visible checks, and where it tells nothing
        (`safe`). What came shows in visible ones only: code that was handed in could return its arguments.
        """
        __tracebackhide__ = True
        lines = [case if self._show else f"{case}, with other inputs than the ones shown"]
        if safe or (self._show and self._tell):
            lines.append(f"  expected: {want}")
        if self._show:
            lines.append(f"  got:      {got}")
        if likely:
            lines.append(f"  likely:   {likely}")
        elif not (self._show or safe):
            lines.append(
                "  The value is not the expected one. Try small sizes by hand: 1, 2, and unequal ones."
            )
        raise CheckFailed("\n".join(lines))

    def _why(self, got: Any) -> str:
        return NOTHING if got is None else "" if self._show else f"The type was {known_type(got)}."


check = Checks(show=True)
hidden = Checks(show=False)
blind = Checks(show=True, tell=False)


def _likely(quantity: str | None, number: float, inputs: dict[str, Any]) -> str:
    number = real(number)
    if quantity is None or number is None or not math.isfinite(number):
        return ""
    found = _of_layers(number, **inputs) if quantity == LAYERS else diagnose(quantity, number, **inputs)
    return " Or: ".join(f"{match.name}. {match.hint}" for match in found)


def _of_layers(number: float, model: "CacheModel", tokens: int) -> list[Match]:
    """Known mistakes that give `number` bytes for a sequence's cache in 16 bits, whatever its layers keep."""
    from kvcourse.checks.kind_mistakes import diagnose as of_kinds
    from kvcourse.memory import parse_storage

    return of_kinds(model, number, parse_storage("fp16"), tokens, batch=1, unit="B", within=0.0)


def _side(number: float, want: float) -> str:
    return (
        "The value is not a number." if number != number else "Too large." if number > want else "Too small."
    )


def _same(got: Any, wrong: Any, atol: float, where: Any) -> bool:
    """Whether `got` is what a mistake gives, nan for nan."""
    return not bool((_off(got, wrong, atol, where) & ~((got != got) & (wrong != wrong))).any())


def _off(got: Any, want: Any, atol: float, where: Any) -> Any:
    """True where the two differ by more than `atol` or either is nan. Bool and integer tensors: exactly."""
    off = ~((got - want).abs() <= atol) if want.is_floating_point() else got != want
    return off if where is None else off & where
