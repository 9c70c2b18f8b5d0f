"""HTML that may stand in a feedback page: text, tables, code and pictures inside the page; no script, link
or style.

Parsers of markdown and HTML take time that grows with the square of some texts, so what a student wrote is
parsed only where it is short, and only so much of it a page; the rest is shown as it was typed.
"""

import functools
import html as escaping
import re

import bleach
from nbconvert.filters.markdown_mistune import markdown2html_mistune

TAGS = frozenset(
    (
        "p", "br", "hr", "b", "strong", "i", "em", "u", "s", "sub", "sup", "code", "pre", "kbd", "blockquote",
        "ul", "ol", "li", "dl", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "span", "div", "details",
        "summary", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption",
    )
)  # fmt: skip
ATTRIBUTES = {"th": ["colspan", "rowspan", "align"], "td": ["colspan", "rowspan", "align"], "ol": ["start"]}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Where a link or picture went, its text remains.
ANCHOR = re.compile(r'<a class="anchor-link" href="[^"]*">[^<]*</a>')  # the sign behind each heading
DROPPED = re.compile(r"<(script|style|title|iframe|object|template|noscript)\b", re.I)
MAX_TEXT = 8_000  # characters of one text; the worst known take 0.3 s
MAX_PAGE = 60_000  # characters of all texts of a page


class MarkupRoom:
    """How much a page may still have parsed."""

    def __init__(self, characters: int = MAX_PAGE) -> None:
        self.left = characters

    def take(self, text: str) -> bool:
        """Whether a text is short enough and there is room for it, which is then taken."""
        fits = len(text) <= min(MAX_TEXT, self.left)
        self.left -= len(text) if fits else 0
        return fits


def clean(html: str) -> str:
    """Sanitized HTML of what somebody wrote; a long text as it was typed."""
    return _clean(html) if len(html) <= MAX_TEXT else as_typed(html)


def markdown(text: str) -> str:
    """Sanitized HTML of a markdown text; formulas stay as they were typed, and so does a long text."""
    return _markdown(text) if len(text) <= MAX_TEXT else as_typed(text)


def as_typed(text: str) -> str:
    """A text as it was typed, cut where it is very long."""
    shown = plain(text[: 2 * MAX_TEXT]) + ("\n... cut here ..." if len(text) > 2 * MAX_TEXT else "")
    return f"<pre>{escaping.escape(shown)}</pre>"


def _clean(html: str) -> str:
    try:
        return bleach.clean(_without_dropped(html), tags=TAGS, attributes=ATTRIBUTES, strip=True)
    except RecursionError:
        return as_typed(html)


def _without_dropped(html: str) -> str:
    """HTML without the elements whose content is no text, in one pass."""
    kept, at, unclosed = [], 0, set()
    for begin in DROPPED.finditer(html):
        tag = begin[1].lower()
        if begin.start() < at or tag in unclosed:
            continue
        end = re.compile(rf"</{tag}\s*>", re.I).search(html, begin.end())
        if end is None:
            unclosed.add(tag)
            continue
        kept.append(html[at : begin.start()])
        at = end.end()
    return "".join([*kept, html[at:]])


@functools.lru_cache(maxsize=512)  # most texts of a page are the release's, the same for everybody
def _markdown(text: str) -> str:
    try:
        return _clean(ANCHOR.sub("", markdown2html_mistune(text)))
    except RecursionError:
        return as_typed(text)


def markdown_once(text: str) -> str:
    """Sanitized HTML of the instructor's own texts, of any length."""
    return _markdown(text)


def plain(text: str) -> str:
    """Text without terminal colours and control characters."""
    return ANSI.sub("", text)
