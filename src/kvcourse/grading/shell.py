"""The student's IPython shell: runs cells as a notebook does and keeps what they put out."""

import base64
import io
import json
import linecache
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from kvcourse.grading.outputs import Room, checked, error, stream
from kvcourse.grading.wire import MAX_HEADER

Shell = Any
# An error's own fields, whatever its class, which the student may have written, puts in their place.
TRACE, LED_TO = BaseException.__traceback__, (BaseException.__cause__, BaseException.__context__)
GROUP = BaseExceptionGroup.exceptions
OWN = os.path.dirname(__file__) + os.sep  # files of the grader: no learner reads their frames


class Keeper:
    """The outputs of the running cell or test call, capped; `take` hands them over."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a cell."""
        self.outputs: list[dict] = []
        self._room = Room()

    def add(self, output: dict) -> None:
        """Keep one output."""
        output = checked(output, self._room) or {}
        last = self.outputs[-1] if self.outputs else {}
        if output and output.get("name", 0) == last.get("name", 1):
            last["text"] += output["text"]
        elif output:
            self.outputs.append(output)

    def take(self) -> list[dict]:
        """The outputs since the last time, as many as fit into one message; the rest is dropped."""
        taken, room = [], MAX_HEADER // 2
        for output in self.outputs:
            room -= len(json.dumps(output))
            if room > 0:
                taken.append(output)
        self.outputs = []
        return taken


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the student process."""

    def __init__(self, name: str, keeper: Callable[[], Any]) -> None:
        self.name, self._keeper = name, keeper

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._keeper().add(stream(self.name, text))
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        pass


def make_shell(keeper: Keeper) -> Shell:
    """An IPython shell without history, threads or a terminal, whose outputs go to `keeper`."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Show(DisplayHook):
        def start_displayhook(self) -> None:
            self.data: dict = {}

        def write_output_prompt(self) -> None:
            pass

        def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
            self.data = format_dict

        def finish_displayhook(self) -> None:
            if self.data:
                keeper.add({"output_type": "execute_result", "data": _texts(self.data)})

    class Publish(DisplayPublisher):
        def publish(self, data: dict, metadata: Any = None, **more: Any) -> None:
            keeper.add({"output_type": "display_data", "data": _texts(data)})

        def clear_output(self, wait: bool = False) -> None:
            pass

    class StudentShell(InteractiveShell):
        displayhook_class = Show
        display_pub_class = Publish

        def _get_exc_info(self, exc_tuple: tuple | None = None) -> tuple:
            found = super()._get_exc_info(exc_tuple)
            return found[0], found[1], drop_own_frames(found[1], found[2])

        def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
            try:
                text = str(evalue)
            except BaseException:
                text = ""
            keeper.add(error(etype.__name__, text, [str(line) for line in stb]))

        def enable_gui(self, gui: Any = None) -> None:
            pass

    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as in a notebook
    config = Config()
    config.HistoryManager.enabled = False  # its thread would not survive the fork
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Context"
    # A notebook's display formats, where a bare shell would give text alone.
    shell = StudentShell.instance(config=config)
    shell.display_formatter.active_types = shell.display_formatter.format_types
    return shell


def drop_own_frames(error: BaseException, trace: TracebackType | None) -> TracebackType | None:
    """Take the grader's frames out of an error's traceback, and of those of the errors that led to it.

    Return what is left of `trace`, the traceback of the error itself.
    """
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if issubclass(type(one), BaseException) and id(one) not in seen:
            seen.add(id(one))
            TRACE.__set__(one, _without_own(TRACE.__get__(one)))
            waiting += [field.__get__(one) for field in LED_TO]
            waiting += GROUP.__get__(one) if issubclass(type(one), BaseExceptionGroup) else ()
    return _without_own(trace)


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OWN):
            kept.append(trace)
        trace = trace.tb_next
    for at, one in enumerate(kept):
        following = kept[at + 1] if at + 1 < len(kept) else None
        if one.tb_next is not following:
            one.tb_next = following
    return kept[0] if kept else None


def redirect(keeper: Keeper) -> None:
    """Let print and warnings of this process go to `keeper`, and tracebacks quote nothing of the grader.

    What is told of an error in a call leaves out the line that names a frame of ours: with no source at hand,
    no other line of that frame is there.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{__package__}."):
            linecache.cache[module.__file__] = (0, None, [], module.__file__)
    sys.stdout, sys.stderr = Stream("stdout", lambda: keeper), Stream("stderr", lambda: keeper)
    sys.stdin = io.StringIO()


def _texts(data: dict) -> dict[str, str]:
    """Media as texts: bytes (PNG) in base64, as notebooks hold them."""
    texts = {}
    for kind, value in data.items():
        if isinstance(value, bytes):
            texts[kind] = base64.b64encode(value).decode()
        elif isinstance(value, str):
            texts[kind] = value
        elif kind == "application/json":
            texts[kind] = json.dumps(value)
    return texts
