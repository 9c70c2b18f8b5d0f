"""The site, built once for all of these tests, served, and opened in one browser."""

import subprocess
import sys
from pathlib import Path

import pytest
from site_harness import ROOT, SITE, Visitor, browser, chromium, served


@pytest.fixture(scope="session")
def site() -> Path:
    """The built site's folder; `book/build.py` returns at once where nothing has changed."""
    done = subprocess.run([sys.executable, "book/build.py"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"the book was not built:\n{(done.stdout + done.stderr)[-4000:]}", pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def chrome():
    if not chromium():
        pytest.skip("install: chromium")
    with browser() as instance:
        yield instance


@pytest.fixture(scope="session")
def base(site):
    with served(site) as address:
        yield address


@pytest.fixture
def visit(chrome, base):
    """Return a function that opens a page for a new reader (theme, width); each is closed after the test."""
    visitors = []

    def open_page(path: str, theme: str = "light", width: int = 1280):
        visitor = Visitor(chrome, base, theme, width)
        visitors.append(visitor)
        page = visitor.open(path)
        page.visitor = visitor
        return page

    yield open_page
    for visitor in visitors:
        visitor.close()
