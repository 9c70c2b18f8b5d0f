"""Compute published KV cache figures and compare: `python tests/public_cases.py FILE ...`.

Each line of a FILE is a JSON object with `params`, `quantity` and `unit`, which go in, and `reported` with an
absolute `tolerance` in that unit, which the result is compared with. `match` is looked at only afterwards:
false marks a published error, which must come out contradicted. A row without a shape is looked up by its
`model`.

With --configs each line has a model's `config` (its config.json) or, where that is null, `facts` in the same
fields; printed are the bytes of one sequence's cache, used and reserved, at 4,096 and 32,768 tokens, or the
reason for refusing. `params_counted_on_meta` must be our own count of parameters where we have one.
--transformers also builds each configuration, scaled down, in Transformers and compares the tensors it keeps.

Exit status: 0 when no row disagrees, 1 when one does, 2 for input that cannot be read.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import config_rows, quantities, units
from cases.params import Uncovered, Unreadable
from kvcourse.errors import shown


@dataclass(frozen=True)
class Outcome:
    """What became of one row. `verdict`: "reproduced", "contradicted" or "not yet covered"."""

    verdict: str
    detail: str
    agrees: bool


def judge(row: dict) -> Outcome:
    """Compute one row and compare. Raises Unreadable where a field is missing or of a wrong kind."""
    quantity, unit = _text(row, "quantity"), _text(row, "unit")
    params, reported, tolerance = row.get("params"), _number(row, "reported"), _number(row, "tolerance")
    if not isinstance(params, dict):
        raise Unreadable(f"params is {shown(params)}; expected a JSON object")
    if tolerance < 0:
        raise Unreadable(f"tolerance is {shown(tolerance)}; expected 0 or more")
    expected = row.get("match", True)
    if not isinstance(expected, bool):
        raise Unreadable(f"match is {shown(expected)}; expected true or false")
    try:
        computed = _in_unit(quantities.values(quantity, params, row.get("model")), units.readings(unit), unit)
    except Uncovered as reason:
        return Outcome("not yet covered", f"{reason}", True)
    number, reading = min(computed, key=lambda found: abs(found[0] - reported))
    numbers = f"computed {number:.6g}, reported {reported:.6g} {shown(unit)[1:-1]}"
    if abs(number - reported) <= tolerance:
        return Outcome("reproduced", numbers + (f" ({reading})" if reading else ""), expected)
    return Outcome("contradicted", numbers + ("" if expected else " (a known published error)"), not expected)


def _in_unit(values: list, meanings: list, unit: str) -> list[tuple[float, str]]:
    """Each value in each meaning of the unit that counts the same thing, with what was read into both."""
    found = [
        (
            float(value.number / meaning.size),
            ", ".join(filter(None, (value.reading, _said(meaning, meanings)))),
        )
        for value in values
        for meaning in meanings
        if value.counts == meaning.counts
    ]
    if not found:
        raise Uncovered(f"unit {unit!r} for a number of {values[0].counts}")
    return found


def _said(meaning: units.Unit, meanings: list) -> str:
    return meaning.reading if len(meanings) > 1 else ""


def _text(row: dict, field: str) -> str:
    if not isinstance(row.get(field), str):
        raise Unreadable(f"{field} is {shown(row.get(field))}; expected a string")
    return row[field]


def _number(row: dict, field: str) -> float:
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Unreadable(f"{field} is {shown(value)}; expected a number")
    return float(value)


def read_rows(path: Path) -> list[dict | Unreadable]:
    """The rows of one file; a line that is no JSON object stands as what is wrong with it."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"cannot read {path}: {error}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            row = Unreadable(f"line {number} is not JSON: {error}")
        if not isinstance(row, (dict, Unreadable)):
            row = Unreadable(f"line {number} is {shown(row)}; expected a JSON object")
        rows.append(row)
    if not rows:
        raise Unreadable(f"{path} has no rows")
    return rows


def judged(paths: list[Path], answer: Callable[[dict], Any]) -> Iterator[tuple[int, dict, Any]]:
    """(number, row, answer) of each row; (0, {}, None) for what is unreadable, with why on stderr."""
    for path in paths:
        try:
            rows = read_rows(path)
        except Unreadable as error:
            print(f"public_cases: {error}.", file=sys.stderr)
            yield 0, {}, None
            continue
        for number, row in enumerate(rows, start=1):
            try:
                if isinstance(row, Unreadable):
                    raise row
                done = answer(row)
            except Unreadable as error:
                print(f"public_cases: {path}, row {number}: {error}.", file=sys.stderr)
                yield 0, {}, None
            else:
                yield number, row, done


def run(paths: list[Path]) -> int:
    verdicts, disagree, unreadable = Counter(), 0, 0
    for number, row, outcome in judged(paths, judge):
        if outcome is None:
            unreadable += 1
            continue
        verdicts[outcome.verdict] += 1
        disagree += not outcome.agrees
        flag = "" if outcome.agrees else "  <-- disagrees with its match"
        name = shown(row.get("model", ""))[1:-1]
        print(f"{number:4} {outcome.verdict:15} {row['quantity']}: {outcome.detail}  [{name}]{flag}")
    total = ", ".join(f"{verdicts[v]} {v}" for v in ("reproduced", "contradicted", "not yet covered"))
    count = sum(verdicts.values())
    print(f"{count} rows: {total}; {disagree} disagree with their match, {unreadable} unreadable.")
    return 2 if unreadable else 1 if disagree else 0


def run_configs(paths: list[Path], as_json: bool, oracle=None) -> int:
    """Print what the configurations in `paths` take; totals go to stderr where the lines are JSON."""
    sized = refused = wrong = unreadable = 0
    if not as_json:
        print("  ".join(f"{f'{n:,} used':>15} {f'{n:,} reserved':>15}" for n in config_rows.LENGTHS))
    for _, _, done in judged(paths, lambda row: config_rows.measure(row, oracle)):
        if done is None:
            unreadable += 1
            continue
        sized, refused = sized + (done.model is not None), refused + (done.model is None)
        wrong += bool(done.wrong)
        print(done.as_json() if as_json else done.line())
    total = f"{sized + refused} rows: {sized} sized, {refused} refused; {wrong} disagree, "
    total += f"{unreadable} unreadable."
    print(total, file=sys.stderr if as_json else sys.stdout)
    return 2 if unreadable else 1 if wrong else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="public_cases.py", description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="rows in JSON, one a line")
    parser.add_argument("--configs", action="store_true", help="rows are configurations, not figures")
    parser.add_argument("--json", action="store_true", help="with --configs: JSON lines, exact bytes")
    parser.add_argument("--transformers", action="store_true", help="with --configs: compare with its caches")
    args = parser.parse_args(argv)
    if not args.configs:
        if args.json or args.transformers:
            parser.error("--json and --transformers go with --configs")
        return run(args.files)
    if args.transformers:
        from cases.scaled import contradiction as oracle  # builds models: torch and Transformers
    else:
        oracle = None
    return run_configs(args.files, args.json, oracle)


if __name__ == "__main__":
    sys.exit(main())
