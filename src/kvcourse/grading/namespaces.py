"""Linux namespaces and mounts: a root of its own with nothing in it but the interpreter, /proc and /dev/null.

Source: man pages namespaces(7), user_namespaces(7), mount_namespaces(7), pivot_root(2).
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2
CAP_COUNT, PR_CAPBSET_DROP, CAPABILITY_VERSION = 41, 24, 0x20080522
DEVICES = ("null", "zero", "full", "random", "urandom")

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Move this process (its next children, for NEWPID) into new namespaces."""
    _checked(_libc.unshare(flags), "unshare")


def set_pid_namespace(handle: int) -> None:
    """Let this process's next children be born in the namespace of an open /proc/.../ns/pid."""
    _checked(_libc.setns(handle, NEWPID), "setns")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2)."""
    encoded = [part.encode() if part else None for part in (source, target, kind)]
    _checked(_libc.mount(*encoded, flags, data.encode() or None), f"mount {target}")


def become_user_namespace_root() -> None:
    """Enter a user namespace in which this process may mount; its files stay its user's own."""
    user, group = os.getuid(), os.getgid()
    unshare(NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text)


def enter_root(place: str, shown: Iterable[str]) -> None:
    """Make `place` this process's root: empty but for the paths in `shown`, read-only, and a few devices."""
    mount(None, "/", None, REC | PRIVATE)
    mount("tmpfs", place, "tmpfs", NOSUID | NODEV, "mode=755,size=16m")
    for path in shown:
        _show(place, path)
    for device in DEVICES:
        _bind(f"/dev/{device}", f"{place}/dev/{device}", 0)
    for folder in ("proc", "tmp", "submission", "old", "dev/shm"):
        os.makedirs(f"{place}/{folder}", exist_ok=True)
    os.chdir(place)
    mount("proc", f"{place}/proc", "proc", NOSUID | NODEV | NOEXEC)
    _checked(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"old"), "pivot_root")
    os.chdir("/")
    _checked(_libc.umount2(b"/old", DETACH), "umount")
    os.rmdir("/old")
    mount(None, "/", None, REMOUNT | BIND | RDONLY | NOSUID | NODEV)


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def own_proc_and_folders(size: str, shown: Iterable[str]) -> list[str]:
    """In a new mount namespace: a /proc of the new process namespace, empty /submission, /tmp and /dev/shm.

    Paths in `shown` (an interpreter, say) that lie in /tmp or /dev/shm stay to be seen there. Returns the
    folders to write in.
    """
    mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    mount("tmpfs", "/submission", "tmpfs", NOSUID | NODEV, f"mode=700,size={size},nr_inodes=10000")
    for folder in ("/tmp", "/dev/shm"):
        kept = [(path, os.open(path, os.O_PATH)) for path in shown if path.startswith(f"{folder}/")]
        if folder == "/tmp" and not kept:
            mount("/submission", "/tmp", None, BIND)
            continue
        mount("tmpfs", folder, "tmpfs", NOSUID | NODEV, f"mode=1777,size={size},nr_inodes=10000")
        for path, handle in kept:
            _open_way(folder, path)
            _bind(f"/proc/self/fd/{handle}", path, RDONLY)
            os.close(handle)
    return ["/submission", "/tmp", "/dev/shm"]


def _open_way(folder: str, path: str) -> None:
    """Make the folders between `folder` and `path`, for everyone to pass whatever the umask."""
    for parent in reversed(Path(path).parents):
        if parent.is_relative_to(folder) and not parent.exists():
            parent.mkdir()
            parent.chmod(0o755)
    if Path(path) != Path(folder):
        Path(path).mkdir(exist_ok=True)


def drop_capabilities() -> None:
    """Give up every capability, also for programs started later."""
    for number in range(CAP_COUNT):
        _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _show(place: str, path: str) -> None:
    """Bind a path, read-only, at the same place of the new root; a symbolic link is made again."""
    if not os.path.lexists(path):
        return
    target = place + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
    else:
        _bind(path, target, RDONLY)


def _bind(path: str, target: str, flags: int) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISDIR(os.stat(path).st_mode):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(path, target, None, BIND)
    if flags:
        # A user namespace may not take locked flags off a mount, so those that are there are named again.
        kept = os.statvfs(target).f_flag & (NOSUID | NODEV | NOEXEC)
        mount(None, target, None, REMOUNT | BIND | flags | kept)
