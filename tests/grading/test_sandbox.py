# ruff: noqa: E501  (an attempt is one line of a table)
"""The isolation of a student process, asked from inside: each thing that must be impossible is tried."""

import ctypes
import os
import platform
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kvcourse.grading import doctor, sandbox, seccomp
from kvcourse.grading.launcher import GraderError, IsolationError, Zygote

TRIES = {
    "other processes": "import os\nassert [p for p in os.listdir('/proc') if p.isdigit()] == [str(os.getpid())] == ['1']",
    "other folders": "import os\nfor p in ('/', '/home', '/root', '/var', '/srv', '/mnt', '/tmp/..'):\n    try:\n        os.listdir(p)\n    except OSError:\n        continue\n    raise AssertionError(p)",
    "password file": "import os\nassert not os.path.exists('/etc/passwd') and not os.path.exists('/etc/shadow')",
    "root": "import os\nassert os.getuid() != 0 or open('/proc/self/uid_map').read().split()[1] != '0'",
    "capabilities": "assert int(open('/proc/self/status').read().split('CapEff:')[1].split()[0], 16) == 0",
    "bounding set": "assert 'NoNewPrivs:\\t1' in open('/proc/self/status').read()",
    "seccomp": "assert 'Seccomp:\\t2' in open('/proc/self/status').read()",
    "network": "import socket\ntry:\n    socket.socket()\nexcept PermissionError:\n    pass\nelse:\n    raise AssertionError",
    "interfaces": "assert open('/proc/net/route').read().count('\\n') <= 1",
    "descriptors": "import os\nassert sorted(int(f) for f in os.listdir('/proc/self/fd'))[:4] == [0, 1, 2, 3] and len(os.listdir('/proc/self/fd')) == 5",
    "environment": "import os\nassert set(os.environ) <= {'HOME', 'TMPDIR', 'LANG', 'OMP_NUM_THREADS', 'MPLCONFIGDIR', 'MPLBACKEND', 'PYTHONHASHSEED', 'KMP_DUPLICATE_LIB_OK', 'KMP_INIT_AT_FORK'}, os.environ",
    "writing": "import os\nopen('mine', 'w').close()\nopen('/tmp/mine2', 'w').close()\nfor p in ('/x', '/usr/x', os.__file__):\n    try:\n        open(p, 'a')\n    except OSError:\n        continue\n    raise AssertionError(p)",
    "running programs": "import os\ntry:\n    os.execv('/bin/true', ['true'])\nexcept OSError:\n    pass\nelse:\n    raise AssertionError",
    "namespaces": "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == -1",
    "lazy imports work": "import sqlite3, xml.dom.minidom, wsgiref.simple_server, torch.fft, statistics, zoneinfo",
    "threads and forks work": "import threading, os\nt = threading.Thread(target=lambda: None); t.start(); t.join()\np = os.fork()\nif p == 0: os._exit(0)\nassert os.waitpid(p, 0)[1] == 0",
    "torch works": "import torch\ntorch.set_num_threads(2)\nx = torch.randn(200, 200)\n(x @ x).exp().sum().item()",
    "many threads on one core": "import os, torch\ntorch.set_num_threads(max(2, os.cpu_count()))\nx, w = torch.randn(8, 512), torch.randn(512, 512)\nfor _ in range(3000): x @ w",
    "choosing a core": "import os\ntry:\n    os.sched_setaffinity(0, range(os.cpu_count()))\nexcept PermissionError:\n    pass\nelse:\n    raise AssertionError",
    "multiprocessing works": "import multiprocessing as mp\nwith mp.get_context('fork').Pool(2) as pool:\n    assert pool.map(abs, [-1, 2]) == [1, 2]",
}  # fmt: skip


@pytest.fixture
def hardened(level):
    if level != "hardened":
        pytest.skip(f"no hardened isolation here: {sandbox.missing()[0]}")


@pytest.mark.parametrize("what", TRIES)
def test_inside_a_student_process(hardened, run_cells, what):
    outcome = run_cells(TRIES[what], "pass", reference="pass", cell_seconds=20.0)["q1"]
    assert not [o for o in outcome.outputs if o["output_type"] == "error"], outcome.outputs
    assert not outcome.fault


def test_the_checker_writes_nothing_and_runs_nothing(hardened, run_cells):
    test = (
        "import os, socket\n"
        "for act in (lambda: open('/tmp/x', 'w'), lambda: open('/submission/x', 'w'), socket.socket,\n"
        "            lambda: os.execv('/bin/true', ['true']), lambda: os.listdir('/work'), lambda: os.kill(1, 9)):\n"
        "    try:\n        act()\n    except OSError:\n        continue\n    raise AssertionError(act)\n"
        "assert os.getuid() != 0 or True\nassert 'Seccomp:\\t2' in open('/proc/self/status').read()"
    )
    outcome = run_cells("def f(): ...", test)["test"]
    assert outcome.passed, outcome.outputs


def test_a_level_that_cannot_be_had_is_refused_and_not_lowered(monkeypatch):
    monkeypatch.setattr(sandbox, "missing", lambda: ["the kernel has no Landlock."])
    with pytest.raises(IsolationError, match="hardened cannot be had here: the kernel has no Landlock"):
        Zygote("hardened", [])


def test_a_course_inside_what_students_may_read_is_refused(hardened):
    with pytest.raises(IsolationError, match="move the course"):
        Zygote("hardened", [], secret=Path(sys.base_prefix))


def test_each_level_says_what_it_is(hardened):
    assert all(text in sandbox.statement("basic") for text in ("can read what you can", "may stay behind"))
    assert all(word in sandbox.statement("hardened") for word in ("Landlock", "seccomp", "network", "limits"))


def simulate(lines, machine: str, number: int, argument: int = 0) -> int:
    """What the filter answers to a system call: a small interpreter of the few instructions it uses."""
    data = struct.pack("<iIQ6Q", number, seccomp.AUDIT[machine], 0, argument, 0, 0, 0, 0, 0)
    value = at = 0
    while True:
        code, yes, no, k = lines[at]
        if code == seccomp.LOAD:
            value = struct.unpack_from("<I", data, k)[0]
            at += 1
        elif code == seccomp.RETURN:
            return k
        else:
            holds = {
                seccomp.JUMP_EQUAL: value == k,
                seccomp.JUMP_ANY_BIT: bool(value & k),
                seccomp.JUMP_GREATER_EQUAL: value >= k,
            }[code]
            at += 1 + (yes if holds else no)


@pytest.mark.parametrize("machine", list(seccomp.AUDIT))
def test_the_filter_refuses_what_is_listed_and_nothing_else(machine):
    lines, column = seccomp.program(machine), list(seccomp.AUDIT).index(machine)
    refused = {pair[column] for pair in seccomp.REFUSED.values()} - {None}
    for number in range(500):
        answer = simulate(lines, machine, number)
        if number in refused:
            assert answer == seccomp.REFUSE | 1
        elif number == seccomp.CLONE3[column]:
            assert answer == seccomp.REFUSE | 38
        else:
            assert answer == seccomp.ALLOW
    clone = seccomp.CLONE[column]
    assert simulate(lines, machine, clone, 0x10000000 | 17) == seccomp.REFUSE | 1
    assert simulate(lines, machine, clone, 0x01200000 | 17) == seccomp.ALLOW
    wrong = "aarch64" if machine == "x86_64" else "x86_64"
    assert simulate(lines, wrong, 0) == seccomp.KILL


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="numbers of this machine only"
)
def test_the_numbers_are_this_machine_s():
    libc = ctypes.CDLL(None)
    assert libc.syscall(39) == os.getpid()  # getpid: the table's column is x86-64's
    for name, (number, _) in seccomp.REFUSED.items():
        header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
        if os.path.exists(header):
            text = Path(header).read_text().split()
            if f"__NR_{name}" in text:
                assert text[text.index(f"__NR_{name}") + 1] == str(number), name


COVERED = """
import os, sys
from kvcourse.grading import namespaces as n, sandbox

shown = [*sandbox.interpreter_paths(), sys.argv[1]]
if os.geteuid():
    n.become_user_namespace_root()
n.unshare(n.NEWPID | n.NEWNS)
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.umask(0o077)
n.enter_root(sys.argv[2], shown)
n.unshare(n.NEWNS)
print(n.own_proc_and_folders("16m", shown))
print(open(sys.argv[1] + "/kept").read(), oct(os.stat(os.path.dirname(sys.argv[1])).st_mode)[-3:])
open("/tmp/new", "w").write("x")
try:
    open(sys.argv[1] + "/new", "w")
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.skipif(bool(sandbox.missing()), reason="level hardened does not work here")
def test_what_is_shown_below_tmp_stays_there_to_be_read():
    """A course cloned into a folder of /tmp has its interpreter there; an empty /tmp must not hide it."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as shown,
        tempfile.TemporaryDirectory(dir="/tmp") as place,
    ):
        os.makedirs(f"{shown}/a/b")
        Path(f"{shown}/a/b/kept").write_text("still here")
        command = [sys.executable, "-c", COVERED, f"{shown}/a/b", place]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folders, kept, refusal = done.stdout.splitlines()
    assert folders == "['/submission', '/tmp', '/dev/shm']"  # in this order: the first is where work starts
    assert kept == "still here 755"
    assert refusal == "Read-only file system"


def test_the_doctor_takes_a_dead_process_for_no_refusal(monkeypatch):
    monkeypatch.setattr(doctor, "_error_of", lambda zygote, key, source: "PeerDied")
    with pytest.raises(GraderError, match="ordinary code fails"):
        doctor.try_hardened()
    monkeypatch.setattr(
        doctor, "_error_of", lambda zygote, key, source: "PeerDied" * (key in doctor.ATTEMPTS)
    )
    assert not any(attempt.refused for attempt in doctor.try_hardened())
