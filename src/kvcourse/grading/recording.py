"""What a run writes of one submission: files under other names, the gradebook, then the files in place."""

import shutil
from pathlib import Path
from typing import Any

from kvcourse.course.files import write_atomic
from kvcourse.grading.assignment import Assignment, Course
from kvcourse.grading.autograded import build_notebook, notebook_text
from kvcourse.grading.feedback import render
from kvcourse.grading.hand_ins import timestamp
from kvcourse.grading.outcome import CellOutcome, fault_problem, score
from kvcourse.grading.plan import Plan
from kvcourse.grading.record import Recorder, Standing
from kvcourse.grading.report import Problem, SubmissionReport
from kvcourse.grading.storage import merged_files, put_in_place, removed_on_error
from kvcourse.grading.submission import Submission


class Writer:
    """Writes the outcomes of one assignment's submissions."""

    def __init__(self, course: Course, assignment: Assignment, recorder: Recorder) -> None:
        self.course, self.assignment, self.recorder = course, assignment, recorder

    def write(
        self, student: str, submission: Submission, master: Any, plan: Plan, outcomes: list[CellOutcome]
    ) -> SubmissionReport:
        """Record one submission. What an error leaves behind is as it was before."""
        name = self.assignment.name
        report = SubmissionReport(student, "graded")
        report.problems += [*submission.problems, *plan.problems]
        scores = scores_of(master, outcomes, report.problems)
        notebook = build_notebook(master, plan, {outcome.key: outcome for outcome in outcomes})
        when = timestamp(self.course.folder("submitted") / student / name, report.problems)
        place = self.course.folder("autograded") / student / name
        new = place.with_name(f".{name}.new")
        if master is not self.assignment.master:
            self._fit_old_version(notebook, scores, submission.version, report.problems)
        with removed_on_error(new):
            standing: list[Standing] = []

            def write_files() -> None:
                standing.append(self.recorder.standing())
                self._write_autograded(new, notebook, submission)

            totals = self.recorder.record(student, notebook, scores, when, before_commit=write_files)
        report.points, report.worth, report.waits = totals
        put_in_place(new, place)
        write_feedback(self.course, student, name, notebook, standing[0])
        return report

    def _fit_old_version(self, notebook: Any, scores: dict, version: Any, problems: list[Problem]) -> None:
        """Keep of an older version what the gradebook has cells for; say what it lacks."""
        graded = self.recorder.gradebook.graded_cells
        lacking = sorted(
            set(graded) - {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells}
        )
        for cell in notebook.cells:
            meta = cell.metadata.get("nbgrader", {})
            name = meta.get("grade_id")
            if meta.get("grade") and (name not in graded or graded[name].max_score != float(meta["points"])):
                lacking.append(name)
                scores.pop(name, None)
            if name not in self.recorder.gradebook.source_cells:
                cell.metadata.pop("nbgrader", None)
        note = f"; cells that differ from the present version: {', '.join(lacking)}" if lacking else ""
        problems.append(
            Problem("old-version", f"graded against version {version}{note}.", needs_person=bool(lacking))
        )

    def _write_autograded(self, folder: Path, notebook: Any, submission: Submission) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        files = merged_files(submission.files, self.assignment.files)
        files[f"{self.assignment.name}.ipynb"] = notebook_text(notebook).encode()
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o444)


def scores_of(master: Any, outcomes: list[CellOutcome], problems: list[Problem]) -> dict[str, float]:
    """The points of each test cell; `problems` gets what a person has to know about the outcomes."""
    worth = {
        cell.metadata.nbgrader["grade_id"]: float(cell.metadata.nbgrader["points"])
        for cell in master.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    scores: dict[str, float] = {}
    for outcome in outcomes:
        found = [fault_problem(outcome)]
        if outcome.kind == "test":
            scores[outcome.key], problem = score(outcome, worth.get(outcome.key, 0.0))
            found.append(problem)
        elif outcome.problem:
            said = f"locked cell {outcome.key} fails in the test process: {outcome.problem}"
            found.append(Problem("setup-cell", said, outcome.key))
        problems += [problem for problem in found if problem is not None]
    return scores


def write_feedback(course: Course, student: str, name: str, notebook: Any, standing: Standing) -> bool:
    """Write a submission's feedback page. Return False if it was there already."""
    page = render(notebook, f"{name}: {student}", standing.grades, standing.comments, standing.penalty)
    return write_atomic(course.folder("feedback") / student / name / f"{name}.html", page.encode())
