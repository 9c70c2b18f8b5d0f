"""Scores as CSV: one row a student and assignment, with a column for each problem."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvcourse.course.bank import problem_of
from kvcourse.grading.standings import Row, rows

COLUMNS = (
    "assignment", "student", "last_name", "first_name", "email", "lms_user_id", "handed_in", "points",
    "late_penalty", "score", "max_score", "needs_manual", "graded", "note",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run


@dataclass
class Table:
    """Scores as CSV text; how many submissions wait for a person, and whose newest one was not graded."""

    text: str = ""
    rows: int = 0
    waiting: int = 0
    refused: dict[str, None] = field(default_factory=dict)  # in the order of the rows, each once


def scores_csv(
    gradebook: Any,
    assignments: list[str],
    students: tuple[str, ...],
    reasons: Mapping[str, Mapping[str, str]],
) -> Table:
    """The scores of assignments. `reasons`: assignment -> student -> why the newest hand-in was not graded.

    `score` is points less the late penalty, not below 0, as nbgrader counts. Scores are empty for who handed
    nothing in (`graded` is empty, too) and for who handed in nothing that could be graded (`graded` is no).
    `graded` is earlier where the newest cannot be graded and points of one before it, or by hand, stand.
    Problem columns stand in the order of the notebooks.
    """
    listed = [(name, list(rows(gradebook, name, students))) for name in assignments]
    problems: dict[str, None] = {}
    for _, entries in listed:
        problems |= dict.fromkeys(problem_of(cell) for entry in entries[:1] for cell in entry.cells)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*COLUMNS, *map(_text, problems)])
    table = Table()
    for name, entries in listed:
        for entry in entries:
            reason = reasons[name].get(entry.student.id, "") if entry.standing else ""
            table.rows += 1
            table.waiting += _waits(entry, reason) == "yes"
            if reason:
                table.refused[entry.student.id] = None
            writer.writerow([*_head(name, entry, reason), *_by_problem(entry, list(problems))])
    table.text = stream.getvalue()
    return table


def _head(assignment: str, row: Row, reason: str) -> list[Any]:
    who = row.student
    named = [assignment, who.id, who.last_name, who.first_name, who.email, who.lms_user_id]
    when = row.handed_in.isoformat() if row.handed_in else ""
    end = [_waits(row, reason), _graded(row, reason), _text(reason)]
    if not row.scored:
        return [*map(_text, named), when, "", "", "", _number(row.worth), *end]
    points = sum(got for got, _, _ in row.standing.grades.values())
    penalty = row.standing.penalty
    numbers = [points, penalty, max(0.0, points - penalty), row.worth]
    return [*map(_text, named), when, *map(_number, numbers), *end]


def _by_problem(row: Row, problems: list[str]) -> list[str]:
    """Points by problem, empty where the assignment has no such problem or nothing was graded."""
    totals: dict[str, float] = {}
    for cell, (points, _, _) in row.standing.grades.items() if row.scored else ():
        totals[problem_of(cell)] = totals.get(problem_of(cell), 0.0) + points
    return [_number(totals[problem]) if problem in totals else "" for problem in problems]


def _waits(row: Row, reason: str) -> str:
    """Whether answers wait for a person: yes, no, or empty where there is nothing to grade."""
    if row.standing is None or (reason and not row.scored):
        return ""
    return "yes" if any(waits for _, _, waits in row.standing.grades.values()) else "no"


def _graded(row: Row, reason: str) -> str:
    if row.scored:
        return "earlier" if reason else "yes"
    return "" if row.standing is None else "no"


def _number(value: float) -> str:
    return f"{round(value, 6):.12g}"


def _text(value: Any) -> str:
    """A text as one cell that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
