"""The run step: one function, bytes in, bytes out. It may run in this process or on another machine.

It knows no gradebook, no other submission and no file of the course. Each process that runs it keeps its fork
servers, so that an assignment's modules are imported once.
"""

import contextlib
import queue
import socket
import sys
import threading
from collections.abc import Iterator

from kvcourse.grading.launcher import GraderError, IsolationError, Zygote
from kvcourse.grading.shown import run_for_feedback
from kvcourse.grading.storage import package_digest
from kvcourse.grading.transport import Terms, pack_refusal, pack_result, unpack_job

MOST_KEPT = 4  # fork servers in one process
SLOTS = 250


def run_step(data: bytes, zygote: Zygote | None = None) -> bytes:
    """Run a packed job and pack what came of it, or why it was not run. `zygote` replaces this process's own.

    A fork server that has gone is started once more.
    """
    job, terms = unpack_job(data)
    for attempt in (1, 2):
        try:
            with contextlib.nullcontext(zygote) if zygote else KEPT.use(terms) as running, slot() as number:
                if running.level != terms.level:
                    raise IsolationError(f"expected processes at level {terms.level}, got {running.level}.")
                return pack_result(*run_for_feedback(running, job, number), terms)
        except GraderError as error:
            if zygote is not None or attempt == 2:
                return pack_refusal(error)
            KEPT.forget(terms)
        except IsolationError as error:
            return pack_refusal(error)
    raise AssertionError


class KeptZygotes:
    """The fork servers of this process, by the terms they were started under."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Terms, Zygote] = {}
        self._users: dict[Zygote, int] = {}

    @contextlib.contextmanager
    def use(self, terms: Terms) -> Iterator[Zygote]:
        """The fork server for some terms, started if need be. Raise IsolationError if that cannot be."""
        with self._lock:
            if terms not in self._kept:
                self._make_room()
                self._kept[terms] = _started_lastingly(terms)
            zygote = self._kept[terms]
            self._users[zygote] = self._users.get(zygote, 0) + 1
        try:
            yield zygote
        finally:
            with self._lock:
                self._users[zygote] -= 1

    def forget(self, terms: Terms) -> None:
        """Close a fork server; the next use starts another."""
        with self._lock:
            zygote = self._kept.pop(terms, None)
            if zygote is not None:
                self._users.pop(zygote, None)
                zygote.close()

    def _make_room(self) -> None:
        for terms, zygote in list(self._kept.items()):
            if len(self._kept) >= MOST_KEPT and not self._users.get(zygote):
                del self._kept[terms]
                zygote.close()


KEPT = KeptZygotes()


def _started_lastingly(terms: Terms) -> Zygote:
    """A fork server of the terms. It ends with the thread that started it, so it gets one that stays."""
    if terms.package != package_digest():
        raise IsolationError("kvcourse here is not the same as where the grading was started.")
    answers: queue.Queue = queue.Queue()

    def start() -> None:
        try:
            answers.put(Zygote(terms.level, list(terms.modules), secret=terms.secret or None, cpu=terms.cpu))
            threading.Event().wait()
        except BaseException as error:
            answers.put(error)

    threading.Thread(target=start, daemon=True).start()
    answer = answers.get()
    if isinstance(answer, BaseException):
        raise answer
    return answer


@contextlib.contextmanager
def slot() -> Iterator[int]:
    """A number that no other running submission of this machine has: processes of a number share a user.

    An abstract socket's name is held for as long as its process lives.
    """
    if sys.platform != "linux":
        yield 0
        return
    for number in range(SLOTS):
        with socket.socket(socket.AF_UNIX) as held:
            try:
                held.bind(f"\0kvcourse-grading-slot-{number}")
            except OSError:
                continue
            yield number
            return
    raise GraderError(f"{SLOTS} submissions are being run on this machine already")
