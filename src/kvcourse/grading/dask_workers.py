"""Jobs on other machines, by Dask distributed. Each worker runs kvcourse's run step; it gets bytes only.

A job whose worker dies runs again on another one. A worker that cannot give the level that was asked for
stops the run: nothing is ever graded at a lower one.
"""

import json
import logging
import socket
import time
from concurrent.futures import CancelledError, Future
from dataclasses import asdict
from typing import Any

from kvcourse.course.files import CourseError
from kvcourse.errors import UserError
from kvcourse.grading import sandbox
from kvcourse.grading.launcher import GraderError, IsolationError
from kvcourse.grading.run_step import KEPT, run_step
from kvcourse.grading.transport import Terms
from kvcourse.grading.workers import WorkerLost

CONNECT_SECONDS = 20
PATIENCE = 600.0  # seconds without any worker before the run gives up: queues of clusters are slow


def look(text: str) -> str:
    """On a worker: whether it can grade under some terms, proved by starting what grades. JSON in and out."""
    terms = json.loads(text)
    try:
        with KEPT.use(Terms(**{**terms, "modules": tuple(terms["modules"])})) as zygote:
            return json.dumps({"host": socket.gethostname(), "level": sandbox.statement(zygote.level)})
    except (UserError, GraderError) as error:
        return json.dumps({"host": socket.gethostname(), "error": str(error)[:500]})


class DaskWorkers:
    """Runs jobs on the workers of a Dask scheduler."""

    def __init__(self, terms: Terms, address: str) -> None:
        """Connect, wait for a first worker, and let each prove its level. Raise CourseError or
        IsolationError.
        """
        try:
            from distributed import Client
        except ImportError:
            raise CourseError("--scheduler needs Dask distributed: pip install 'kvcourse[dask]'.") from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what it meets is reported here
        self.address, self._terms = address, terms
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            reason = " ".join(str(error).split())[:200]
            raise CourseError(f"expected a Dask scheduler at {address}, got no answer ({reason}).") from None
        self._seen = time.monotonic()
        self._lines: list[str] = []
        try:
            self._prove()
        except BaseException:
            self.close()
            raise
        # A job is sent again, by itself, when its worker dies.
        self._executor = self._client.get_executor(pure=False)

    @property
    def capacity(self) -> int:
        """How many jobs may be on their way: as many as run at once, and as many waiting beside them."""
        return max(2, 2 * sum(worker["nthreads"] for worker in self._workers().values()))

    def submit(self, data: bytes) -> Future:
        """Send a packed job."""
        return self._executor.submit(run_step, data)

    def result(self, future: Future) -> bytes:
        """The packed result of a job that is done. Raise WorkerLost if its workers died one after another."""
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            last = error.last_worker.address if error.last_worker else "unknown"
            raise WorkerLost(f"its workers ended again and again, the last one at {last}") from None
        except CancelledError:
            raise GraderError(f"the Dask scheduler at {self.address} dropped a job") from None

    def check(self) -> None:
        """Raise CourseError if the scheduler is gone, or no worker has been there for long."""
        if self._client.status != "running":
            raise CourseError(
                f"the Dask scheduler at {self.address} is gone; what was graded before stands. Grade again."
            )
        if self._workers():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > PATIENCE:
            raise CourseError(
                f"no worker at {self.address} for {PATIENCE:g} s; what was graded before stands. Grade again."
            )

    def described(self) -> list[str]:
        """A line on each worker: where it is and the isolation it gives."""
        return self._lines

    def close(self) -> None:
        """Leave the scheduler, which forgets jobs that still run."""
        self._client.close(timeout=5)

    def _workers(self) -> dict[str, Any]:
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def _prove(self) -> None:
        """Ask each worker for its level; those that end before they answer do not count."""
        while not self._lines:
            self.check()
            answers = self._client.run(look, json.dumps(asdict(self._terms)), on_error="return")
            for worker, answer in answers.items():
                if isinstance(answer, OSError):  # the connection to it is gone
                    continue
                if isinstance(answer, BaseException):  # whatever a machine without kvcourse says
                    reason = " ".join(f"{type(answer).__name__}: {answer}".split())[:200]
                    raise CourseError(f"the worker {worker} cannot run kvcourse ({reason}).")
                said = json.loads(answer)
                if "error" in said:
                    raise IsolationError(f"the worker {worker} on {said['host']}: {said['error']}")
                self._lines.append(f"{worker} on {said['host']}: {said['level']}")
            time.sleep(0 if self._lines else 0.2)
