"""The page for an address that does not exist: one file by itself, right wherever the site is served.

A server shows it in place of a page at any depth, so no relative address can stand in it. Its script finds
the site above the asked address; without a script, its links lead to where the site is published.
"""

import base64
import html
from pathlib import Path
from string import Template

PAGE = "404.html"
TEMPLATE = Path(__file__).with_suffix(".html")


def in_reading_order(env, name: str) -> list[str]:
    """Return a page and all below it in the table of contents."""
    below = env.toctree_includes.get(name, [])
    return [name, *(page for child in below for page in in_reading_order(env, child))]


def filled_in(title: str, base: str, icon: bytes, pages: list[tuple[str, str]]) -> str:
    """Return the page; `pages` are (address below the site, title)."""
    base = html.escape(base.rstrip("/"))
    links = (
        f'<li><a href="{base}/{html.escape(address)}" data-page="{html.escape(address)}">'
        f"{html.escape(name)}</a></li>"
        for address, name in pages
    )
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        base=base,
        icon=f"data:image/svg+xml;base64,{base64.b64encode(icon).decode()}",
        links="\n".join(links),
    )


def _titled(app, name: str) -> tuple[str, str]:
    number = app.env.toc_secnumbers.get(name, {}).get("", ())
    prefix = "".join(f"{part}." for part in number)
    return app.builder.get_target_uri(name), f"{prefix} {app.env.titles[name].astext()}".strip()


def _write(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    pages = [_titled(app, name) for name in in_reading_order(app.env, app.config.root_doc)]
    icon = (Path(app.srcdir) / app.config.html_favicon).read_bytes()
    page = filled_in(app.config.html_title, app.config.html_baseurl, icon, pages)
    (Path(app.outdir) / PAGE).write_text(page, encoding="utf-8")


def setup(app) -> None:
    app.connect("build-finished", _write)
