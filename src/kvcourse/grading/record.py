"""Recording: nbgrader's own steps write a graded notebook's scores, comments and penalties into its
gradebook.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nbgrader import utils
from nbgrader.api import Assignment, SubmittedAssignment
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    LimitOutput,
    NbGraderPreprocessor,
    OverwriteCells,
    SaveAutoGrades,
)

from kvcourse.grading.gradebook import OneWriter, explained

QUIET = logging.getLogger("kvcourse.grading.quiet")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class WithOneGradebook:
    """For nbgrader's steps that open the gradebook themselves: they get the one that is open."""

    gradebook: OneWriter

    def preprocess(self, nb: Any, resources: dict) -> tuple[Any, dict]:
        names = resources["nbgrader"]
        self.notebook_id, self.assignment_id = names["notebook"], names["assignment"]
        self.student_id, self.gradebook = names["student"], names["gradebook"]
        return NbGraderPreprocessor.preprocess(self, nb, resources)


class Overwrite(WithOneGradebook, OverwriteCells):
    """Locked cells, points and checksums as the gradebook has them."""


class SaveScores(WithOneGradebook, SaveAutoGrades):
    """SaveAutoGrades with the scores of test cells as the grader found them, not as outputs can be read."""

    def _add_score(self, cell: Any, resources: dict) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        scores = resources["nbgrader"]["scores"]
        grade.auto_score = scores[name] if name in scores else utils.determine_grade(cell, self.log)[0]
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        self.gradebook.db.commit()


class SavePenalty(WithOneGradebook, AssignLatePenalties):
    """AssignLatePenalties inside the submission's transaction."""

    def preprocess(self, nb: Any, resources: dict) -> tuple[Any, dict]:
        names = resources["nbgrader"]
        submission, student = names["submission"], names["student"]
        notebook = next(row for row in submission.notebooks if row.name == names["notebook"])
        notebook.late_submission_penalty = None
        if submission.total_seconds_late > 0:
            self.init_plugin()
            names["gradebook"].db.flush()
            names["gradebook"].db.refresh(notebook)
            penalty = self.plugin_inst.late_submission_penalty(
                student, notebook.score, submission.total_seconds_late
            )
            if penalty is not None:
                notebook.late_submission_penalty = self._check_late_penalty(notebook, penalty)
        return nb, resources


@dataclass(frozen=True)
class Standing:
    """A submission in the gradebook: graded cell -> points, maximum, whether a person is awaited; comments
    by cell; the penalty for being late.
    """

    grades: dict[str, tuple[float, float, bool]]
    comments: dict[str, str]
    penalty: float = 0.0


class Recorder:
    """Writes submissions of one assignment into one open gradebook."""

    def __init__(self, gradebook: OneWriter, url: str, assignment: str, notebook: str, config: Any) -> None:
        self.gradebook, self.url, self.assignment, self.notebook = gradebook, url, assignment, notebook
        with explained(url):
            gradebook.open_assignment(assignment, notebook)
        self._steps = [
            step(config=config, log=QUIET) for step in (Overwrite, LimitOutput, SaveScores, SavePenalty)
        ]
        self._check = CheckCellMetadata(config=config, log=QUIET)
        self._checked = False
        self._penalty = 0.0

    def record(
        self,
        student: str,
        nb: Any,
        scores: dict[str, float],
        timestamp: Any = None,
        before_commit: Callable[[], None] = lambda: None,
    ) -> tuple[float, float, bool]:
        """Record a graded notebook in one transaction.

        Return points, their maximum, and whether a person is awaited. The notebook is completed in place
        (checksums, cut outputs). Raise GradebookError, with the gradebook as it was, when it
        cannot be written; what `before_commit` raises undoes everything too.
        """
        more = {"timestamp": timestamp} if timestamp is not None else {}
        with (
            explained(self.url),
            self.gradebook.submission(self.assignment, self.notebook, student, **more) as row,
        ):
            resources: dict[str, Any] = {
                "nbgrader": {
                    "student": student,
                    "assignment": self.assignment,
                    "notebook": self.notebook,
                    "gradebook": self.gradebook,
                    "submission": row,
                    "scores": scores,
                }
            }
            if not self._checked:  # the structure is the instructor's: what holds once holds for all
                self._check.preprocess(nb, resources)
                self._checked = True
            for step in self._steps:
                nb, resources = step.preprocess(nb, resources)
            notebook = next(entry for entry in row.notebooks if entry.name == self.notebook)
            self._penalty = float(notebook.late_submission_penalty or 0.0)
            before_commit()
            return self._totals()

    def record_nothing(self, student: str, timestamp: Any = None) -> tuple[float, float, bool]:
        """Record that something was handed in that cannot be graded; scores of an earlier hand-in stand."""
        more = {"timestamp": timestamp} if timestamp is not None else {}
        with explained(self.url), self.gradebook.submission(self.assignment, self.notebook, student, **more):
            return self._totals()

    def students(self) -> set[str]:
        """Who has a submission of the assignment in the gradebook."""
        query = self.gradebook.db.query(SubmittedAssignment.student_id)
        found = query.join(Assignment).filter(Assignment.name == self.assignment)
        with explained(self.url):
            return {student for (student,) in found}

    def _totals(self) -> tuple[float, float, bool]:
        points = worth = 0.0
        waits = False
        for name, grade in self.gradebook._grades.items():
            points += points_of(grade)
            worth += self.gradebook.graded_cells[name].max_score
            waits |= _waits(grade)
        return points, worth, waits

    def standing(self) -> Standing:
        """Of the submission recorded last: what its feedback says."""
        return Standing(
            {
                name: (points_of(grade), self.gradebook.graded_cells[name].max_score, _waits(grade))
                for name, grade in self.gradebook._grades.items()
            },
            {name: comment_of(comment) for name, comment in self.gradebook._comments.items()},
            self._penalty,
        )


def points_of(grade: Any) -> float:
    """A cell's points: a person's before the machine's, and extra credit."""
    score = grade.auto_score if grade.manual_score is None else grade.manual_score
    return (score or 0.0) + (grade.extra_credit or 0.0)


def comment_of(comment: Any) -> str:
    """A cell's comment: a person's before the machine's (the row's own `comment` lags behind both)."""
    return comment.manual_comment or comment.auto_comment or ""


def _waits(grade: Any) -> bool:
    return bool(grade.needs_manual_grade)
