"""The run step: one submission's cells in, their outcomes out. It sees no gradebook and no other
submission.
"""

import contextlib
import json
import select
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from kvcourse.grading.cell_code import file_of, packed
from kvcourse.grading.launcher import Folder, GraderError, Zygote
from kvcourse.grading.outcome import CellOutcome, not_run, read_outcome
from kvcourse.grading.wire import Fault, recv_frame, send_frame

GRACE = 5.0  # seconds beyond a cell's limit before the checker itself is taken to hang
MAX_CHECKERS = 5


@dataclass
class Job:
    """What the run step needs of a submission. Plain data: it can be sent to another machine."""

    cells: list[dict]
    exports: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    seed: str | None = None
    cell_seconds: float = 30.0
    total_seconds: float = 300.0
    known: dict[str, list[dict]] = field(default_factory=dict)  # outputs of the instructor's own answers


@dataclass
class Usage:
    """CPU seconds of one submission's processes, and the student's largest memory in bytes."""

    student: float = 0.0
    checker: float = 0.0
    memory: int = 0


class Runner:
    """Runs jobs of one submission in one checker process, which is started when it is needed first (or again,
    should it hang or die). `usage` is complete once the runner is closed.
    """

    def __init__(self, zygote: Zygote, slot: int = 0) -> None:
        self.zygote, self.slot = zygote, slot
        self.usage = Usage()
        self._checker: tuple[int, socket.socket] | None = None

    def run(self, job: Job) -> list[CellOutcome]:
        """Run a job. Raise GraderError when the grader's own processes fail."""
        return Run(self, job).outcome()

    def checker(self) -> socket.socket:
        """The connection to the checker process."""
        if self._checker is None:
            mine, theirs = socket.socketpair()
            mine.settimeout(GRACE)
            with theirs:
                answer = self.zygote.ask({"do": "checker", "slot": self.slot}, (theirs.fileno(),))
            self._checker = answer["pid"], mine
        return self._checker[1]

    def end_checker(self) -> None:
        """End the checker process, if there is one."""
        if self._checker is not None:
            (pid, sock), self._checker = self._checker, None
            sock.close()
            self.usage.checker += self.zygote.ask({"do": "end", "pid": pid})["cpu"]

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: Any) -> None:
        self.end_checker()


class Run:
    """One job on its way through a checker process (or several, should one hang) and student processes."""

    def __init__(self, runner: Runner, job: Job) -> None:
        self.runner, self.job = runner, job
        self.zygote, self.slot, self.usage = runner.zygote, runner.slot, runner.usage
        self.outcomes: dict[int, CellOutcome] = {}
        self._bad: list[int] = []
        self._students: list[int] = []
        self._folder: Folder | None = None
        self._deadline = time.monotonic() + job.total_seconds

    def outcome(self) -> list[CellOutcome]:
        """Run all cells and return what came of each, in order."""
        self._folder = Folder(self.job.files, self.zygote.level)
        first, reason = 0, ""
        try:
            for _ in range(MAX_CHECKERS):
                reason = self._check(first)
                if not reason or time.monotonic() >= self._deadline:
                    break
                first = self._skip_hanging(first, reason)
        finally:
            self._end_students()
            self._folder.close()
        reason = reason or "the grading of this notebook ended before it"
        return [
            self.outcomes.get(index) or not_run(cell["key"], cell["kind"], reason)
            for index, cell in enumerate(self.job.cells)
        ]

    def _check(self, first: int) -> str:
        """Let the checker process run the cells from `first` on. Return why it stopped early, or ""."""
        done = False
        try:
            sock = self.runner.checker()
            self._start(sock, first)
            reason = self._listen(sock)
            done = not reason
            return reason
        finally:
            self._end_students()
            if not done:
                self.runner.end_checker()

    def _start(self, sock: socket.socket, first: int) -> None:
        cells, codes = _with_code(self.job.cells)
        job = {
            "exports": self.job.exports,
            "limit": self.job.cell_seconds,
            "seed": self.job.seed,
            "first": first,
            "bad": self._bad,
        }
        with contextlib.suppress(Fault):  # a dead checker shows when it is listened to
            send_frame(sock, job, [json.dumps(cells).encode(), *codes])  # a header has less room

    def _listen(self, sock: socket.socket) -> str:
        while True:
            now = time.monotonic()
            patience = min(self.job.cell_seconds + GRACE, self._deadline - now)
            if patience <= 0 or not select.select([sock], [], [], max(patience, 0.01))[0]:
                if time.monotonic() >= self._deadline:
                    return f"the notebook took longer than {self.job.total_seconds:g} seconds"
                return f"a cell took longer than {self.job.cell_seconds:g} seconds and did not stop"
            try:
                message, _ = recv_frame(sock)
            except (Fault, TimeoutError) as fault:
                return f"the test process ended ({fault})"
            if not isinstance(message, dict):
                return "the test process reported nonsense"
            if message.get("end") is True:
                return ""
            if message.get("need") == "student":
                self._send_student(sock, message.get("core"))
            elif "cell" in message:
                self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        index = message["cell"]
        if isinstance(index, int) and 0 <= index < len(self.job.cells) and index not in self.outcomes:
            cell = self.job.cells[index]
            self.outcomes[index] = read_outcome(cell["key"], cell["kind"], message)
            if self.outcomes[index].fault and cell["kind"] != "test":
                self._bad.append(index)

    def _send_student(self, sock: socket.socket, core: int | None) -> None:
        """Start a fresh student process, end the one before, and pass its socket to the checker."""
        self._end_students()
        one, other = socket.socketpair()
        with one, other:
            message = {"do": "student", "slot": self.slot, "folder": self._folder.path, "core": core}
            answer = self.zygote.ask(message, (one.fileno(), *self._folder.descriptors()))
            self._students.append(answer["pid"])
            with contextlib.suppress(OSError):
                socket.send_fds(sock, [b"s"], [other.fileno()])

    def _end_students(self) -> None:
        while self._students:
            used = self.zygote.ask({"do": "end", "pid": self._students.pop()})
            self.usage.student += used["cpu"]
            self.usage.memory = max(self.usage.memory, used["memory"])

    def _skip_hanging(self, first: int, reason: str) -> int:
        """After a checker hung or died: blame the cell that was running, and go on behind it."""
        waiting = [index for index in range(len(self.job.cells)) if index not in self.outcomes]
        if not waiting:
            return len(self.job.cells)
        index = waiting[0]
        cell = self.job.cells[index]
        self.outcomes[index] = not_run(cell["key"], cell["kind"], reason)
        if cell["kind"] != "test":
            self._bad.append(index)
        return max(first, index + 1)


def _with_code(cells: list[dict]) -> tuple[list[dict], list[bytes]]:
    """The cells with the places of their tests' code in the list of codes, or what is wrong with a test."""
    known, codes = [], []
    for cell in cells:
        if cell["kind"] == "test":
            try:
                code: int | str = len(codes)
                codes.append(packed(cell["source"], file_of(cell["key"])))
            except (SyntaxError, ValueError) as error:
                code = str(error)
            cell = {**cell, "code": code}
        known.append(cell)
    return known, codes


__all__ = ["GraderError", "Job", "Runner", "Usage"]
