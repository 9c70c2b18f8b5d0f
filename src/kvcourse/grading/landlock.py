"""Landlock: a process gives up, for good, all files but the listed ones, TCP, and signals to processes
outside.

By system call numbers, for no package wraps it. Source: Linux, Documentation/userspace-api/landlock.rst.
"""

import ctypes
import os
import struct
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
READ_FILE, READ_DIR = 1 << 2, 1 << 3
FOR_FILES = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # execute, write, read, truncate, ioctl
TCP, SCOPES = 3, 3  # bind and connect; abstract sockets and signals
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # file rights by version of the interface; 16 from version 5 on


def version() -> int:
    """The kernel's Landlock interface, 0 where it has none."""
    if os.uname().sysname != "Linux":
        return 0
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, 0, 1))


def restrict(read: Iterable[str], write: Iterable[str]) -> int:
    """Leave this process only `read` (to read) and `write` (all but to execute). Return the version used."""
    libc = ctypes.CDLL(None, use_errno=True)
    abi = version()
    if abi < 1:
        raise OSError("this kernel has no Landlock")
    every = (1 << RIGHTS.get(abi, 16)) - 1
    fields = [every, *([TCP] if abi >= 4 else []), *([SCOPES] if abi >= 6 else [])]
    ruleset = struct.pack(f"{len(fields)}Q", *fields)
    handle = _checked(libc.syscall(CREATE_RULESET, ruleset, len(ruleset), 0), "landlock_create_ruleset")
    rules = [(path, READ_FILE | READ_DIR) for path in read] + [(path, every & ~1) for path in write]
    for path, rights in rules:
        try:
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        if not os.path.isdir(path):
            rights &= FOR_FILES
        rule = struct.pack("=Qi", rights & every, beneath)
        _checked(libc.syscall(ADD_RULE, handle, PATH_BENEATH, rule, 0), f"landlock_add_rule {path}")
        os.close(beneath)
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _checked(libc.syscall(RESTRICT_SELF, handle, 0), "landlock_restrict_self")
    os.close(handle)
    return abi


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
