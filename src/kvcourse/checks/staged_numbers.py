"""Staged checks of numbers: exact, within a tolerance, or for part marks; the hint is a known mistake's."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvcourse.checks.catalog.memory import UNIT_BYTES
from kvcourse.checks.messages import Messages
from kvcourse.checks.mistakes import Match, diagnose
from kvcourse.checks.plain import describe, real, whole

if TYPE_CHECKING:
    from kvcourse.memory import CacheModel

LAYERS = "cache_of_layers"  # a quantity of a CacheModel, whose mistakes are wrong models, not factors


class Numbers(Messages):
    """Checks of one number or several."""

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
