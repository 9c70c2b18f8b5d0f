"""What was graded from what: one line of JSON for each recorded submission, appended after it was recorded.

A line cut short by a killed run does not count; its submission is graded again.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

from kvcourse.course.files import CourseError, write_atomic
from kvcourse.grading.report import Problem, SubmissionReport


class Manifest:
    """The manifest of one assignment in a course folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries, lines = _read(path)
        if lines > 2 * len(self._entries) + 100:  # mostly lines that later ones replaced
            self._compact()

    def known(self, student: str, inputs: str) -> SubmissionReport | None:
        """What came of a submission, if it was graded from exactly these inputs."""
        entry = self._entries.get(student)
        if entry is None or entry["input"] != inputs:
            return None
        return _report_of(entry)

    def add(self, student: str, inputs: str, report: SubmissionReport) -> None:
        """Note that a submission was graded and recorded."""
        entry = {"student": student, "input": inputs, "report": asdict(report)}
        self._entries[student] = {"input": inputs, "report": entry["report"]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = (json.dumps(entry) + "\n").encode()
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # A line that a killed run cut short must not swallow this one.
            if os.fstat(handle).st_size and not self._ends_with_newline():
                data = b"\n" + data
            os.write(handle, data)
        finally:
            os.close(handle)

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"

    def _compact(self) -> None:
        lines = [json.dumps({"student": student, **entry}) for student, entry in self._entries.items()]
        write_atomic(self.path, ("\n".join(lines) + "\n").encode())


def not_graded(path: Path) -> dict[str, str]:
    """Student -> why the newest hand-in could not be graded, as a manifest notes it. Nothing is written."""
    try:
        entries, _ = _read(path)
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}).") from None
    reports = {student: _report_of(entry) for student, entry in entries.items()}
    return {
        student: " ".join(problem.sentence for problem in report.problems)
        for student, report in reports.items()
        if report is not None and report.status != "graded"
    }


def _read(path: Path) -> tuple[dict[str, dict], int]:
    """Student -> the last entry, and the number of lines that were read."""
    entries: dict[str, dict] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        lines = []
    for line in lines:
        try:
            entry = json.loads(line)
            entries[entry["student"]] = {"input": entry["input"], "report": entry["report"]}
        except (ValueError, KeyError, TypeError):
            continue
    return entries, len(lines)


def _report_of(entry: dict) -> SubmissionReport | None:
    try:
        report = dict(entry["report"])
        problems = [Problem(**problem) for problem in report.pop("problems")]
        return SubmissionReport(**{**report, "problems": problems, "unchanged": True})
    except (TypeError, KeyError, ValueError):
        return None
