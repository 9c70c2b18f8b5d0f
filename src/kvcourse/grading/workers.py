"""Who runs the jobs: threads of this process, each waiting for processes of their own.

Other back ends (dask_workers) have the same methods.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from kvcourse.grading.launcher import Zygote
from kvcourse.grading.run_step import run_step
from kvcourse.grading.transport import Terms


class WorkerLost(Exception):
    """A job whose worker is gone for good; the text says what happened."""


class LocalWorkers:
    """Runs `capacity` jobs at once on this machine."""

    def __init__(self, terms: Terms, count: int, zygote: Zygote | None = None) -> None:
        """Start a fork server, unless one is given. Raise IsolationError where its level cannot be had."""
        self.capacity = count
        self._own = zygote is None
        self._zygote = zygote or Zygote(
            terms.level, list(terms.modules), secret=terms.secret or None, cpu=terms.cpu
        )
        self._pool = ThreadPoolExecutor(count)

    def submit(self, data: bytes) -> Future:
        """Start a packed job."""
        return self._pool.submit(run_step, data, self._zygote)

    def result(self, future: Future) -> bytes:
        """The packed result of a job that is done. Raise WorkerLost if it has none."""
        return future.result()

    def check(self) -> None:
        """Raise an error if nothing can come any more."""

    def described(self) -> list[str]:
        """A line on each machine, where there is more than this one."""
        return []

    def close(self) -> None:
        """End the fork server, and with it what still runs."""
        if self._own:
            self._zygote.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
