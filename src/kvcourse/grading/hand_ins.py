"""Who handed in what: assignments and students in submitted/, and when."""

import os
from pathlib import Path
from typing import Any

from kvcourse.course.files import CourseError
from kvcourse.grading.assignment import Course
from kvcourse.grading.report import Problem
from kvcourse.grading.submission import NotGradable, read_file


def find_assignments(course: Course) -> list[str]:
    """The assignments that somebody handed in and the course has a source of."""
    submitted, source = course.folder("submitted"), course.folder("source")
    names = {path.name for path in submitted.glob("[!.]*/[!.]*")} if submitted.is_dir() else set()
    return sorted(name for name in names if (source / name).is_dir())


def find_students(course: Course, assignment: str, wanted: tuple[str, ...] = ()) -> list[str]:
    """The students who handed in something that may be this assignment."""
    submitted = course.folder("submitted")
    if not submitted.is_dir():
        raise CourseError(f"expected submissions in {submitted}, found no such folder.")
    found = sorted(path.name for path in submitted.iterdir() if not path.name.startswith("."))
    unknown = [student for student in wanted if student not in found]
    if unknown:
        raise CourseError(f"expected a student's folder in {submitted}, got {unknown[0]!r}.")
    known = known_assignments(course)
    chosen = [student for student in found if not wanted or student in wanted]
    return [student for student in chosen if _concerns(submitted / student, assignment, known)]


def known_assignments(course: Course) -> set[str]:
    """The names of the assignments that the course has a source of."""
    return {path.name for path in course.folder("source").iterdir() if path.is_dir()}


def _concerns(folder: Path, assignment: str, known: set[str]) -> bool:
    """Whether a student's folder holds the assignment, a folder of a name that no assignment has, or a file
    of the assignment's name, such as a zip that nobody unpacked.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    found = [path for path in folder.iterdir() if not path.name.startswith(".")]
    names = [path.name for path in found if path.is_dir() or path.is_symlink()]
    loose = any(assignment in path.name for path in found if path.name not in names)
    return assignment in names or loose or any(name not in known for name in names)


def check_name(student: str) -> None:
    try:
        student.encode()
    except UnicodeEncodeError:
        raise NotGradable("bad-name", "the student's folder has a name that is no text.") from None
    if len(student) > 120:
        raise NotGradable("bad-name", "the student's folder has a name longer than 120 characters.")


def timestamp(folder: Path, problems: list[Problem]) -> Any:
    """When it was handed in, as nbgrader's timestamp.txt says."""
    from nbgrader.utils import parse_utc

    path = folder / "timestamp.txt"
    if not os.path.lexists(path):
        return None
    try:
        return parse_utc(read_file(path, 200).decode().strip())
    except (NotGradable, ValueError, OverflowError):
        problems.append(
            Problem("bad-timestamp", "timestamp.txt holds no time; the submission counts as in time.")
        )
        return None
