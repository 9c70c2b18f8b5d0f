"""What a student process, and a checker process, gives up before it runs anything; the two levels of
isolation.

`hardened` (Linux): a root of its own without course files, another user (or a user namespace), its own
process, network, mount and IPC namespaces, Landlock, a system call filter, limits. `basic`: limits only,
where an operating system has no more; code at that level can read what the grader's user can.
"""

import ctypes
import functools
import os
import resource
import socket
import struct
import sys
import sysconfig
from pathlib import Path

from kvcourse.grading import landlock, namespaces, seccomp
from kvcourse.units import GIB, MIB

LEVELS = ("hardened", "basic")
STUDENT_USER, CHECKER_USER = 61184, 61440  # plus the slot's number; systemd's range for passing users
FOLDER_SIZE = 256 * MIB
SOCKET = 3
SET_DUMPABLE, SET_PARENT_DEATH_SIGNAL, SIGKILL = 4, 1, 9
LIBRARIES = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")


@functools.cache
def interpreter_paths() -> tuple[str, ...]:
    """The files that Python and the installed packages consist of; nothing else of this machine is shown."""
    package = str(Path(__file__).resolve().parent.parent)
    sites = {sysconfig.get_paths()[name] for name in ("purelib", "platlib")}
    paths = [sys.base_prefix, sys.exec_prefix if sys.exec_prefix == sys.base_prefix else "", package, *sites]
    shown: list[str] = []
    for path in sorted({p for p in (*LIBRARIES, *paths) if p and os.path.lexists(p)}):
        if not any(path == other or path.startswith(f"{other}/") for other in shown):
            shown.append(path)
    return tuple(shown)


def is_root() -> bool:
    """Whether this process may become other users."""
    return os.geteuid() == 0


def missing() -> list[str]:
    """What this machine lacks for `hardened`, one sentence each, as far as can be told without trying."""
    if sys.platform != "linux":
        return [f"namespaces, Landlock and seccomp are Linux's; this is {sys.platform}."]
    said = []
    if os.uname().machine not in namespaces._PIVOT_ROOT:
        said.append(f"the grader knows the system calls of x86-64 and arm64, not of {os.uname().machine}.")
    if landlock.version() < 1:
        said.append(
            "the kernel has no Landlock (Linux 5.13 or newer, with landlock among its security modules)."
        )
    reason = seccomp.available()
    if reason:
        said.append(f"{reason}.")
    if not is_root() and not os.path.exists("/proc/self/ns/user"):
        said.append("the kernel has no user namespaces, and the grader does not run as root.")
    return said


def statement(level: str) -> str:
    """One line on what the level means here."""
    if level == "basic":
        return (
            "basic (limits of time, memory and file size only: the code handed in can read what you can, and "
            "its processes may stay behind; grade strangers' work on Linux at level hardened)"
        )
    user = "another user" if is_root() else "a user namespace"
    return (
        f"hardened ({user}; own root, processes, network; Landlock {landlock.version()}; seccomp; limits of "
        "time, memory, processes and files)"
    )


def enter_student(
    sock: int, folder: str, files: int | None, slot: int, core: int | None, hardened: bool, cpu: int
) -> None:
    """Turn this freshly forked process into a student process: `sock` becomes descriptor 3, nothing else is
    open.
    """
    os.setsid()
    os.umask(0o077)
    stay_on(core)
    if hardened:
        namespaces.unshare(namespaces.NEWNS)
        writable = namespaces.own_proc_and_folders(str(FOLDER_SIZE), interpreter_paths())
        folder = writable[0]
    if files is not None:
        write_files(folder, files)
    if hardened and is_root():
        own_all(folder, STUDENT_USER + slot)
    os.chdir(folder)
    _close_all_but(sock)
    _limit(memory=4 * GIB, cpu=cpu, files=64 * MIB, processes=64 if hardened else 2048)
    if hardened:
        devices = [f"/dev/{name}" for name in namespaces.DEVICES]
        landlock.restrict([*interpreter_paths(), "/proc"], [*writable, *devices])
        _become(STUDENT_USER + slot)
        ctypes.CDLL(None).prctl(
            SET_DUMPABLE, 1, 0, 0, 0
        )  # its own /proc/self stays readable; no one else is there
        seccomp.install()
    os.environ.clear()
    os.environ.update(HOME=folder, TMPDIR=folder, LANG="C.UTF-8", OMP_NUM_THREADS="1", MPLCONFIGDIR=folder)
    os.environ.update(MPLBACKEND="module://matplotlib_inline.backend_inline", PYTHONHASHSEED="random")
    sys.path[:] = [path for path in sys.path if path not in ("", folder)] + [folder]


def enter_checker(sock: int, slot: int, hardened: bool, cpu: int) -> None:
    """Turn this freshly forked process into a checker process: it writes no file and opens no socket."""
    os.setsid()
    os.umask(0o077)
    os.chdir("/")
    _close_all_but(sock)
    _limit(memory=6 * GIB, cpu=cpu, files=0 if hardened else 64 * MIB, processes=64 if hardened else 2048)
    if hardened:
        landlock.restrict([*interpreter_paths(), "/proc"], [f"/dev/{name}" for name in namespaces.DEVICES])
        _become(CHECKER_USER + slot)
        seccomp.install()
    not_dumpable()
    os.environ.clear()
    os.environ.update(HOME="/", LANG="C.UTF-8", OMP_NUM_THREADS="1")
    sys.path[:] = [path for path in sys.path if path]


def not_dumpable() -> None:
    """Let no other process of this user read this one's memory or trace it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the process that started this one ends, however it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, SIGKILL, 0, 0, 0)


def pack_files(files: dict[str, bytes]) -> bytes:
    """Files by relative name, as `write_files` reads them."""
    parts = []
    for name, data in files.items():
        encoded = name.encode()
        parts.append(struct.pack("!IQ", len(encoded), len(data)) + encoded + data)
    return b"".join(parts)


def write_files(folder: str, handle: int) -> None:
    """Write packed files below `folder`."""
    size, at = os.fstat(handle).st_size, 0
    while at < size:
        length, count = struct.unpack("!IQ", os.pread(handle, 12, at))
        name = os.pread(handle, length, at + 12).decode()
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(os.pread(handle, count, at + 12 + length))
        at += 12 + length + count


def own_all(folder: str, user: int) -> None:
    """Give a folder and all below it to a user."""
    os.chown(folder, user, user)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(os.path.join(place, name), user, user, follow_symlinks=False)


def stay_on(core: int | None = None) -> int | None:
    """Keep this process on one core, the one that the scheduler gave it or that of its partner; return which.

    Of a submission's two processes only one runs at a time, and to wake another core for each message costs
    more than the message.
    """
    if sys.platform != "linux":
        return None
    if core is None:
        core = ctypes.CDLL(None).sched_getcpu()
    try:
        os.sched_setaffinity(0, {core})
    except (OSError, ValueError, TypeError, OverflowError):
        return None
    return core


def _close_all_but(sock: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    kept = os.dup(sock)  # never one of 0 to 3 by chance
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.dup2(kept, SOCKET)
    os.closerange(SOCKET + 1, 1 << 16)  # one system call on Linux


def _limit(memory: int, cpu: int, files: int, processes: int) -> None:
    limits = {
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_FSIZE: files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_NPROC: processes,
    }
    if sys.platform == "linux":
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limits[resource.RLIMIT_AS] = mapped + memory
    for name, value in limits.items():
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


def _become(user: int) -> None:
    if is_root():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)  # gives up the capabilities with it
    if _has_capabilities():
        namespaces.drop_capabilities()


def _has_capabilities() -> bool:
    return int(Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0], 16) != 0


def take_socket() -> socket.socket:
    """The socket that the enter functions leave as descriptor 3."""
    return socket.socket(fileno=SOCKET)
