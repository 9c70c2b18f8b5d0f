"""A run in the checker process: the locked test cells, which ask the student process for the names they use.

It gets the cells from the parent, one at a time reports what came of each, and asks for a new student process
when one died, hung or broke the protocol. What it reports is computed here, from plain values.
"""

import contextlib
import linecache
import signal
import socket
import sys
import types
from collections.abc import Iterator
from typing import Any

from kvcourse.checks import markers
from kvcourse.grading import outputs as out
from kvcourse.grading.cell_code import file_of, lines_on_stack, unpacked
from kvcourse.grading.checker_connection import CheckerConnection
from kvcourse.grading.crossing import CrossingMarkers
from kvcourse.grading.failure import Failure
from kvcourse.grading.shell import Stream
from kvcourse.grading.wire import Fault, PeerDied, ProtocolError, send_frame

MAX_RESTARTS = 6


class CellTimeout(Fault):
    """A cell took longer than it may."""


class Checker:
    """One submission's run. `job`: cells, exports, limit (seconds a cell), seed, first (index of the first
    test), core (where the student process is to stay too). A test cell's `code` is its place in `codes`, or
    says why it has none.
    """

    def __init__(self, control: socket.socket, job: dict, codes: list[bytearray]) -> None:
        self.control, self.codes = control, codes
        self.cells, self.exports, self.limit = job["cells"], frozenset(job["exports"]), job["limit"]
        self.first, self.core = job["first"], job["core"]
        self.sink = out.Sink()
        self.connection: CheckerConnection | None = None
        self.namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        self.made: dict[int, tuple[str, Any]] = {}  # objects of locked setup cells, by id
        self.sources: list[str] = []
        self.ran: list[int] = []
        self.bad = set(job["bad"])  # student cells that killed or hung a student process
        self.restarts = 0
        self.told = job["first"] > 0  # whether a hidden line may have told the student's code anything
        self.armed = False
        self.fault: Fault | None = None
        signal.signal(signal.SIGALRM, self._alarm)

    def run(self) -> None:
        """Run every cell in order and report each."""
        stdout = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Stream("stdout", lambda: self.sink), Stream("stderr", lambda: self.sink)
        with markers.use(CrossingMarkers(lambda: self._connected(), lambda: self.sources)):
            for index, cell in enumerate(self.cells):
                if index >= self.first or cell["kind"] != "test":
                    self._report(index, self._run_cell(index, cell))
        sys.stdout, sys.stderr = stdout
        self._drop()
        self._say({"end": True})

    def _run_cell(self, index: int, cell: dict) -> dict:
        self.sink.clear()
        result = self._run_kind(index, cell)
        if cell["kind"] == "test" and cell["hidden"] and result.get("passed"):
            self._tell()
        return {**result, "late": self.told and (cell["kind"] != "test" or self.sink.shown_since_mark())}

    def _tell(self) -> None:
        """From here on, what the student's code puts out may hold what hidden lines passed to it."""
        if not self.told:
            self.told = True
            self.sink.mark()

    def _asking(self) -> None:
        if not self.told and self.sink.place():
            self._tell()

    def _run_kind(self, index: int, cell: dict) -> dict:
        self.sink.place = lambda: False
        if cell["kind"] != "test":
            self.sources.append(cell["source"])  # a rule on the text may follow a name into a setup cell
        if cell["kind"] == "setup":
            problem = self._set_up(cell["source"])
            return {**self._student_cell(index, cell["source"]), "problem": problem}
        if cell["kind"] == "student":
            return self._student_cell(index, cell["source"])
        return self._test(cell)

    def _report(self, index: int, result: dict) -> None:
        self._say({"cell": index, "outputs": self.sink.outputs, "hidden": self.sink.hidden, **result})

    def _say(self, message: dict) -> None:
        try:
            send_frame(self.control, message)
        except TypeError:  # more output than a frame holds
            send_frame(self.control, {**message, "outputs": [], "hidden": []})

    # ---- limits ----------------------------------------------------------------------------------

    def _alarm(self, *_: Any) -> None:
        if self.armed:
            self.fault = CellTimeout(f"longer than {self.limit:g} s")
            if self.connection is not None:
                self.connection.fault = self.connection.fault or self.fault
            signal.setitimer(signal.ITIMER_REAL, 0.2)  # again, should a bare except have swallowed it
            raise self.fault

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        self.fault, self.armed = None, True
        try:
            signal.setitimer(signal.ITIMER_REAL, self.limit)
            yield
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    # ---- the student process ---------------------------------------------------------------------

    def _connected(self) -> CheckerConnection:
        """The connection to a student process that has run everything so far; a new one where the last is
        gone.
        """
        if self.connection is None:
            if self.restarts > MAX_RESTARTS:
                raise PeerDied("the student's process ended too often")
            self.restarts += 1
            self._say({"need": "student", "core": self.core})
            _, descriptors, _, _ = socket.recv_fds(self.control, 16, 1)
            sock = socket.socket(fileno=descriptors[0])
            self.connection = CheckerConnection(sock, self.sink, self._name_of, self._asking)
            kept, self.sink = self.sink, out.Sink()
            self.connection._sink = self.sink
            for index in list(self.ran):
                if index not in self.bad and self.connection is not None:
                    self._student_cell(index, self.cells[index]["source"], again=True)
                    self._say({"alive": True})
            self.sink = kept
            if self.connection is None:
                raise PeerDied("the student's process ended while it ran the cells again")
            self.connection._sink = kept
        return self.connection

    def _drop(self) -> None:
        if self.connection is not None:
            self.connection.sock.close()
            self.connection = None

    def _student_cell(self, index: int, source: str, again: bool = False) -> dict:
        """Run one cell in the student process. Faults cost this process, not the run."""
        if index in self.bad:
            return {"fault": "not run again: it ended the student's process", "kind": "PeerDied"}
        try:
            connection = self._connected()
            if not again:
                self.ran.append(index)
            with self._limited():
                succeeded = connection.ask("exec", source)
            return {"failed": succeeded is not True}
        except BaseException as error:
            fault = self.fault or error
            self.bad.add(index)
            self._drop()
            return self._faulted(fault)

    def _faulted(self, fault: BaseException) -> dict:
        said = {
            CellTimeout: f"This took longer than {self.limit:g} seconds and was stopped.",
            PeerDied: "The process that ran the code ended here.",
            ProtocolError: "The code interfered with the grading; its process was stopped.",
        }
        kind = next((kind for kind in said if isinstance(fault, kind)), None)
        name = kind.__name__ if kind else type(fault).__name__
        text = said.get(kind, str(fault)[:300])
        self.sink.add(out.error(name, text, [f"{name}: {text}"]))
        return {"fault": str(fault)[:300], "kind": name}

    # ---- locked cells ----------------------------------------------------------------------------

    def _set_up(self, source: str) -> str | None:
        """Run a locked setup cell here too. Return what is wrong with it."""
        lines = ["" if line.startswith(("%", "!")) else line for line in source.split("\n")]
        before = dict(self.namespace)
        keep, self.sink = self.sink, out.Sink()  # what is shown is what it prints in the student's process
        try:
            with self._limited():
                exec(compile("\n".join(lines), "<setup>", "exec"), self.namespace)
        except BaseException as error:
            return f"{type(error).__name__}: {error}"[:500]
        finally:
            self.sink = keep
        for name, value in self.namespace.items():
            if before.get(name) is not value or name not in before:
                self.made.setdefault(id(value), (name, value))
        return None

    def _name_of(self, value: Any) -> str | None:
        """The name by which the student process has an equal object: from a setup cell, or from a module."""
        if id(value) in self.made:
            return self.made[id(value)][0]
        if isinstance(value, types.ModuleType):
            return None
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if (
            type(module) is not str
            or type(path) is not str
            or module == "__main__"
            or module not in sys.modules
        ):
            return None
        found: Any = sys.modules[module]
        for part in path.split("."):
            found = getattr(found, part, None)
        return f"{module}:{path}" if found is value else None

    def _test(self, cell: dict) -> dict:
        """Run one test cell. `value` is its last expression where that is a number, `passed` says no
        error.
        """
        key, source = cell["key"], cell["source"]
        file = file_of(key)
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        hidden = [range(first, last + 1) for first, last in cell["hidden"]]
        self.sink.place = lambda: any(line in part for line in lines_on_stack(file) for part in hidden)
        code = cell["code"]
        if type(code) is str:
            return {"passed": False, "problem": f"the test cell is no Python: {code}"}
        body, last, last_line, used = unpacked(self.codes[code])
        try:
            connection = self._connected()
            with self._limited():
                connection.failed_callback = None
                self._import_names(connection, sorted(used & self.exports))
                exec(body, self.namespace)
                value = eval(last, self.namespace) if last is not None else None
            fault = self.fault or connection.fault
            if fault is not None:
                raise fault
            if connection.failed_callback is not None:
                raise connection.failed_callback
        except BaseException as error:
            fault = self.fault or (self.connection.fault if self.connection else None)
            fault = fault or (error if isinstance(error, Fault) else None)
            if fault is not None:
                self._drop()
                return {"passed": False, **self._faulted(fault)}
            return {"passed": False, **self._failed(error, file, hidden)}
        if last is None or value is None:
            return {"passed": True}
        if type(value) not in (int, float):
            return {"passed": True, "problem": f"its last value is a {type(value).__name__}, not a number"}
        shown = not any(last_line in part for part in hidden)
        return {"passed": True, "value": repr(value)[:100], "shown": shown}

    def _import_names(self, connection: CheckerConnection, names: list[str]) -> None:
        """Take the names that the cell uses and the instructor's own solution defines; no others."""
        if not names:
            return
        got = connection.ask("names", names)
        if type(got) is not dict:
            raise ProtocolError("the names came as another thing than a dictionary")
        for name in names:
            self.namespace.pop(name, None)
            if name in got:
                self.namespace[name] = got[name]

    def _failed(self, error: BaseException, file: str, hidden: list[range]) -> dict:
        """Put the error into the outputs. `hint` may be shown although the line is hidden."""
        failure = Failure(error, file)
        self.sink.place = lambda: failure.touches(hidden)
        self.sink.add(out.error(failure.name, failure.text, failure.traceback(hidden)))
        return {"hint": failure.text} if failure.is_meant_for_learners() else {}
