"""The fast grader in the form of `kvcourse.course.stock.grade`, so that both can be asked the same."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kvcourse.course.stock import Graded, StockCourse, read_scores
from kvcourse.grading import sandbox
from kvcourse.grading.assignment import open_course
from kvcourse.grading.course_run import Settings, grade_assignment


def best_level() -> str:
    """`hardened` where this machine has all that it needs, else `basic`: for the course's own answers
    only.
    """
    return "basic" if sandbox.missing() else "hardened"


def put_source(root: Path, folder: Path, assignment: str, notebook: bytes) -> None:
    """Put an assignment's source notebook, and the files that go with it, into a course folder."""
    target = folder / "solutions" / assignment
    shutil.copytree(
        root / "solutions" / assignment,
        target,
        ignore=shutil.ignore_patterns("*.md", "*.ipynb", "__pycache__", ".ipynb_checkpoints"),
    )
    (target / f"{assignment}.ipynb").write_bytes(notebook)


def grade(
    root: Path,
    assignment: str,
    source: Any,
    submissions: dict[str, bytes],
    folder: Path,
    seed: str,
    progress: Callable[[str], None] = lambda student: None,
    level: str | None = None,
) -> dict[str, Graded]:
    """Grade submissions (student -> notebook) in a fresh course folder with `kvcourse grade`."""
    from kvcourse.course.source import notebook_bytes

    if folder.exists():
        shutil.rmtree(folder)
    course = StockCourse(folder, root, seed)
    put_source(root, folder, assignment, notebook_bytes(source))
    for student, notebook in submissions.items():
        course.submit(student, assignment, notebook)
    settings = Settings(level=level or best_level(), seed=seed)
    grade_assignment(
        open_course(folder.resolve()), assignment, settings, lambda student, done, total: progress(student)
    )
    return read_scores(folder, assignment)
