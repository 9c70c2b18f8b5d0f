"""What `kvcourse doctor` reports: what this machine has, and what a student process can really not do on
it.
"""

import os
import platform
from dataclasses import dataclass

from kvcourse.grading import landlock, sandbox, seccomp
from kvcourse.grading.launcher import GraderError, IsolationError, Zygote
from kvcourse.grading.runner import Job, Runner

# Each runs inside a student process and must end in an error.
ATTEMPTS = {
    "list the folders of this machine": "import os\nos.listdir('/')",
    "read the list of users": "open('/etc/passwd').read()",
    "see another process": "import os\nassert len([p for p in os.listdir('/proc') if p.isdigit()]) > 1",
    "open a network socket": "import socket\nsocket.socket()",
    "start a program": "import os\nos.execv('/bin/true', ['true'])",
    "trace a process": "import ctypes\nassert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    "make a namespace of its own": "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "write outside its folder": "open('/usr/kvcourse-doctor', 'w')",
    "write into the installed packages": "import torch\nopen(torch.__file__, 'a')",
    "act with any privilege": (
        "assert int(open('/proc/self/status').read().split('CapEff:')[1].split()[0], 16)"
    ),
    "start more than 64 processes": (
        "import os, time\nfor _ in range(200):\n    if os.fork() == 0:\n        time.sleep(99)"
    ),
    "take 5 GiB of memory": "kept = bytearray(5 << 30)",
    "write 300 MiB": "for n in range(10):\n    open(f'f{n}', 'wb').write(bytes(30 << 20))",
    "go on for ever": "while True:\n    pass",
}
# What must work, or a refusal below means nothing.
ORDINARY = (
    "import tempfile, torch\nassert float(torch.ones(2) @ torch.ones(2)) == 2\n"
    "tempfile.TemporaryFile().write(b'x')\nopen('/tmp/kvcourse-doctor', 'w').write('x')"
)


@dataclass(frozen=True)
class Finding:
    """A fact about this machine."""

    what: str
    found: str


@dataclass(frozen=True)
class Attempt:
    """Something a student process tried."""

    what: str
    refused: bool
    note: str = ""


def look() -> list[Finding]:
    """The facts that decide about the levels."""
    version = landlock.version()
    return [
        Finding("system", f"{platform.system()} {platform.release()} on {platform.machine()}"),
        Finding("user", "root: graded code runs as other users" if sandbox.is_root() else "an ordinary user"),
        Finding("cores", str(os.cpu_count())),
        Finding("Landlock", f"version {version}" if version else "none"),
        Finding("system call filter", seccomp.available() or "yes"),
        Finding("namespaces", "yes" if os.path.exists("/proc/self/ns/pid") else "none"),
    ]


def lacking() -> list[str]:
    """What stands in the way of `hardened`, also what shows only when it is started."""
    known = sandbox.missing()
    if known:
        return known
    try:
        Zygote("hardened", []).close()
    except (IsolationError, GraderError) as error:
        return [f"{error} A container may forbid namespaces; elsewhere, see sysctl user.max_user_namespaces."]
    return []


def try_hardened() -> list[Attempt]:
    """Let a student process try what it must not be able to do."""
    made = []
    with Zygote("hardened", []) as zygote:
        ended = _error_of(zygote, "ordinary work", ORDINARY)
        if ended:
            raise GraderError(f"ordinary code fails in the sandbox of this machine ({ended}).")
        for what, source in ATTEMPTS.items():  # one process each: some do not survive their attempt
            ended = _error_of(zygote, what, source)
            # A process that died proves nothing about what it tried.
            made.append(Attempt(what, ended not in ("", "PeerDied"), f" ({ended})" if ended else ""))
    return made


def _error_of(zygote: Zygote, key: str, source: str) -> str:
    """The name of the error that a student's cell ends in, empty if it ends well."""
    cell = {"key": key, "kind": "student", "source": source, "hidden": []}
    with Runner(zygote) as runner:
        outcome = runner.run(Job([cell], [], cell_seconds=10.0, total_seconds=30.0))[0]
    failed = any(output["output_type"] == "error" for output in outcome.outputs)
    return outcome.outputs[-1]["ename"] if failed else ""
