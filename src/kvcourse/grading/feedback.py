"""Feedback: one page a notebook, whole in itself, that shows a learner their work, scores, messages and
hints.

It shows no hidden test: not its source, not its output, no traceback into it, and no output that the
handed-in code made after a hidden test had called it (shown.py). A hidden check that failed says its hint
where it has one. What a student wrote or printed is sanitized; the page asks for nothing from
anywhere.
"""

import base64
import functools
import html
import string
from typing import Any

from nbformat.notebooknode import from_dict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from kvcourse.grading.autograded import MARK
from kvcourse.grading.clean_html import MarkupRoom, as_typed, clean, markdown, markdown_once, plain
from kvcourse.grading.plan import hidden_lines, visible

MAX_TEXT = 20_000
MAX_CODE = 120_000  # characters of code in colors, a page
MAX_PAGE_SIZE = 4_000_000  # characters of a page that come from the student
LEXER, FORMATTER = PythonLexer(), HtmlFormatter(nowrap=True)  # both take longer to make than to use
FULL = "<p class='wait'>The page is full: what comes here is left out.</p>"
BASE64 = frozenset(string.ascii_letters + string.digits + "+/=")
HIDDEN_FAILED = "A check that is not shown did not pass."
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f2f4f7; --line: #c9d1d9;
  --good: #116329; --bad: #a40e26; --wait: #7d4e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #161b22;
  --line: #3d444d; --good: #56d364; --bad: #ff8f87; --wait: #e3b341; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 52rem;
  margin: 0 auto; padding: 1rem; }
pre { background: var(--soft); border: 1px solid var(--line); padding: .6rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; }
pre.out { border-left: 4px solid var(--line); } pre.err { border-left: 4px solid var(--bad); }
section { border-top: 1px solid var(--line); padding: .5rem 0; } img { max-width: 100%; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .2rem .5rem; }
.score { float: right; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
.wait { color: var(--wait); }
.hint { border-left: 4px solid var(--wait); padding-left: .6rem; white-space: pre-wrap; }
.comment { border: 1px solid var(--line); padding: .4rem .6rem; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(
    notebook: Any,
    title: str,
    grades: dict[str, tuple[float, float, bool]],
    comments: dict[str, str] | None = None,
    penalty: float = 0.0,
) -> str:
    """The page of an autograded notebook. `grades`: graded cell -> points, maximum, whether a person is
    awaited.
    """
    points = max(0.0, sum(entry[0] for entry in grades.values()) - penalty)
    worth = sum(entry[1] for entry in grades.values())
    waits = any(entry[2] for entry in grades.values())
    body = [f"<h1>{html.escape(title)}</h1>", f"<p><strong>{points:g} of {worth:g} points</strong>"]
    if penalty:
        body.append(f" (late: {penalty:g} points less)")
    body.append(" <span class='wait'>Parts wait for a person to grade them.</span></p>" if waits else "</p>")
    rooms = Rooms()
    marked = notebook.get("metadata", {}).get("kvcourse", {}).get(MARK, False)
    for cell in notebook.cells if marked else without_outputs_from_hidden(notebook.cells):
        body.append(_section(cell, grades, comments or {}, rooms))
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def without_outputs_from_hidden(cells: list[Any]) -> list[Any]:
    """The cells of a notebook that another grader made: no outputs from the first hidden test on."""
    kept, told = [], False
    for cell in cells:
        told |= cell.cell_type == "code" and bool(hidden_lines(cell.source))
        kept.append(from_dict({**cell, "outputs": []}) if told and cell.cell_type == "code" else cell)
    return kept


class Rooms:
    """What a student may still put on a page. Texts and code beyond their room are shown as typed; where the
    page is full, nothing more of theirs is.
    """

    def __init__(self) -> None:
        self.texts, self.codes = MarkupRoom(), MarkupRoom(MAX_CODE)
        self.left, self.full = MAX_PAGE_SIZE, False

    def fit(self, part: str) -> str:
        """A part of the page, or, the first time that one does not fit, a sentence instead."""
        if len(part) <= self.left:
            self.left -= len(part)
            return part
        told, self.full = self.full, True
        return "" if told else FULL

    def markdown(self, text: str) -> str:
        """A student's markdown."""
        return markdown(text) if self.texts.take(text) else as_typed(text)

    def code(self, source: str) -> str:
        """A student's code."""
        return _code(source) if self.codes.take(source) else html.escape(source)


def _section(cell: Any, grades: dict, comments: dict[str, str], rooms: Rooms) -> str:
    meta = cell.metadata.get("nbgrader", {})
    name = meta.get("grade_id", "")
    mine = not meta or meta.get("solution", False)
    parts = [_score(grades[name])] if name in grades else []
    if cell.cell_type == "markdown":
        shown = cell.source if mine else visible(cell.source)
        parts.append(rooms.fit(rooms.markdown(shown)) if mine else markdown_once(shown))
    elif cell.cell_type == "raw":
        parts.append(rooms.fit(f"<pre>{html.escape(cell.source[:MAX_TEXT])}</pre>"))
    else:
        shown = cell.source if mine else visible(cell.source)
        if shown.strip():
            shown = shown[:MAX_TEXT]
            parts.append(
                rooms.fit(f"<pre>{rooms.code(shown)}</pre>") if mine else f"<pre>{_code(shown)}</pre>"
            )
        parts += _outputs(cell, grades.get(name), rooms)
    comment = comments.get(name)
    if comment:
        parts.append(f"<div class='comment'><strong>Comment.</strong> {markdown(comment)}</div>")
    return f"<section id='{html.escape(name, quote=True)}'>{''.join(parts)}</section>" if parts else ""


def _score(entry: tuple[float, float, bool]) -> str:
    points, worth, waits = entry
    if waits:
        return f"<span class='score wait'>waits for a person, {worth:g} points</span>"
    kind = "good" if points >= worth else "bad"
    return f"<span class='score {kind}'>{points:g} of {worth:g}</span>"


def _outputs(cell: Any, entry: tuple | None, rooms: Rooms) -> list[str]:
    course = cell.metadata.get("kvcourse", {})
    hidden = set(course.get("hidden_outputs", ()))
    shown = [output for at, output in enumerate(cell.outputs) if at not in hidden]
    parts = [rooms.fit(_output(output, rooms)) for output in course.get("shown", shown)]
    failed = any(cell.outputs[at].output_type == "error" for at in hidden if at < len(cell.outputs))
    if failed or (hidden and entry and entry[0] < entry[1]):
        hint = course.get("hint")
        parts.append(f"<p class='hint'>{html.escape(plain(hint)) if hint else HIDDEN_FAILED}</p>")
    return parts


def _output(output: Any, rooms: Rooms) -> str:
    kind = output.output_type
    if kind == "stream":
        return _pre("out" if output.name == "stdout" else "err", output.text)
    if kind == "error":
        lines = output.traceback or [f"{output.ename}: {output.evalue}"]
        return _pre("err", "\n".join(lines))
    data = output.data
    for media in ("image/png", "image/jpeg"):
        if media in data:
            return _figure(media, "".join(c for c in data[media] if c in BASE64))
    if "image/svg+xml" in data:  # as a picture: no script in it runs
        return _figure("image/svg+xml", base64.b64encode(data["image/svg+xml"].encode()).decode())
    for media, parse in (("text/html", clean), ("text/markdown", markdown)):
        if media in data and rooms.texts.take(data[media]):
            return f"<div>{parse(data[media])}</div>"
    kinds = ("text/plain", "text/latex", "text/markdown", "text/html")
    return _pre("out", str(next((data[kind] for kind in kinds if kind in data), "")))


def _pre(kind: str, text: str) -> str:
    text = plain(text)
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + "\n... cut here ..."
    return f"<pre class='{kind}'>{html.escape(text)}</pre>"


def _figure(media: str, encoded: str) -> str:
    return f"<p><img alt='A figure that the cell drew' src='data:{media};base64,{encoded}'></p>"


@functools.lru_cache(maxsize=2048)
def _code(source: str) -> str:
    return highlight(source, LEXER, FORMATTER)
