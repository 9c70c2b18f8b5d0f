"""From what the checker process reports to points: nbgrader's rule for graded cells, made strict.

nbgrader gives full points for a last value that is negative, nan or no number, and none for a warning on
stderr. Here an error costs the cell's points, a last value that is a number from 0 to the cell's points is
the score, and anything else there is a fault of the test cell: 0, and a person is asked.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from kvcourse.grading.outputs import Room, checked
from kvcourse.grading.report import Problem

TAMPERING = "ProtocolError"


@dataclass
class CellOutcome:
    """What came of one cell that ran."""

    key: str
    kind: str
    outputs: list[dict] = field(default_factory=list)
    hidden: list[bool] = field(
        default_factory=list
    )  # for each output, whether a hidden line of the test made it
    passed: bool = False
    value: str | None = None
    shown: bool = True
    hint: str = ""
    fault: str = ""
    fault_kind: str = ""
    problem: str = ""
    late: bool = (
        False  # a student's cell, or what a test put out visibly, after a hidden line called their code
    )
    instead: list[dict] | None = None  # what feedback shows then


def as_message(outcome: CellOutcome) -> dict[str, Any]:
    """An outcome as `read_outcome` reads it."""
    message = {name: value for name, value in vars(outcome).items() if name not in ("key", "fault_kind")}
    return {**message, "kind": outcome.fault_kind or None}


def read_outcome(key: str, kind: str, message: dict[str, Any]) -> CellOutcome:
    """A checker's message about a cell, each part checked: the checker has read bytes of a stranger's."""
    outcome = CellOutcome(key, kind)
    room = Room()
    outputs, hidden = message.get("outputs"), message.get("hidden")
    if isinstance(outputs, list) and isinstance(hidden, list) and len(outputs) == len(hidden):
        for output, flag in zip(outputs, hidden, strict=True):
            kept = checked(output, room)
            if kept is not None:
                outcome.outputs.append(kept)
                outcome.hidden.append(flag is not False)
    if isinstance(message.get("instead"), list):
        room = Room()
        outcome.instead = [kept for kept in (checked(o, room) for o in message["instead"]) if kept]
    outcome.late = message.get("late") is not False
    outcome.passed = message.get("passed") is True
    outcome.shown = message.get("shown") is not False
    for name in ("value", "hint", "fault", "problem"):
        given = message.get(name)
        setattr(outcome, name, given[:4000] if isinstance(given, str) else getattr(outcome, name))
    if outcome.fault or message.get("kind"):
        outcome.fault = outcome.fault or "unknown"
        outcome.fault_kind = str(message.get("kind"))[:100]
        outcome.passed = False
    return outcome


def not_run(key: str, kind: str, reason: str) -> CellOutcome:
    """The outcome of a cell that the grader never reached."""
    text = f"This cell was not run: {reason}."
    error = {"output_type": "error", "ename": "NotRun", "evalue": text, "traceback": [f"NotRun: {text}"]}
    return CellOutcome(key, kind, [error], [False], fault=reason, fault_kind="NotRun")


def score(outcome: CellOutcome, points: float) -> tuple[float, Problem | None]:
    """The points of a test cell, and what a person has to know about it."""
    key = outcome.key
    if outcome.problem:
        return 0.0, Problem("test-cell", f"the test cell {key} needs its author: {outcome.problem}.", key)
    if not outcome.passed:
        return 0.0, None
    if outcome.value is None:
        return points, None
    try:
        value = float(outcome.value)
    except ValueError:
        value = math.nan
    if not 0 <= value <= points:
        said = f"its last value is {outcome.value[:40]}, expected 0 to {points:g}"
        return 0.0, Problem("test-cell", f"the test cell {key} needs its author: {said}.", key)
    return value, None


def fault_problem(outcome: CellOutcome) -> Problem | None:
    """What the report says about a cell that hung, died or broke the protocol."""
    if not outcome.fault:
        return None
    kinds = {
        "CellTimeout": ("timeout", "took longer than it may", False),
        "PeerDied": ("process-ended", "ended the process that ran it", False),
        TAMPERING: ("tampering", "interfered with the grading", True),
        "NotRun": ("not-run", f"was not run ({outcome.fault})", True),
    }
    code, said, person = kinds.get(
        outcome.fault_kind, ("fault", f"failed in the grader ({outcome.fault})", True)
    )
    if outcome.kind == "setup":  # the instructor's own cell: the fault is hardly the student's
        said, person = f"{said}, though it is the assignment's own", True
    return Problem(code, f"cell {outcome.key} {said}.", outcome.key, needs_person=person)
