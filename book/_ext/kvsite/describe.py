"""What search engines and link previews read: a plain description of each page, and a complete sitemap."""

import logging
from pathlib import Path
from xml.sax.saxutils import escape

from docutils import nodes
from sphinxext import opengraph

SKIPPED_IN_TEXT = (nodes.math, nodes.raw, nodes.footnote_reference, nodes.image)


def description(doctree: nodes.document, length: int, known_titles=frozenset()) -> str:
    """Return the page's own description (html_meta), else title and first paragraph, cut at a word."""
    for meta in doctree.findall(nodes.meta):
        if meta.get("name") == "description":
            return meta["content"]
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section):  # not from a box, a list or a table
            continue
        text = " ".join(f"{doctree.next_node(nodes.title).astext()}. {_plain(paragraph)}".split())
        if len(text) > length:
            text = text[: length - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."
        return text
    return ""


def _plain(node: nodes.Node) -> str:
    if isinstance(node, nodes.Text):
        return node.astext()
    return "" if isinstance(node, SKIPPED_IN_TEXT) else "".join(_plain(child) for child in node.children)


def _write_sitemap(app, exception) -> None:
    """List every page of the book."""
    if exception is not None or app.builder.format != "html":
        return
    base = app.config.html_baseurl.rstrip("/")
    addresses = [f"{base}/{app.builder.get_target_uri(name)}" for name in sorted(app.env.found_docs)]
    urls = "".join(f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    (Path(app.outdir) / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n' + text, encoding="utf-8"
    )


def setup(app) -> None:
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # the cards' font has no bold
    opengraph.get_description = description  # its own takes the first 200 characters, raw LaTeX included
    app.connect("build-finished", _write_sitemap)
