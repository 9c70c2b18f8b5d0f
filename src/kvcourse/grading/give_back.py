"""Feedback after grading by hand: pages written anew from the autograded notebooks and the gradebook."""

from dataclasses import dataclass, field
from typing import Any

import nbformat

from kvcourse.course.files import write_atomic
from kvcourse.grading.assignment import Course
from kvcourse.grading.recording import write_feedback
from kvcourse.grading.standings import rows


@dataclass
class Pages:
    """What became of a class's pages, by student."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # written, though a person has parts to grade
    lacking: list[str] = field(default_factory=list)  # handed in, but there is no graded notebook


def write_pages(course: Course, gradebook: Any, assignment: str, students: tuple[str, ...] = ()) -> Pages:
    """Write the pages of an assignment, and beside them what `nbgrader release_feedback` looks for."""
    made = Pages()
    for row in rows(gradebook, assignment, students):
        if row.standing is None:
            continue
        student = row.student.id
        graded = course.folder("autograded") / student / assignment
        notebook = _read(graded / f"{assignment}.ipynb")
        if notebook is None:
            made.lacking.append(student)
            continue
        new = write_feedback(course, student, assignment, notebook, row.standing)
        for name in ("timestamp.txt", "submission_secret.txt"):  # of a hand-in through nbgrader's exchange
            handed_in = course.folder("submitted") / student / assignment / name
            if handed_in.is_file() and not handed_in.is_symlink():
                write_atomic(course.folder("feedback") / student / assignment / name, handed_in.read_bytes())
        (made.written if new else made.unchanged).append(student)
        if any(waits for _, _, waits in row.standing.grades.values()):
            made.waiting.append(student)
    return made


def _read(path: Any) -> Any | None:
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except (OSError, ValueError, nbformat.ValidationError):
        return None
