"""What was graded from what: one line of JSON for each recorded submission, appended after it was recorded.

A line cut short by a killed run does not count; its submission is graded again.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

from kvcourse.course.files import write_atomic
from kvcourse.grading.report import Problem, SubmissionReport


class Manifest:
    """The manifest of one assignment in a course folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, dict] = {}
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            lines = []
        for line in lines:
            try:
                entry = json.loads(line)
                self._entries[entry["student"]] = {"input": entry["input"], "report": entry["report"]}
            except (ValueError, KeyError, TypeError):
                continue
        if len(lines) > 2 * len(self._entries) + 100:  # mostly lines that later ones replaced
            self._compact()

    def known(self, student: str, inputs: str) -> SubmissionReport | None:
        """What came of a submission, if it was graded from exactly these inputs."""
        entry = self._entries.get(student)
        if entry is None or entry["input"] != inputs:
            return None
        try:
            report = dict(entry["report"])
            problems = [Problem(**problem) for problem in report.pop("problems")]
            return SubmissionReport(**{**report, "problems": problems, "unchanged": True})
        except (TypeError, KeyError):
            return None

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
