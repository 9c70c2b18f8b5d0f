"""The build itself: strict, complete, self-contained; and the files that crawlers and link previews read."""

import re
from html.parser import HTMLParser

import pytest
from site_harness import page_names


@pytest.mark.full
def test_a_failing_cell_fails_the_build_and_the_last_good_site_stays(tiny_book):
    folder, write, make = tiny_book
    page = folder / "build/_build/html/book/page.html"
    write("# Page\n\n```{code-cell}\n1 / 0\n```\n")
    status, output = make()
    assert status == 1 and "ZeroDivisionError" in output
    assert not page.exists()

    write("# Page\n\n```{code-cell}\n6 * 7\n```\n")
    assert make()[0] == 0
    status, output = make()
    assert status == 0 and "The site is current" in output

    write("# Page\n\n```{code-cell}\n1 / 0\n```\n")
    for _ in range(2):  # a second try must not pass either
        status, output = make()
        assert status == 1 and "The last good site stays" in output
    assert "42" in page.read_text()


FAULTS = {  # each a warning by itself; -W makes the build fail, --keep-going shows them all
    "{doc}`no-such-page`": "no-such-page",
    "{py:class}`no.such.Thing`": "no.such.Thing",  # only -n says so
    "{term}`no such term`": "no such term",
    "{cite:p}`nobody1900`": "nobody1900",
    "#### A heading that skips a level": "H1 to H4",
    "```{assignment-solutions} a99-nothing\n```": "a99-nothing",
    "```{no-such-directive}\n```": "no-such-directive",
}


@pytest.mark.full
def test_every_kind_of_fault_in_a_page_fails_the_build(tiny_book):
    _, write, make = tiny_book
    write("# Page\n\n" + "\n\n".join(FAULTS) + "\n")
    status, output = make()
    assert status == 1
    told = "\n".join(line for line in output.split("\n") if "WARNING" in line or "ERROR" in line)
    assert [fault for fault, words in FAULTS.items() if words not in told] == [], told

    write("# Page\n\n$\\nosuchcommand{x}$\n")
    status, output = make()
    assert status == 1 and "nosuchcommand" in output


@pytest.mark.full
@pytest.mark.parametrize("fault", ["{py:class}`no.such.Thing`", "{doc}`no-such-page`"])
def test_one_warning_fails_the_build(tiny_book, fault):
    _, write, make = tiny_book
    write(f"# Page\n\n{fault}\n")
    status, output = make()
    assert status == 1 and "finished with problems, 1 warning" in output


@pytest.mark.full
def test_a_second_build_makes_the_same_bytes_from_cached_outputs(tiny_book):
    folder, write, make = tiny_book
    write(
        "# Page\n\nText with $x^2$, {nb-download}`page.ipynb`.\n\n- [ ] a box\n\n"
        "```{code-cell}\nimport time\ntime.time_ns()\n```\n"
    )
    html = folder / "build/_build/html"
    contents = []
    for _ in range(2):
        status, output = make("--force")
        assert status == 0, output
        contents.append(
            {path.relative_to(html): path.read_bytes() for path in html.rglob("*") if path.is_file()}
        )
    first, second = contents
    assert any(
        b'"output_type": "execute_result"' in data for name, data in second.items() if name.suffix == ".ipynb"
    )
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
