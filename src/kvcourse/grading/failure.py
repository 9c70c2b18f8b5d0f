"""An error in a test cell: its name and text, the lines a person needs, and whether a learner may see its
text.
"""

import linecache
from collections.abc import Iterator
from typing import Any

from kvcourse.checks.messages import CheckFailed
from kvcourse.checks.staged import Checks
from kvcourse.grading.proxies import StudentError

AROUND = 2  # lines of the test cell shown before the one that failed


class Failure:
    """An error that ended the test cell whose code has the file name `file`."""

    def __init__(self, error: BaseException, file: str) -> None:
        self.error, self.file = error, file
        self.name = error.remote_type if isinstance(error, StudentError) else type(error).__name__
        self.text = _text(error)
        self._frames = list(_frames(error))
        self.lines = [f.tb_lineno for f in self._frames if f.tb_frame.f_code.co_filename == file]

    def touches(self, parts: list[range]) -> bool:
        """Whether a line of the cell in one of `parts` was running."""
        return any(line in part for line in self.lines for part in parts)

    def is_meant_for_learners(self) -> bool:
        """Whether a hidden check of ours wrote the text: it tells neither inputs nor values."""
        return type(self.error) is CheckFailed and any(_is_hidden_check(frame) for frame in self._frames)

    def traceback(self, hidden: list[range]) -> list[str]:
        """Lines for an error output: the cell around the failure, then the student's own code where some
        was running, then the text. The cell's `hidden` parts, markers included, are there only where one
        of them failed.
        """
        lines = self._cell_lines([] if self.touches(hidden) else hidden)
        within = self.error.student_traceback if isinstance(self.error, StudentError) else ()
        if any(line.lstrip(" |").startswith('File "') for line in within):
            lines += ["", "In the code handed in:", *within]
        return [*lines, f"{self.name}: {self.text}"]

    def _cell_lines(self, left_out: list[range]) -> list[str]:
        if not self.lines:
            return []
        at, shown = self.lines[-1], [f"Cell {self.file[1:-1]}, line {self.lines[-1]}"]
        for number in range(max(1, at - AROUND), at + 2):
            if any(number in part for part in left_out):
                continue
            line = linecache.getline(self.file, number).rstrip("\n")
            if line or number == at:
                shown.append(f"{'---->' if number == at else '     '} {number:3} {line}")
        return shown


def _frames(error: BaseException) -> Iterator[Any]:
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _is_hidden_check(frame: Any) -> bool:
    owner = frame.tb_frame.f_locals.get("self")
    return type(owner) is Checks and not owner._show


def _text(error: BaseException) -> str:
    try:
        return str(error)[:4000]
    except BaseException:
        return ""
