"""What cells print and show: collected where they run, capped, and checked at each border.

An output is nbformat's: a stream, an error, display_data or execute_result. Only listed media types pass.
"""

from collections.abc import Callable
from typing import Any

MEDIA = (
    "text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg", "image/svg+xml",
    "application/json",
)  # fmt: skip
MAX_TEXT = 100_000  # characters of streams and errors in one cell
MAX_RICH = 1_500_000  # characters of all other media in one cell
MAX_LINE = 20_000
MAX_OUTPUTS = 1000
CUT = "\n... output cut here: too much of it ...\n"


class Room:
    """How much one cell may still put out."""

    def __init__(self) -> None:
        self.text, self.rich, self.count, self.cut = MAX_TEXT, MAX_RICH, MAX_OUTPUTS, False

    def fit_text(self, text: str) -> str:
        """As much of a text as there is room for."""
        if len(text) <= self.text:
            self.text -= len(text)
            return text
        room, self.text = self.text, 0
        if self.cut:
            return ""
        self.cut = True
        return text[:room] + CUT


def stream(name: str, text: str) -> dict:
    """A stream output."""
    return {"output_type": "stream", "name": name, "text": text}


def error(name: str, value: str, traceback: list[str]) -> dict:
    """An error output."""
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": traceback}


def checked(output: Any, room: Room) -> dict | None:
    """An output that came from elsewhere, rebuilt from its known parts, or None if nothing of it may pass."""
    if type(output) is not dict or room.count <= 0:
        return None
    room.count -= 1
    kind = output.get("output_type")
    if kind == "stream":
        text = room.fit_text(_text(output.get("text")))
        return stream("stderr" if output.get("name") == "stderr" else "stdout", text) if text else None
    if kind == "error":
        lines = output.get("traceback")
        lines = [room.fit_text(_text(line)) for line in lines[:200]] if type(lines) is list else []
        return error(
            _text(output.get("ename"))[:200],
            room.fit_text(_text(output.get("evalue"))[:4000]),
            [line for line in lines if line],
        )
    if kind in ("display_data", "execute_result"):
        data = _media(output.get("data"), room)
        # An execute_result is where nbgrader reads partial credit: only the checker's own last value is one.
        return {"output_type": "display_data", "data": data, "metadata": {}} if data else None
    return None


def _media(data: Any, room: Room) -> dict[str, str]:
    kept = {}
    for kind in MEDIA:
        value = data.get(kind) if type(data) is dict else None
        if type(value) is str and len(value) <= room.rich:
            room.rich -= len(value)
            kept[kind] = _clean(value)
    return kept


def _text(value: Any) -> str:
    if type(value) is not str:
        return ""
    value = _clean(value)
    if max(map(len, value.split("\n"))) > MAX_LINE:
        value = "\n".join(line[:MAX_LINE] for line in value.split("\n"))
    return value


def _clean(text: str) -> str:
    """Text that any file can hold: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Sink:
    """One cell's outputs in order. `place()` says whether what comes now belongs to a hidden part of the
    cell.
    """

    def __init__(self) -> None:
        self.place: Callable[[], bool] = lambda: False
        self.clear()

    def clear(self) -> None:
        """Begin a cell."""
        self.outputs: list[dict] = []
        self.hidden: list[bool] = []
        self._room = Room()
        self._mark = 0

    def mark(self) -> None:
        """Begin a part: what comes now is not joined to what came before."""
        self._mark = len(self.outputs)

    def shown_since_mark(self) -> bool:
        """Whether something came that no hidden part made."""
        return not all(self.hidden[self._mark :])

    def take_from_student(self, outputs: Any) -> None:
        """Add what the student's code put out; anything else than a list of outputs is dropped."""
        for output in outputs if type(outputs) is list else []:
            self.add(output)

    def add(self, output: Any) -> None:
        """Add one output, joined to the last one where both are the same stream of the same part."""
        output = checked(output, self._room)
        if output is None:
            return
        hidden = self.place()
        last = self.outputs[-1] if self.outputs else None
        if (
            last
            and output["output_type"] == last["output_type"] == "stream"
            and output["name"] == last["name"]
            and self.hidden[-1] == hidden
            and len(self.outputs) > self._mark
        ):
            last["text"] += output["text"]
        else:
            self.outputs.append(output)
            self.hidden.append(hidden)
