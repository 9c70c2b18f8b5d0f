"""Excerpts in the search of a site opened from disk.

Sphinx's search fetches each page it found to quote from it, and browsers refuse to fetch from disk. So the
pages' text stands in a script as well, which `offline-search.js` loads there, and only there.
"""

import json
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag

HOST = "offline-search.js"
TEXTS = "searchtexts.js"
# What the search takes out itself, then formulas for the eye and their TeX: MathML says them.
UNSAID = ".headerlink, script, style, .katex-html, annotation"
PLACES = {"section", "dt"}  # what the search links to within a page, so quotes from
CELLS = {"td", "th", "dt", "dd", "li", "text"}  # words apart for the eye, with no space between


def page_text(page: str) -> str:
    """Return the text of a page's article as HTML with no element but its places, each with its id."""
    article = BeautifulSoup(page, "html.parser").select_one(".bd-article")
    for element in article.select(UNSAID):
        element.decompose()
    return " ".join(_said(article).split())


def _said(element: Tag) -> str:
    parts = []
    for child in element.children:
        if isinstance(child, Tag):
            inner = _said(child)
            if child.name in PLACES and child.get("id"):
                inner = f'<{child.name} id="{escape(child["id"])}">{inner}</{child.name}>'
            parts.append(f" {inner} " if child.name in CELLS else inner)
        elif type(child) is NavigableString:  # not a comment
            parts.append(escape(child, quote=False))
    return "".join(parts)


def _write(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    pages = sorted(app.builder.get_target_uri(name) for name in app.env.found_docs)
    texts = {page: page_text((folder / page).read_text(encoding="utf-8")) for page in pages}
    script = f"kvPageTexts({json.dumps(texts, ensure_ascii=False)});\n"
    (folder / "_static" / TEXTS).write_text(script, encoding="utf-8")


def _add_host(app, pagename, templatename, context, doctree) -> None:
    if pagename == "search":
        app.add_js_file(HOST)


def setup(app) -> None:
    app.connect("html-page-context", _add_host)
    app.connect("build-finished", _write)
