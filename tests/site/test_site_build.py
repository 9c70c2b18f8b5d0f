"""The build itself: strict, complete, self-contained; and the files that crawlers and link previews read."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from site_harness import ROOT, page_names

HEADER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

"""


def build(source, *options):
    done = subprocess.run(
        [sys.executable, "book/build.py", *options], cwd=source, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tiny_book(tmp_path):
    """A book of one page with the real configuration and extension; returns (folder, write page)."""
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
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    return tmp_path, lambda text: (tmp_path / "book/index.md").write_text(HEADER + text)


@pytest.mark.full
def test_a_failing_cell_fails_the_build_and_the_last_good_site_stays(tiny_book):
    folder, write = tiny_book
    page = folder / "build/_build/html/book/index.html"
    write("# Page\n\n```{code-cell}\n1 / 0\n```\n")
    status, output = build(folder)
    assert status == 1 and "ZeroDivisionError" in output
    assert not page.exists()

    write("# Page\n\n```{code-cell}\n6 * 7\n```\n")
    assert build(folder)[0] == 0
    status, output = build(folder)
    assert status == 0 and "The site is current" in output

    write("# Page\n\n```{code-cell}\n1 / 0\n```\n")
    for _ in range(2):  # a second try must not pass either
        status, output = build(folder)
        assert status == 1 and "The last good site stays" in output
    assert "42" in page.read_text()


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("# Page\n\n{doc}`nowhere`\n", "nowhere"),  # a missing page: -W
        ("# Page\n\n{py:class}`no.such.Thing`\n", "no.such.Thing"),  # an unresolved reference: -n
        ("# Page\n\n### Skips a level\n", "heading"),
        ("# Page\n\n$\\nosuchcommand{x}$\n", "nosuchcommand"),
        ("# Page\n\n```{assignment-solutions} nowhere\n```\n", "nowhere"),
    ],
)
def test_a_warning_fails_the_build_every_time(tiny_book, text, warning):
    folder, write = tiny_book
    write(text)
    for _ in range(2):
        status, output = build(folder)
        assert status == 1 and warning in output


@pytest.mark.full
def test_a_second_build_makes_the_same_bytes_from_cached_outputs(tiny_book):
    folder, write = tiny_book
    write(
        "# Page\n\nText with $x^2$, {nb-download}`index.ipynb`.\n\n- [ ] a box\n\n"
        "```{code-cell}\nimport time\ntime.time_ns()\n```\n"
    )
    html = folder / "build/_build/html"
    contents = []
    for _ in range(2):
        status, output = build(folder, "--force")
        assert status == 0, output
        contents.append(
            {path.relative_to(html): path.read_bytes() for path in html.rglob("*") if path.is_file()}
        )
    first, second = contents
    assert second.keys() == first.keys()
    assert [str(name) for name in first if first[name] != second[name]] == []


class Page(HTMLParser):
    """Ids, what the page loads, and images without a text."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.loads, self.silent, self.description = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag in {"script", "img", "iframe", "source", "video", "audio", "embed"}:
            self.loads.append(attributes.get("src"))
        if tag == "link" and attributes.get("rel") not in {
            "canonical",
            "index",
            "search",
            "next",
            "prev",
            "author",
        }:
            self.loads.append(attributes.get("href"))
        if tag == "img" and not (attributes.get("alt") or "").strip():
            self.silent.append(attributes.get("src"))
        if tag == "meta" and attributes.get("name") == "description":
            self.description = attributes["content"]


@pytest.fixture(scope="session")
def parsed(site):
    return {name: Page((site / name).read_text(encoding="utf-8")) for name in page_names(site)}


def test_pages_load_nothing_by_absolute_address(parsed):
    faults = [
        f"{name}: {address}"
        for name, page in parsed.items()
        for address in page.loads
        if address and re.match(r"(?:https?:)?//", address)
    ]
    assert faults == []


def test_styles_and_scripts_name_no_other_host(site):
    found = []
    for path in (site / "_static").rglob("*.css"):
        found += re.findall(
            r"url\(\s*[\"']?(?:https?:)?//[^)]+|@import\s+[\"']?(?:https?:)?//[^;]+",
            path.read_text(encoding="utf-8"),
        )
    assert found == []
    assert not list((site / "_static").rglob("*.map"))
    assert not (site / "_static/scripts/fontawesome.js").exists()


def test_ids_are_unique_and_images_have_a_text(parsed):
    for name, page in parsed.items():
        assert len(page.ids) == len(set(page.ids)), (
            f"{name}: {sorted({i for i in page.ids if page.ids.count(i) > 1})}"
        )
        assert page.silent == [], f"{name}: images without alt: {page.silent}"


def test_each_page_of_the_book_describes_itself(parsed):
    descriptions = {name: page.description for name, page in parsed.items() if name.startswith("book/")}
    for name, text in descriptions.items():
        assert text and 20 <= len(text) <= 300, f"{name}: {text!r}"
        assert not re.search(r"[\\{}`]|\*\*", text), f"{name}: markup in {text!r}"
    assert len(set(descriptions.values())) == len(descriptions)


def test_the_sitemap_names_every_page(site):
    listed = {name for name in page_names(site) if name.startswith("book/")}
    assert listed == {path.relative_to(site).as_posix() for path in (site / "book").rglob("*.html")}


def test_no_hidden_test_is_published(site):
    """The site is made from the instructor's source: its locked cells stay out of every file."""
    for path in site.rglob("*"):
        if path.suffix in {".html", ".js", ".md", ".txt"} and path.is_file():
            assert "BEGIN HIDDEN TESTS" not in path.read_text(encoding="utf-8", errors="ignore"), path
