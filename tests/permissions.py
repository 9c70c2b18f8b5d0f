"""Run a command as somebody whom the modes of files hold back, even where the tests run as root."""

import ctypes
import os
import subprocess
import sys


def run_held_back(words: list[str]) -> subprocess.CompletedProcess:
    """Run a command and return what it printed and its exit status."""
    held_back = _obey if sys.platform == "linux" and os.geteuid() == 0 else None
    return subprocess.run(words, preexec_fn=held_back, capture_output=True, text=True)


def _obey() -> None:
    """Let even root be held back by the mode of files: without these capabilities, after the next exec."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
