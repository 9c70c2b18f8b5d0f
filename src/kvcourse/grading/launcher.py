"""The parent's end of the zygote: start it with a clean environment, ask it for processes, end them."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from kvcourse.errors import UserError
from kvcourse.grading import sandbox

MESSAGE = 1 << 16
START_SECONDS = 180
ALWAYS = ("torch", "numpy", "kvcourse.checks", "kvcourse.checks.markers", "kvcourse.errors")


class IsolationError(UserError):
    """The level of isolation that was asked for cannot be had here."""


class GraderError(RuntimeError):
    """The grader's own processes failed; no fault of a submission."""


class Zygote:
    """A fork server for one assignment. Start it from the main thread; `ask` may be called from several."""

    def __init__(
        self, level: str, modules: list[str], secret: Path | str | None = None, cpu: int = 900
    ) -> None:
        """Start at a level, with `modules` imported. `secret` must not lie in what the processes may read."""
        if level == "hardened":
            lacking = sandbox.missing()
            if lacking:
                raise IsolationError(f"level hardened cannot be had here: {lacking[0]} Or: --level basic.")
            _refuse_shown(secret)
        self.level = level
        self._lock = threading.Lock()
        self._place = tempfile.mkdtemp(prefix="kvcourse-grading-")
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-I", "-m", "kvcourse.grading.zygote", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=_clean_environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get("KVCOURSE_GRADING_DEBUG") else subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        theirs.close()
        self._control.settimeout(START_SECONDS)
        settings = {"level": level, "modules": [*ALWAYS, *modules], "place": self._place, "cpu": cpu}
        try:
            self._control.send(json.dumps(settings).encode())
            said = json.loads(self._control.recv(MESSAGE) or b'{"error": "it ended without a word"}')
        except (OSError, ValueError) as error:
            said = {"error": str(error)}
        if "error" in said:
            self.close()
            if level == "hardened":
                raise IsolationError(
                    f"level hardened cannot be had here ({said['error']}); kvcourse doctor says more. "
                    "Or: --level basic, for work you trust."
                )
            raise GraderError(f"the grading processes do not start: {said['error']}")

    def ask(self, message: dict, descriptors: tuple[int, ...] = ()) -> dict[str, Any]:
        """Send a command and return the answer. Raise GraderError when the zygote is gone."""
        with self._lock:
            try:
                socket.send_fds(self._control, [json.dumps(message).encode()], list(descriptors))
                said = self._control.recv(MESSAGE)
            except OSError as error:
                raise GraderError(f"the grading processes are gone: {error}") from None
        if not said:
            raise GraderError("the grading processes are gone")
        return json.loads(said)

    def close(self) -> None:
        """End the zygote and all its children."""
        self._control.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            os.rmdir(self._place)

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Folder:
    """The files that lie beside a submission's notebook, ready for its student processes."""

    def __init__(self, files: dict[str, bytes], level: str) -> None:
        self.path, self._files = "", None
        if level == "basic":
            self.path = tempfile.mkdtemp(prefix="kvcourse-submission-")
        if files:
            self._files = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
            self._files.write(sandbox.pack_files(files))
            self._files.flush()

    def descriptors(self) -> tuple[int, ...]:
        """The descriptor that the zygote passes on, if there are files."""
        return (self._files.fileno(),) if self._files else ()

    def close(self) -> None:
        """Remove what was made."""
        if self._files:
            self._files.close()
        if self.path:
            shutil.rmtree(self.path, ignore_errors=True)


def _clean_environment() -> dict[str, str]:
    """Nothing of the caller's environment: a child can read it back from its own memory."""
    kept = {name: os.environ[name] for name in ("HOME", "KVCOURSE_GRADING_DEBUG") if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # A student's own threads share a core (sandbox.stay_on): those that wait must sleep, not spin.
    waiting = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1", **threads, **waiting, **kept}


def _refuse_shown(secret: Path | str | None) -> None:
    for path in sandbox.interpreter_paths() if secret else ():
        if Path(os.path.realpath(secret)).is_relative_to(os.path.realpath(path)):
            raise IsolationError(
                f"{secret} lies inside {path}, which graded code may read; move the course out of there."
            )
