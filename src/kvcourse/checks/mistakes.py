"""The hint engine: which known mistake gives this wrong number?

A wrong number is often a fingerprint: 80 where 79 is right is `prompt + new`. `diagnose` computes what each
known mistake would give for the same inputs and names every one that fits, with a nudge and never the answer.
When no single mistake fits, two factors at once are tried (bits for bytes *and* query heads for KV heads).

The mistakes themselves are in the folder `catalog`, by quantity.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from kvcourse.checks import catalog
from kvcourse.checks.plain import describe, real
from kvcourse.errors import UserError, shown


class DiagnoseError(UserError):
    """A question to the hint engine that it cannot take: unknown quantity, missing input, not a number."""


@dataclass(frozen=True)
class Match:
    """A known mistake that gives the value: its name, and a nudge that does not contain the answer."""

    name: str
    hint: str


def diagnose(quantity: str, got: Any, *, within: float = 0.0, **inputs: Any) -> list[Match]:
    """Known mistakes that turn `inputs` into `got`; [] when `got` is right or no known mistake gives it.

    Several mistakes may give one value: all are listed, the commonest first. `config=` stands for the fields
    of a ModelConfig; `within` says how far a `got` that somebody rounded may be off. Raises DiagnoseError for
    an unknown quantity, unknown or missing inputs, or a `got` that is no number.
    """
    known = _quantity(quantity)
    number = real(got)
    if number is None or not math.isfinite(number):
        raise DiagnoseError(f"{quantity} is a number; got {describe(got)}.")
    given = _bound(known, inputs)
    right = known.right(given)

    def is_got(value: float) -> bool:
        return abs(number - value) <= within or _same(number, value, known.tolerance)

    if is_got(right):
        return []

    def gives(value: float | None) -> bool:
        wrong = value is not None and not _same(value, right, known.tolerance)
        return wrong and is_got(value)

    slips = [(slip, factor) for slip in known.slips if (factor := slip.factor(given)) is not None]
    single = [Match(way.name, way.hint) for way in known.ways if gives(way.value(given))]
    single += [Match(slip.name, slip.hint) for slip, factor in slips if gives(right * factor)]
    if single:
        return single
    return [
        Match(f"{first.name}, and {second.name}", f"Two things at once. {first.hint} {second.hint}")
        for (first, a), (second, b) in combinations(slips, 2)
        if first.group != second.group and gives(right * a * b)
    ]


def right_value(quantity: str, **inputs: Any) -> float | int:
    """The right value of a quantity: for tests and the command line, never for a learner's message."""
    known = _quantity(quantity)
    return known.right(_bound(known, inputs))


def quantities() -> dict[str, tuple[str, ...]]:
    """Each quantity's name and the inputs it needs."""
    return {name: known.needs for name, known in catalog.QUANTITIES.items()}


def _quantity(name: str) -> catalog.Quantity:
    if name not in catalog.QUANTITIES:
        raise DiagnoseError(
            f"unknown quantity {shown(name)}; expected one of {', '.join(catalog.QUANTITIES)}."
        )
    return catalog.QUANTITIES[name]


def _bound(known: catalog.Quantity, inputs: dict[str, Any]) -> SimpleNamespace:
    """The inputs by name, absent optional ones None; a config is spread over the inputs that it knows."""
    allowed = (*known.needs, *known.optional)
    config = inputs.pop("config", None) if "config" not in allowed else None
    fields = {} if config is None else {name: getattr(config, name, None) for name in allowed}
    unknown = [name for name in inputs if name not in allowed]
    given = dict.fromkeys(allowed) | fields | inputs
    if config is not None and "matmul_params" in allowed and given["matmul_params"] is None:
        given["matmul_params"] = catalog.matmul_params(config)
    missing = [name for name in known.needs if given[name] is None]
    if unknown or missing:
        problem = f"unknown input {unknown[0]!r}" if unknown else f"missing input {missing[0]!r}"
        raise DiagnoseError(f"{known.name} has the {problem}; expected {', '.join(known.needs)}.")
    return SimpleNamespace(**given)


def _same(a: float, b: float, tolerance: float) -> bool:
    return a == b if tolerance == 0 else abs(a - b) <= tolerance * abs(b)
