"""Repairs of the theme's and docutils' markup that axe-core asks for; each names the rule.

They are text replacements in finished pages, tied to the pinned versions: tests/site runs axe on every page.
"""

import re
from pathlib import Path

REPLACEMENTS = (
    # label-content-name-mismatch: a search button that reads "Search Ctrl+K", a fold "Show code cell source".
    ('title="Search" aria-label="Search" data-bs-placement', 'title="Search" data-bs-placement'),
    ('<summary aria-label="Toggle hidden content">', "<summary>"),
    # region: the book's title above the sidebar's navigation.
    (
        '<div class="sidebar-primary-items__start sidebar-primary__section">',
        '<div class="sidebar-primary-items__start sidebar-primary__section" role="region" aria-label="Book">',
    ),
    # aria-required-children, aria-deprecated-role, aria-allowed-role: the bibliography.
    ('<div role="list" class="citation-list">', '<div class="citation-list">'),
    (' role="doc-biblioentry"', ""),
    # empty-heading: the print title of pages without one.
    ('class="onlyprint">\n    <h1></h1>', 'class="onlyprint">'),
)
ICON_SCRIPT = re.compile(r"<script[^>]*scripts/fontawesome\.js[^>]*></script>\n?")
# empty-table-header: a corner that heads nothing.
EMPTY_HEAD = re.compile(r'<th class="([^"]*)"><p></p></th>')


def repaired(page: str) -> str:
    """Return the page's HTML with every repair made; made twice, it changes nothing more."""
    for wrong, right in REPLACEMENTS:
        page = page.replace(wrong, right)
    page = EMPTY_HEAD.sub(r'<td class="\1"></td>', page)
    return ICON_SCRIPT.sub("", page)


def _repair_pages(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (better := repaired(text)) != text:
            path.write_text(better, encoding="utf-8")


def setup(app) -> None:
    app.connect("build-finished", _repair_pages)
