"""The zygote: imports what an assignment needs once, then forks a process for each submission. It gets no
cell.

`python -m kvcourse.grading.zygote FD`. It runs one thread and no tensor operation, so that its children may
(PyTorch's thread pool does not survive a fork). Messages on FD are JSON, descriptors travel beside them.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import traceback
from typing import Any

from kvcourse.grading import checker_process, kinds, namespaces, sandbox, student
from kvcourse.grading.large_pages import large_pages
from kvcourse.grading.shell import Keeper, make_shell

MESSAGE = 1 << 16
# module: what it keeps once it was called; here, so that not each process calls it again
READ_ONCE = {"kvcourse.registry": "models", "kvcourse.checks.sizes": "published"}


def main(descriptor: int) -> None:
    """Serve the parent on an inherited socket until it hangs up."""
    sandbox.die_with_parent()
    control = socket.socket(fileno=descriptor)
    try:
        settings = json.loads(control.recv(MESSAGE))
        zygote = Zygote(control, settings)
        zygote.prepare()
    except BaseException as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"[:2000]}).encode())
        os._exit(1)
    zygote.serve()


class Zygote:
    """The state of the fork server. `settings`: level, modules, place (an empty folder for the new root),
    cpu.
    """

    def __init__(self, control: socket.socket, settings: dict) -> None:
        self.control, self.settings = control, settings
        self.hardened = settings["level"] == "hardened"
        self.namespace: int | None = None

    def prepare(self) -> None:
        """Import, enter the outer namespaces, and prove on a trial process that isolation works here."""
        for name in self.settings["modules"]:
            # What is absent, or fails to import, fails in the cell that imports it.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        self.keeper = Keeper()
        self.shell = make_shell(self.keeper)
        kinds.register_course_types()
        for name, read in READ_ONCE.items():
            if name in sys.modules:
                getattr(sys.modules[name], read)()
        _fresh_randomness()  # loads what numpy and the shell load late: here, not in each process again
        self.shell.run_cell("pass", silent=True)
        sandbox.interpreter_paths()
        gc.collect()
        gc.freeze()
        large_pages()
        threads = os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else ["1"]
        if len(threads) != 1:
            raise RuntimeError(f"the modules of the assignment started {len(threads) - 1} threads on import")
        if self.hardened:
            self._enter_namespaces()
        sandbox.not_dumpable()
        if self.hardened:
            self._try()
        self._say({"ready": True})

    def _enter_namespaces(self) -> None:
        if not sandbox.is_root():
            namespaces.become_user_namespace_root()
            sandbox.not_dumpable()  # after that: /proc/self of such a process belongs to root
        own = namespaces.NEWPID | namespaces.NEWNS | namespaces.NEWNET | namespaces.NEWIPC | namespaces.NEWUTS
        namespaces.unshare(own)
        child = os.fork()
        if child:  # this half only waits: the other one is the first process of the new namespace
            self.control.close()
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 1)
        sandbox.die_with_parent()
        namespaces.enter_root(self.settings["place"], sandbox.interpreter_paths())
        self.namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def _try(self) -> None:
        """Fork a student and a checker that only isolate themselves; raise what went wrong there."""
        for kind in ("student", "checker"):
            mine, theirs = socket.socketpair()
            pid = self._fork(kind, {"slot": 0, "trial": True}, [theirs.fileno()])
            theirs.close()
            with mine:
                said = mine.recv(2000)
            os.waitpid(pid, 0)
            if said != b"ok":
                raise RuntimeError(said.decode(errors="replace") or f"a {kind} process could not be isolated")

    def serve(self) -> None:
        """Answer the parent's commands."""
        while True:
            text, descriptors, _, _ = socket.recv_fds(self.control, MESSAGE, 4)
            if not text:
                os._exit(0)
            message = json.loads(text)
            if message["do"] in ("student", "checker"):
                self._say({"pid": self._fork(message["do"], message, descriptors)})
            elif message["do"] == "end":
                self._say(_end(message["pid"]))
            elif message["do"] == "usage":
                used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
                self._say({"cpu": sum(u.ru_utime + u.ru_stime for u in used)})
            for handle in descriptors:
                os.close(handle)

    def _say(self, message: dict) -> None:
        self.control.send(json.dumps(message).encode())

    def _fork(self, kind: str, message: dict, descriptors: list[int]) -> int:
        apart = kind == "student" and self.namespace is not None
        if apart:
            namespaces.unshare(namespaces.NEWPID)
        pid = os.fork()
        if pid == 0:
            self._become(kind, message, descriptors)
        if apart:
            namespaces.set_pid_namespace(self.namespace)
        return pid

    def _become(self, kind: str, message: dict, descriptors: list[int]) -> None:
        """Be a student or a checker process, to the end."""
        try:
            slot, cpu = message["slot"], self.settings["cpu"]
            if kind == "student":
                files = descriptors[1] if len(descriptors) > 1 else None
                folder, core = message.get("folder", ""), message.get("core")
                sandbox.enter_student(descriptors[0], folder, files, slot, core, self.hardened, cpu)
            else:
                core = sandbox.stay_on()
                sandbox.enter_checker(descriptors[0], slot, self.hardened, 2 * cpu)  # for both runs, shown.py
            sock = sandbox.take_socket()
            if message.get("trial"):
                sock.send(b"ok")
            elif kind == "student":
                student.serve(sock, self.shell, self.keeper, _fresh_randomness)
            else:
                checker_process.serve(sock, core, _fresh_randomness)
        except BaseException as error:
            if message.get("trial"):
                said = f"{kind} process: {type(error).__name__}: {error}"[:1500].encode()
                for handle in (descriptors[0], sandbox.SOCKET):
                    with contextlib.suppress(OSError):
                        os.write(handle, said)
            elif os.environ.get("KVCOURSE_GRADING_DEBUG"):
                traceback.print_exc()
        finally:
            os._exit(1)


def _fresh_randomness() -> None:
    """Random states of this process's own: the zygote's are copied into each of its children."""
    import random

    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(int.from_bytes(os.urandom(4), "big"))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
        sys.modules["torch"].default_generator.seed()


def _end(pid: int) -> dict[str, Any]:
    """Kill a child and all in its session, and say what it used."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    try:
        _, status, usage = os.wait4(pid, 0)
    except ChildProcessError:
        return {"cpu": 0.0, "memory": 0, "signal": 0}
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return {"cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024, "signal": ended}


if __name__ == "__main__":
    main(int(sys.argv[1]))
