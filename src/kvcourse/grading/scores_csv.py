"""Scores as CSV: one row a student and assignment, with a column for each problem."""

import csv
import io
from typing import Any

from kvcourse.course.bank import problem_of
from kvcourse.grading.standings import Row, rows

COLUMNS = (
    "assignment", "student", "last_name", "first_name", "email", "lms_user_id", "handed_in", "points",
    "late_penalty", "score", "max_score", "needs_manual",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run


def scores_csv(gradebook: Any, assignments: list[str], students: tuple[str, ...] = ()) -> tuple[str, int]:
    """The scores of assignments as CSV text, and how many submissions wait for a person.

    `score` is points less the late penalty, not below 0, as nbgrader counts; who handed nothing in has a row
    with empty scores. Problem columns stand in the order of the notebooks.
    """
    listed = [(name, list(rows(gradebook, name, students))) for name in assignments]
    problems: dict[str, None] = {}
    for _, entries in listed:
        problems |= dict.fromkeys(problem_of(cell) for entry in entries[:1] for cell in entry.cells)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*COLUMNS, *map(_text, problems)])
    waiting = 0
    for name, entries in listed:
        for entry in entries:
            waiting += _waits(entry)
            writer.writerow([*_head(name, entry), *_by_problem(entry, list(problems))])
    return stream.getvalue(), waiting


def _head(assignment: str, row: Row) -> list[Any]:
    who = row.student
    named = [assignment, who.id, who.last_name, who.first_name, who.email, who.lms_user_id]
    when = row.handed_in.isoformat() if row.handed_in else ""
    if row.standing is None:
        return [*map(_text, named), when, "", "", "", _number(row.worth), ""]
    points = sum(got for got, _, _ in row.standing.grades.values())
    penalty = row.standing.penalty
    numbers = [points, penalty, max(0.0, points - penalty), row.worth]
    return [*map(_text, named), when, *map(_number, numbers), "yes" if _waits(row) else "no"]


def _by_problem(row: Row, problems: list[str]) -> list[str]:
    """Points by problem, empty where the assignment has no such problem or nothing was handed in."""
    totals: dict[str, float] = {}
    for cell, (points, _, _) in row.standing.grades.items() if row.standing else ():
        totals[problem_of(cell)] = totals.get(problem_of(cell), 0.0) + points
    return [_number(totals[problem]) if problem in totals else "" for problem in problems]


def _waits(row: Row) -> bool:
    return row.standing is not None and any(waits for _, _, waits in row.standing.grades.values())


def _number(value: float) -> str:
    return f"{round(value, 6):.12g}"


def _text(value: Any) -> str:
    """A text as one cell that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
