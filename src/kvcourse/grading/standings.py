"""Reading the gradebook: what each student has for an assignment, after the machine and after people."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kvcourse.grading.assignment import Course
from kvcourse.grading.gradebook import GradebookError, explained
from kvcourse.grading.record import Standing, comment_of, points_of


@dataclass(frozen=True)
class Row:
    """A student's standing in one assignment: None for who handed nothing in."""

    student: Any  # nbgrader's row: id, first_name, last_name, email, lms_user_id
    standing: Standing | None
    handed_in: datetime | None = None
    worth: float = 0.0
    cells: list[str] = field(default_factory=list)  # the assignment's graded cells, in the notebook's order
    scored: bool = False  # a program or a person gave points, were it 0; not so where nothing could be graded


@contextlib.contextmanager
def reading(course: Course) -> Iterator[Any]:
    """nbgrader's gradebook, open to be read. Raise GradebookError where there is none yet."""
    from nbgrader.api import Gradebook

    if course.url.startswith("sqlite:///"):
        path = Path(course.url.removeprefix("sqlite:///"))
        if not path.is_file():  # opening it would make an empty one
            raise GradebookError(f"expected a gradebook in {path}, found none; grade first.")
    with explained(course.url), Gradebook(course.url, course.directory.course_id) as gradebook:
        yield gradebook


def known_assignments(gradebook: Any, wanted: list[str]) -> list[str]:
    """The assignments to report on: those that are asked for, else all with submissions."""
    names = sorted(entry.name for entry in gradebook.assignments)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        known = ", ".join(names) or "none"
        raise GradebookError(f"expected an assignment of the gradebook ({known}), got {unknown[0]!r}.")
    return wanted or [name for name in names if gradebook.find_assignment(name).num_submissions]


def rows(gradebook: Any, assignment: str, students: tuple[str, ...] = ()) -> Iterator[Row]:
    """The class's standing in an assignment, in the order of the students' ids."""
    from nbgrader.api import Student

    entry = gradebook.find_assignment(assignment)
    order = [cell.name for notebook in entry.notebooks for cell in notebook.source_cells]
    worth = {
        cell.name: float(cell.max_score)
        for notebook in entry.notebooks
        for cell in [*notebook.grade_cells, *notebook.task_cells]
    }
    cells = sorted(worth, key=lambda name: order.index(name) if name in order else len(order))
    everyone = gradebook.db.query(Student).order_by(Student.id).all()
    unknown = set(students) - {student.id for student in everyone}
    if unknown:
        raise GradebookError(f"expected a student of the gradebook, got {min(unknown)!r}.")
    found, scored = _standings(gradebook.db, assignment, worth)
    for student in everyone:
        if not students or student.id in students:
            standing, when = found.get(student.id, (None, None))
            yield Row(student, standing, when, sum(worth.values()), cells, student.id in scored)


def _standings(
    db: Any, assignment: str, worth: dict[str, float]
) -> tuple[dict[str, tuple[Standing, datetime | None]], set[str]]:
    """Student -> standing and time of handing in; and who has any score. One query for each table, whatever
    the class's size: nbgrader's own properties ask again for each row.
    """
    from nbgrader.api import Assignment, BaseCell, Comment, Grade, SubmittedAssignment, SubmittedNotebook

    def of(*columns: Any) -> Any:
        query = db.query(SubmittedAssignment.student_id, *columns).select_from(SubmittedAssignment)
        query = query.join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        query = query.filter(Assignment.name == assignment)
        return query.join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)

    found: dict[str, tuple[Standing, datetime | None]] = {}
    scored: set[str] = set()
    for student, when, penalty in of(
        SubmittedAssignment.timestamp, SubmittedNotebook.late_submission_penalty
    ):
        before = found[student][0].penalty if student in found else 0.0
        found[student] = Standing({}, {}, before + (penalty or 0.0)), when
    grades = of(BaseCell.name, Grade).join(Grade, Grade.notebook_id == SubmittedNotebook.id)
    for student, cell, grade in grades.join(BaseCell, BaseCell.id == Grade.cell_id).yield_per(1000):
        entry = points_of(grade), worth.get(cell, 0.0), bool(grade.needs_manual_grade)
        found[student][0].grades[cell] = entry
        if grade.auto_score is not None or grade.manual_score is not None:
            scored.add(student)
    comments = of(BaseCell.name, Comment).join(Comment, Comment.notebook_id == SubmittedNotebook.id)
    for student, cell, comment in comments.join(BaseCell, BaseCell.id == Comment.cell_id).yield_per(1000):
        found[student][0].comments[cell] = comment_of(comment)
    return found, scored
