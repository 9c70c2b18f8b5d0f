"""A system call filter (seccomp-BPF) for code that nobody trusts, installed by prctl; numbers of x86-64 and
arm64.

The list says what grading never needs and what has opened kernels or other processes before: other
namespaces, mounts, tracing, other processes' memory, new programs, sockets, kernel rings. Everything else
stays allowed, so that Python and torch work as in a notebook. Written here, because the packages for it
need a compiled libseccomp. Source: Linux, Documentation/userspace-api/seccomp_filter.rst;
include/uapi/linux/filter.h.
"""

import ctypes
import errno
import os
import platform
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, JUMP_ANY_BIT, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
X32 = 0x40000000
# clone() flags for namespaces: mount, cgroup, uts, ipc, user, pid, net, time
NAMESPACES = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x80

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# name: (x86-64, arm64); None where the machine has no such call
REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268),
    "execve": (59, 221), "execveat": (322, 281),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "syslog": (103, 116), "acct": (163, 89),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "quotactl": (179, 60),
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180), "personality": (135, 92), "modify_ldt": (154, None), "iopl": (172, None),
    "ioperm": (173, None), "uselib": (134, None), "vhangup": (153, 58), "fanotify_init": (300, 262),
    "setpriority": (141, 140), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "lookup_dcookie": (212, 18),
    "landlock_create_ruleset": (444, 444), "seccomp": (317, 277),
}  # fmt: skip
CLONE, CLONE3 = (56, 220), (435, 435)


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter's instructions (code, jump if true, jump if false, value) for `x86_64` or `aarch64`."""
    column = list(AUDIT).index(machine)
    numbers = sorted(pair[column] for pair in REFUSED.values() if pair[column] is not None)
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, AUDIT[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        lines += [(JUMP_GREATER_EQUAL, 0, 1, X32), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    for number in numbers:
        lines += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    # clone3 hides its flags behind a pointer: "no such call" makes the C library take clone instead.
    lines += [(JUMP_EQUAL, 0, 1, CLONE3[column]), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    lines += [
        (JUMP_EQUAL, 0, 3, CLONE[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_ANY_BIT, 0, 1, NAMESPACES),
        (RETURN, 0, 0, REFUSE | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    return lines


def available() -> str | None:
    """What stands in the way of a filter here, or None."""
    if platform.system() != "Linux" or platform.machine() not in AUDIT:
        here = f"{platform.system()} on {platform.machine()}"
        return f"the filter knows Linux on {' and '.join(AUDIT)}, not {here}"
    if not os.path.exists("/proc/sys/kernel/seccomp/actions_avail"):
        return "the kernel has no seccomp filters"
    return None


def install() -> None:
    """Filter this process and its children from now on. It cannot be taken back."""
    lines = program(platform.machine())
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, header, 0, 0)):
        if libc.prctl(*call) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"prctl: {os.strerror(code)}")
