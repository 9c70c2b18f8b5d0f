"""The life of a checker process: a submission's runs, one after another, that must not know of each other."""

import json
import os
import socket
import warnings
from collections.abc import Callable

import torch

from kvcourse.checks.seed import ENVIRONMENT
from kvcourse.grading.checker import Checker
from kvcourse.grading.wire import PeerDied, recv_frame


def serve(control: socket.socket, core: int | None, prepare: Callable[[], None]) -> None:
    """Run the parent's jobs until it hangs up; then end this process."""
    try:
        while True:
            job, (cells, *codes) = recv_frame(control)
            job["cells"], job["core"] = json.loads(cells), core
            os.environ.pop(ENVIRONMENT, None)
            if job["seed"] is not None:
                os.environ[ENVIRONMENT] = job["seed"]
            prepare()
            Checker(control, job, codes).run()
            _forget_warnings()
    except PeerDied:
        os._exit(0)


def _forget_warnings() -> None:
    """Let each warning come again: what one run was warned of must not show in the next."""
    warnings.filterwarnings("default", "", Warning, "kvcourse-no-such-module")  # all registers begin anew
    warnings.filters.pop(0)
    torch.set_warn_always(True)  # PyTorch cannot forget
