"""`kvcourse grade`: from submitted/ to the gradebook, autograded notebooks, feedback and a report.

One writer: this process reads submissions, records outcomes and writes files. Workers only run cells. Order
of one submission: run, write files under other names, commit the gradebook, put the files in place, note it
in the manifest. Whatever moment it is killed at, the next run grades that submission again and ends at the
same state.
"""

import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat.v4 import writes  # without validation: the structure is the instructor's

from kvcourse.checks.seed import class_seed
from kvcourse.course.files import CourseError, digest, write_atomic
from kvcourse.grading import sandbox
from kvcourse.grading.assignment import Assignment, Course, read_assignment, register
from kvcourse.grading.autograded import build_notebook
from kvcourse.grading.feedback import render
from kvcourse.grading.gradebook import open_gradebook
from kvcourse.grading.hand_ins import check_name, find_students, timestamp
from kvcourse.grading.launcher import Zygote
from kvcourse.grading.manifest import Manifest
from kvcourse.grading.outcome import CellOutcome, fault_problem, score
from kvcourse.grading.plan import Plan, imported_modules, make_plan
from kvcourse.grading.record import Recorder
from kvcourse.grading.report import Problem, SubmissionReport, write_report
from kvcourse.grading.runner import Job, Usage, run
from kvcourse.grading.storage import (
    concerns_all,
    folder_digest,
    merged_files,
    only_one,
    package_digest,
    put_in_place,
    removed_on_error,
    storage_explained,
)
from kvcourse.grading.submission import NotGradable, Submission, read_submission


@dataclass(frozen=True)
class Settings:
    """How a run grades."""

    level: str = "hardened"
    force: bool = False
    workers: int = 1
    cell_seconds: float = 30.0
    total_seconds: float = 300.0
    students: tuple[str, ...] = ()
    seed: str | None = None  # the class's seed; None looks for it as hidden tests do


@dataclass
class Summary:
    """What a run came to: one report a submission, in the order of the students' names."""

    assignment: str
    level: str
    submissions: list[SubmissionReport] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    run_seconds: float = 0.0  # from the first submission that runs to the last, starting the zygote left out

    @property
    def needs_person(self) -> bool:
        """Whether somebody has to look at a submission."""
        return any(entry.needs_person for entry in self.submissions)


@dataclass
class Waiting:
    """A submission on its way: what it was read as, until its outcome is there."""

    student: str
    inputs: str
    submission: Submission
    master: Any
    plan: Plan


Progress = Callable[[str, int, int], None]
Finish = Callable[[str, SubmissionReport], None]


def grade_assignment(
    course: Course,
    name: str,
    settings: Settings,
    progress: Progress = lambda student, done, total: None,
    zygote: Zygote | None = None,
) -> Summary:
    """Grade what is new or changed among an assignment's submissions. Raise UserError for what stops the
    run.
    """
    with only_one(course.state), storage_explained(course.root):
        assignment = read_assignment(course, name)
        students = find_students(course, name, settings.students)
        url = course.url
        gradebook = open_gradebook(url, course.directory.course_id)
        try:
            register(course, assignment)
            one = GradingRun(
                course, assignment, settings, Recorder(gradebook, url, name, name, course.config)
            )
            summary = one.grade(students, progress, zygote)
            shutil.rmtree(course.state / "tmp", ignore_errors=True)
        finally:
            gradebook.close()
        where = course.state / f"{name}.report.json"
        write_report(
            where, name, summary.level, summary.submissions, isolation=sandbox.statement(summary.level)
        )
        return summary


class GradingRun:
    """One run over an assignment's submissions."""

    def __init__(
        self, course: Course, assignment: Assignment, settings: Settings, recorder: Recorder
    ) -> None:
        self.course, self.assignment, self.settings, self.recorder = course, assignment, settings, recorder
        self.seed = settings.seed or _seed(course.root)
        self.manifest = Manifest(course.state / f"{assignment.name}.manifest.jsonl")
        limits = (settings.level, settings.cell_seconds, settings.total_seconds)
        known = (assignment.fingerprint(), self.seed, package_digest(), limits)
        self.known = hashlib.sha256(repr(known).encode()).hexdigest()
        self.summary = Summary(assignment.name, settings.level)
        self._reports: dict[str, SubmissionReport] = {}
        self._recorded = {
            row.student_id for row in recorder.gradebook.assignment_submissions(assignment.name)
        }

    def grade(self, students: list[str], progress: Progress, zygote: Zygote | None = None) -> Summary:
        """Grade the students' submissions; report on all of them."""
        done = 0

        def finish(student: str, report: SubmissionReport) -> None:
            nonlocal done
            done += 1
            self._reports[student] = report
            progress(student, done, len(students))

        new: dict[str, str] = {}
        for student in students:
            inputs = self._shielded(student, functools.partial(self._inputs, student))
            report = inputs if isinstance(inputs, SubmissionReport) else self._unchanged(student, inputs)
            if report is not None:
                finish(student, report)
            else:
                new[student] = inputs
        if new:
            if zygote is None:
                with self._zygote() as running:
                    self._run(new, finish, running, stop=running.close)
            else:
                self._run(new, finish, zygote, stop=lambda: None)
        self.summary.submissions = [self._reports[student] for student in students]
        return self.summary

    # ---- before the run --------------------------------------------------------------------------

    def _inputs(self, student: str) -> str:
        """A digest of all that a submission's scores follow from."""
        folder = self.course.folder("submitted") / student / self.assignment.name
        return digest(self.known.encode(), folder_digest(folder))

    def _unchanged(self, student: str, inputs: str) -> SubmissionReport | None:
        """What an earlier run made of the same inputs, if it is all still there."""
        if self.settings.force or student not in self._recorded:
            return None
        report = self.manifest.known(student, inputs)
        if report is not None and report.status == "graded":
            name = self.assignment.name
            made = self.course.folder("autograded") / student / name / f"{name}.ipynb"
            return report if made.is_file() else None
        return report

    def _prepare(self, student: str, inputs: str) -> SubmissionReport | Waiting:
        """Read a submission: a report if it cannot be graded, else what to run."""
        folder = self.course.folder("submitted") / student / self.assignment.name
        try:
            check_name(student)
            if not os.path.lexists(folder):
                others = sorted(path.name for path in folder.parent.iterdir())
                raise NotGradable(
                    "no-folder", f"expected a folder {folder.name}, found {', '.join(others)[:200]}."
                )
            submission = read_submission(folder, self.assignment.name)
            master = self.assignment.master_for(submission.version)
            if master is None:
                raise NotGradable(
                    "unknown-version",
                    f"made for version {submission.version} of {self.assignment.name}, whose source is not "
                    f"in {self.course.state.name}/versions/{self.assignment.name}/; the present one is "
                    f"version {self.assignment.version}.",
                )
            plan = make_plan(master, submission.cells)
        except NotGradable as reason:
            return self._not_graded(student, inputs, reason)
        return Waiting(student, inputs, submission, master, plan)

    def _not_graded(self, student: str, inputs: str, reason: NotGradable) -> SubmissionReport:
        report = SubmissionReport(student, "not-graded", problems=[Problem(reason.code, str(reason))])
        if reason.code != "bad-name":
            report.points, report.worth, report.waits = self.recorder.record_nothing(student)
            self.manifest.add(student, inputs, report)
        return report

    # ---- the run ---------------------------------------------------------------------------------

    def _zygote(self) -> Zygote:
        modules = imported_modules(self.assignment.master)
        cpu = int(self.settings.total_seconds) + 60
        return Zygote(self.settings.level, modules, secret=self.course.root, cpu=cpu)

    def _run(self, new: dict[str, str], finish: Finish, zygote: Zygote, stop: Callable[[], None]) -> None:
        if zygote.level != self.settings.level:
            raise CourseError(f"expected processes at level {self.settings.level}, got {zygote.level}.")
        began = time.monotonic()
        with ThreadPoolExecutor(self.settings.workers) as pool:
            slots = list(range(self.settings.workers))
            running: dict[Future, tuple[Waiting, int]] = {}
            queue = iter(new)
            try:
                while True:
                    while slots and (student := next(queue, None)) is not None:
                        waiting = self._shielded(student, lambda: self._prepare(student, new[student]))
                        if isinstance(waiting, SubmissionReport):
                            finish(student, waiting)
                            continue
                        slot = slots.pop()
                        running[pool.submit(run, zygote, self._job(waiting), slot)] = (waiting, slot)
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        waiting, slot = running.pop(future)
                        slots.append(slot)
                        finish(
                            waiting.student, self._shielded(waiting.student, self._recording(waiting, future))
                        )
            except BaseException:
                stop()  # lets the workers end
                raise
        self.summary.run_seconds = time.monotonic() - began

    def _shielded(self, student: str, step: Callable[[], Any]) -> Any:
        """Do one step of one submission; a fault of ours there costs this submission, not the class."""
        try:
            return step()
        except Exception as error:
            if concerns_all(error):
                raise
            said = (
                f"the grader failed on this submission ({type(error).__name__}: {error}); please report it."
            )
            return SubmissionReport(student, "not-graded", problems=[Problem("grader-error", said[:500])])

    def _recording(self, waiting: Waiting, future: Future) -> Callable[[], SubmissionReport]:
        def recording() -> SubmissionReport:
            outcomes, usage = future.result()
            self._add_usage(usage)
            return self._record(waiting, outcomes)

        return recording

    def _job(self, waiting: Waiting) -> Job:
        return Job(
            waiting.plan.jobs(),
            waiting.plan.exports,
            merged_files(waiting.submission.files, self.assignment.files),
            self.seed,
            self.settings.cell_seconds,
            self.settings.total_seconds,
        )

    def _add_usage(self, usage: Usage) -> None:
        total = self.summary.usage
        total.student += usage.student
        total.checker += usage.checker
        total.memory = max(total.memory, usage.memory)

    # ---- after the run ---------------------------------------------------------------------------

    def _record(self, waiting: Waiting, outcomes: list[CellOutcome]) -> SubmissionReport:
        """Record one submission: files under other names, then the gradebook, then the files in place."""
        student, name = waiting.student, self.assignment.name
        report = SubmissionReport(student, "graded")
        report.problems += [*waiting.submission.problems, *waiting.plan.problems]
        scores = self._scores(waiting.master, outcomes, report.problems)
        by_key = {outcome.key: outcome for outcome in outcomes}
        notebook = build_notebook(waiting.master, waiting.plan, by_key)
        when = timestamp(self.course.folder("submitted") / student / name, report.problems)
        place = self.course.folder("autograded") / student / name
        new = place.with_name(f".{name}.new")
        if waiting.master is not self.assignment.master:
            self._fit_old_version(notebook, scores, waiting.submission.version, report.problems)
        with removed_on_error(new):
            recorded: dict[str, Any] = {}

            def write_files() -> None:
                recorded["grades"] = self.recorder.grades()
                self._write_autograded(new, notebook, waiting.submission)

            totals = self.recorder.record(student, notebook, scores, when, before_commit=write_files)
        report.points, report.worth, report.waits = totals
        put_in_place(new, place)
        self._write_feedback(student, notebook, recorded["grades"])
        self.manifest.add(student, waiting.inputs, report)
        self._recorded.add(student)
        return report

    def _scores(self, master: Any, outcomes: list[CellOutcome], problems: list[Problem]) -> dict[str, float]:
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
                found.append(
                    Problem(
                        "setup-cell",
                        f"locked cell {outcome.key} fails in the test process: {outcome.problem}",
                        outcome.key,
                    )
                )
            problems += [problem for problem in found if problem is not None]
        return scores

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
        files[f"{self.assignment.name}.ipynb"] = (writes(notebook) + "\n").encode()
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o444)

    def _write_feedback(self, student: str, notebook: Any, grades: dict) -> None:
        page = render(notebook, self.assignment.name, grades)
        path = (
            self.course.folder("feedback") / student / self.assignment.name / f"{self.assignment.name}.html"
        )
        write_atomic(path, page.encode())


def _seed(root: Path) -> str:
    """The class's seed, as the course folder has it."""
    here = Path.cwd()
    try:
        os.chdir(root)
        return class_seed()
    finally:
        os.chdir(here)
