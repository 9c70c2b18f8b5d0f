"""Stock nbgrader in a course folder of its own: release, submissions, autograde, feedback, scores."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kvcourse.checks.seed import ENVIRONMENT
from kvcourse.course.authoring import extra_files, generate_assignment
from kvcourse.course.files import CONFIG, CourseError, write_atomic

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class CellScore:
    """A submission's graded cell: `points` of `worth`, a person's before the machine's (None: none yet)."""

    points: float | None
    worth: float
    needs_manual: bool
    output: str = ""


@dataclass(frozen=True)
class Graded:
    """A submission after autograde; `failed` says that nbgrader could not process it at all."""

    cells: dict[str, CellScore]
    failed: bool = False


class StockCourse:
    """A course folder with nbgrader's layout and its own database; its settings are those of `root`."""

    def __init__(self, folder: Path, root: Path, seed: str):
        self.folder, self.root, self.seed = folder, root, seed
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / CONFIG, folder / CONFIG)

    def add_assignment(self, assignment: str, source_folder: Path, notebook: bytes) -> None:
        """Put an assignment's source notebook and its extra files here, and register it in the database."""
        target = self.folder / "solutions" / assignment
        for path in extra_files(source_folder):
            write_atomic(target / path.relative_to(source_folder), path.read_bytes())
        write_atomic(target / f"{assignment}.ipynb", notebook)
        generate_assignment(self.folder, assignment, database=True)

    def submit(self, student: str, assignment: str, notebook: bytes) -> None:
        """Put one submission where nbgrader looks for it."""
        write_atomic(self.folder / "submitted" / student / assignment / f"{assignment}.ipynb", notebook)

    def autograde(self, assignment: str, progress: Callable[[str], None] = lambda student: None) -> int:
        """Grade all submissions of an assignment in one process. Return nbgrader's exit status."""
        return self._nbgrader(["autograde", assignment], "Autograding ", progress)

    def feedback(self, assignment: str) -> int:
        """Write the feedback of all submissions of an assignment. Return nbgrader's exit status."""
        return self._nbgrader(["generate_feedback", assignment], "Generating feedback ", lambda _: None)

    def scores(self, assignment: str) -> dict[str, Graded]:
        """Return each submission's graded cells."""
        return read_scores(self.folder, assignment)

    def _nbgrader(self, arguments: list[str], step: str, progress: Callable[[str], None]) -> int:
        """Run one nbgrader command in this folder, apart from anybody's settings, and keep its log."""
        command = [sys.executable, "-m", "nbgrader", *arguments, "--course-dir", str(self.folder.resolve())]
        log = self.folder / f"{arguments[0]}.log"
        with (
            log.open("w", encoding="utf-8") as kept,
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=grading_environment(self.seed),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            ) as process,
        ):
            for line in process.stderr:
                kept.write(line)
                if step in line:
                    parts = Path(line.strip().partition(step)[2]).parts
                    progress(parts[-3] if len(parts) > 2 else "")
        if process.returncode not in (0, 1):
            raise CourseError(f"nbgrader {arguments[0]} ended with status {process.returncode}; see {log}.")
        return process.returncode


def read_scores(folder: Path, assignment: str) -> dict[str, Graded]:
    """Return student -> graded cells of a course folder. Without an autograded notebook, one has failed."""
    from nbgrader.api import Gradebook

    graded = {
        path.parent.name: Graded({}, failed=True) for path in sorted(folder.glob(f"submitted/*/{assignment}"))
    }
    with Gradebook(f"sqlite:///{(folder / 'gradebook.db').resolve()}") as gradebook:
        for submission in gradebook.assignment_submissions(assignment):
            student = submission.student.id
            path = folder / "autograded" / student / assignment / f"{assignment}.ipynb"
            outputs = cell_outputs(path) if path.is_file() else {}
            cells = {
                grade.name: CellScore(
                    grade.auto_score if grade.manual_score is None else grade.manual_score,
                    grade.max_score,
                    bool(grade.needs_manual_grade),
                    outputs.get(grade.name, ""),
                )
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            graded[student] = Graded(cells, failed=not path.is_file())
    return graded


def grading_environment(seed: str) -> dict[str, str]:
    """Return the environment for grading: the class's seed, one thread, no personal settings, no hub."""
    return {
        **os.environ,
        ENVIRONMENT: seed,
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }


def cell_outputs(path: Path) -> dict[str, str]:
    """Return what each cell with a grade id printed, as plain text."""
    import nbformat

    return {
        cell.metadata.nbgrader["grade_id"]: output_text(cell)
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade_id")
    }


def output_text(cell) -> str:
    """Return a code cell's outputs as plain text: streams, errors, results."""
    texts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            texts.append(output.text)
        elif output.output_type == "error":
            texts += [f"{output.ename}: {output.evalue}", *output.traceback]
        else:
            texts += [str(value) for kind, value in output.data.items() if kind.startswith("text/")]
    return ANSI.sub("", "\n".join(texts))


def grade(
    root: Path,
    assignment: str,
    source,
    submissions: dict[str, bytes],
    folder: Path,
    seed: str,
    progress: Callable[[str], None] = lambda student: None,
) -> dict[str, Graded]:
    """Grade submissions (student -> notebook) in a fresh course folder with stock `nbgrader autograde`.

    `source` is the assignment's source notebook. Any other grader of the course is called in the same form.
    """
    from kvcourse.course.source import notebook_bytes

    if folder.exists():
        shutil.rmtree(folder)
    course = StockCourse(folder, root, seed)
    course.add_assignment(assignment, root / "solutions" / assignment, notebook_bytes(source))
    for student, notebook in submissions.items():
        course.submit(student, assignment, notebook)
    course.autograde(assignment, progress)
    return course.scores(assignment)
