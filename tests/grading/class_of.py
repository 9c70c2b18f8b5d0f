"""A small class of the tiny assignment: hand-ins, and what was made of them."""

import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from kvcourse.course.bank import filled_in
from kvcourse.course.source import notebook_bytes

ROWS = """
    select student.id, base_cell.name, grade.auto_score, grade.manual_score, grade.needs_manual_grade
    from grade join submitted_notebook on submitted_notebook.id = grade.notebook_id
    join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
    join student on student.id = submitted_assignment.student_id
    join base_cell on base_cell.id = grade.cell_id
    order by 1, 2"""
COMMENTS = "select count(*), count(auto_comment) from comment"


def hand_in(course: Path, tiny, student: str, **changes: str) -> Path:
    """A submission with the reference answers, but for `changes` (`q1`: source; `wrong` for none right)."""
    place = course / "submitted" / student / "tiny"
    place.mkdir(parents=True, exist_ok=True)
    answers = {} if changes.pop("untouched", None) else {**tiny[2], **changes}
    (place / "tiny.ipynb").write_bytes(notebook_bytes(filled_in(tiny[1], answers)))
    return place / "tiny.ipynb"


def rows(course: Path, query: str = ROWS):
    with sqlite3.connect(course / "gradebook.db") as database:
        return database.execute(query).fetchall()


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def killed_run(course: Path, level: str, lines: int, pause: float, *more: str) -> bool:
    """Start a run; kill it, with no warning, `pause` seconds after so many submissions were noted as graded.

    Return whether it was still running.
    """
    command = [sys.executable, "-m", "kvcourse.cli", "grade", "--root", str(course), "--level", level]
    noted = course / "grading" / "tiny.manifest.jsonl"
    process = subprocess.Popen(
        [*command, *more, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while (
        process.poll() is None
        and lines
        and not (noted.is_file() and noted.read_bytes().count(b"\n") >= lines)
    ):
        time.sleep(0.01)
    try:
        process.wait(pause)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def start_over(course: Path) -> None:
    """Forget everything that was graded."""
    for name in ("gradebook.db", "autograded", "grading", "feedback"):
        place = course / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
