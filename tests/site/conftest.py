"""The site, built once for all of these tests, served, and opened in one browser."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from site_harness import ROOT, SITE, Visitor, browser, chromium, served

sys.path[:0] = [str(ROOT / "book/_ext"), str(ROOT / "book")]  # for test_kvsite

HEADER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

"""


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


@pytest.fixture
def tiny_book(tmp_path):
    """A book of two pages with the real configuration and extension.

    Returns its folder, a function that writes the second page, and one that builds: (exit status, output).
    """
    for name in (
        "_config.yml",
        "constraints.txt",
        "book/_ext",
        "book/_static",
        "book/build.py",
        "book/references.bib",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    toc = "format: jb-book\nroot: book/index\nchapters:\n  - file: book/page\n"
    (tmp_path / "_toc.yml").write_text(toc)
    (tmp_path / "book/index.md").write_text("# A book\n\nOf one page.\n")

    def write(text):
        (tmp_path / "book/page.md").write_text(HEADER + text)

    def build(*options):
        command = [sys.executable, "book/build.py", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return tmp_path, write, build
