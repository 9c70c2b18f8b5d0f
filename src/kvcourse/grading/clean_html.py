"""HTML that may stand in a feedback page: text, tables, code and pictures inside the page; no script, link
or style.
"""

import functools
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
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Where a link or picture went, its text remains.
DROPPED = re.compile(r"<(script|style|title|iframe|object|template|noscript)\b.*?</\1\s*>", re.I | re.S)
MAX_HTML = 200_000


def clean(html: str) -> str:
    """Sanitized HTML of what somebody wrote."""
    return bleach.clean(DROPPED.sub("", html[:MAX_HTML]), tags=TAGS, attributes=ATTRIBUTES, strip=True)


def markdown(text: str) -> str:
    """Sanitized HTML of a markdown text; formulas stay as they were typed."""
    return clean(markdown2html_mistune(text[:MAX_HTML]))


@functools.lru_cache(maxsize=512)
def markdown_once(text: str) -> str:
    """`markdown` for texts that stand in every notebook of a class."""
    return markdown(text)


def plain(text: str) -> str:
    """Text without terminal colours and control characters."""
    return ANSI.sub("", text)
