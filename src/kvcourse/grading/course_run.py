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
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from kvcourse.course.files import digest
from kvcourse.grading import sandbox
from kvcourse.grading.assignment import Assignment, Course, read_assignment, register
from kvcourse.grading.gradebook import open_gradebook
from kvcourse.grading.hand_ins import check_name, find_students, known_assignments
from kvcourse.grading.launcher import Zygote
from kvcourse.grading.manifest import Manifest
from kvcourse.grading.plan import Plan, imported_modules, make_plan
from kvcourse.grading.record import Recorder, Standing
from kvcourse.grading.recording import Writer
from kvcourse.grading.report import Problem, SubmissionReport, entries_of, write_report
from kvcourse.grading.runner import Job
from kvcourse.grading.settings import Settings, Summary, seed_of
from kvcourse.grading.shown import visible_outputs, without_hidden
from kvcourse.grading.standings import rows
from kvcourse.grading.storage import concerns_all, folder_digest, merged_files, only_one, storage_explained
from kvcourse.grading.submission import NotGradable, Submission, cells_of, read_submission
from kvcourse.grading.transport import Terms, pack_job, unpack_result
from kvcourse.grading.workers import LocalWorkers, WorkerLost

POLL_SECONDS = 5.0


@dataclass
class Waiting:
    """A submission on its way: what it was read as, until its outcome is there."""

    student: str
    inputs: str
    submission: Submission
    master: Any
    plan: Plan
    job: Job


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
        isolation = {"isolation": sandbox.statement(summary.level)}
        if settings.scheduler:
            isolation = {"workers": summary.machines}
        rest = entries_of(where) if settings.students else []  # of the class, who was not asked for
        write_report(where, name, summary.level, summary.submissions, rest, **isolation)
        return summary


class GradingRun:
    """One run over an assignment's submissions."""

    def __init__(
        self, course: Course, assignment: Assignment, settings: Settings, recorder: Recorder
    ) -> None:
        self.course, self.assignment, self.settings, self.recorder = course, assignment, settings, recorder
        self.writer = Writer(course, assignment, recorder)
        cpu = int(settings.total_seconds) + 60
        modules = tuple(imported_modules(assignment.master))
        self.terms = Terms(settings.level, modules, cpu, str(course.root))
        self.seed = settings.seed or seed_of(course.root)
        self.manifest = Manifest(course.state / f"{assignment.name}.manifest.jsonl")
        limits = (settings.level, settings.cell_seconds, settings.total_seconds)
        known = (assignment.fingerprint(), self.seed, self.terms.package, limits)
        self.known = hashlib.sha256(repr(known).encode()).hexdigest()
        self.summary = Summary(assignment.name, settings.level)
        self.own_outputs: dict[str, list[dict]] = {}
        self._reports: dict[str, SubmissionReport] = {}
        self._recorded = recorder.students()

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
            workers = self._workers(zygote)
            self.summary.machines = workers.described()
            try:
                self._run(new, finish, workers)
            finally:
                workers.close()
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
            if not made.is_file():
                return None
            cells = self._standings[student].grades.values()  # a person may have graded since
            report.points = sum(points for points, _, _ in cells)
            report.waits = any(waits for _, _, waits in cells)
        return report

    @functools.cached_property
    def _standings(self) -> dict[str, Standing]:
        """What the gradebook holds of each submission before this run."""
        found = rows(self.recorder.gradebook, self.assignment.name)
        return {row.student.id: row.standing for row in found if row.standing is not None}

    def _prepare(self, student: str, inputs: str) -> SubmissionReport | Waiting:
        """Read a submission: a report if it cannot be graded, else what to run."""
        folder = self.course.folder("submitted") / student / self.assignment.name
        try:
            check_name(student)
            if not os.path.lexists(folder):
                others = sorted(path.name for path in folder.parent.iterdir())
                unpack = " Unpack the zip there." if any(o.lower().endswith(".zip") for o in others) else ""
                raise NotGradable(
                    "no-folder",
                    f"expected a folder {folder.name}, found {', '.join(others)[:200]}.{unpack}",
                )
            submission = read_submission(folder, self.assignment.name)
            other = submission.assignment
            if other != self.assignment.name and other in known_assignments(self.course):
                raise NotGradable(
                    "other-assignment",
                    f"this is the notebook of {other}; expected that of {self.assignment.name}.",
                )
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
        job = self._job(plan, merged_files(submission.files, self.assignment.files))
        if master is self.assignment.master:
            job.known = self.own_outputs
        return Waiting(student, inputs, submission, master, plan, job)

    def _not_graded(self, student: str, inputs: str, reason: NotGradable) -> SubmissionReport:
        report = SubmissionReport(student, "not-graded", problems=[Problem(reason.code, str(reason))])
        if reason.code != "bad-name":
            report.points, report.worth, report.waits = self.recorder.record_nothing(student)
            self.manifest.add(student, inputs, report)
        return report

    # ---- the run ---------------------------------------------------------------------------------

    def _workers(self, zygote: Zygote | None) -> Any:
        if self.settings.scheduler:
            from kvcourse.grading.dask_workers import DaskWorkers

            return DaskWorkers(self.terms, self.settings.scheduler)
        return LocalWorkers(self.terms, self.settings.workers, zygote)

    def _run(self, new: dict[str, str], finish: Finish, workers: Any) -> None:
        if len(new) > 2:
            self.own_outputs = self._own_outputs(workers)
        began = time.monotonic()
        running: dict[Future, Waiting] = {}
        queue = iter(new)
        while True:
            while len(running) < workers.capacity and (student := next(queue, None)) is not None:
                waiting = self._shielded(student, lambda: self._prepare(student, new[student]))
                if isinstance(waiting, SubmissionReport):
                    finish(student, waiting)
                else:
                    running[workers.submit(pack_job(waiting.job, self.terms))] = waiting
            if not running:
                break
            done = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED).done
            workers.check()
            for future in done:
                waiting = running.pop(future)
                record = functools.partial(self._record, waiting, workers, future)
                finish(waiting.student, self._shielded(waiting.student, record))
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

    def _record(self, waiting: Waiting, workers: Any, future: Future) -> SubmissionReport:
        try:
            outcomes, usage = unpack_result(workers.result(future), waiting.job, self.terms)
        except WorkerLost as lost:  # not noted as graded: the next run takes it up again
            problem = Problem("worker-lost", f"{lost}; it was not graded. Grade again.")
            return SubmissionReport(waiting.student, "not-graded", problems=[problem])
        total = self.summary.usage
        total.student += usage.student
        total.checker += usage.checker
        total.memory = max(total.memory, usage.memory)
        report = self.writer.write(
            waiting.student, waiting.submission, waiting.master, waiting.plan, outcomes
        )
        self.manifest.add(waiting.student, waiting.inputs, report)
        self._recorded.add(waiting.student)
        return report

    def _own_outputs(self, workers: Any) -> dict[str, list[dict]]:
        """What the instructor's own answers put out where no line is hidden."""
        master = self.assignment.master
        job = without_hidden(self._job(make_plan(master, cells_of(master)), self.assignment.files))
        try:
            future = workers.submit(pack_job(job, self.terms))
            outcomes, _ = unpack_result(workers.result(future), job, self.terms)
        except WorkerLost:
            return {}
        return {outcome.key: visible_outputs(outcome) for outcome in outcomes}

    def _job(self, plan: Plan, files: dict[str, bytes]) -> Job:
        return Job(
            plan.jobs(),
            plan.exports,
            files,
            self.seed,
            self.settings.cell_seconds,
            self.settings.total_seconds,
        )
