"""The search of a site opened from disk, where browsers refuse to fetch: it quotes as the served one does."""

import gzip
from pathlib import Path

import pytest
from kvsite import offline_search
from site_harness import Visitor

MOST_KB = 300  # of all texts, compressed
RESULTS = """(results) => results.map((result) => [
    result.querySelector("a").getAttribute("href"),
    result.querySelector("p.context")?.textContent ?? "",
    result.querySelectorAll(".highlighted").length,
])"""


def test_text_keeps_places_and_drops_what_is_not_said():
    page = """<main role="main"><h1>Out</h1><article class="bd-article"><section id="a&quot;b">
        <h1>Rows<a class="headerlink" href="#a">#</a></h1> <p>a &lt; b</p><!-- no --><script>no()</script>
        <span class="katex"><math><mi>K</mi><annotation>\\\\K</annotation></math><span class="katex-html">K
        </span></span><dl><dt id="term-x">x</dt><dd>y</dd></dl></section></article></main>"""
    text = '<section id="a&quot;b"> Rows a &lt; b K <dt id="term-x">x</dt> y </section>'
    assert offline_search.page_text(page) == text


def test_texts_of_all_pages_are_light_and_only_the_search_page_knows_of_them(site):
    texts = site / "_static" / offline_search.TEXTS
    assert len(gzip.compress(texts.read_bytes())) < MOST_KB * 1024
    readers = {path.name for path in site.rglob("*.html") if offline_search.HOST in path.read_text("utf-8")}
    assert readers == {"search.html"}


def found(page) -> list[list]:
    """Each result: where it leads, what it quotes, how often the asked words are marked in that."""
    page.get_by_text("Search finished").wait_for()
    page.wait_for_function(
        "document.querySelectorAll('#search-results li').length ==="
        " document.querySelectorAll('#search-results p.context').length"
    )
    return page.locator("#search-results li").evaluate_all(RESULTS)


@pytest.mark.browser
@pytest.mark.parametrize("words", ["prefill", "block table", "watermark"])
def test_from_disk_results_are_quoted_and_marked_as_served_ones_are(chrome, site, base, words):
    served = Visitor(chrome, base)
    online = found(served.open(f"search.html?q={words}"))
    assert Path(offline_search.TEXTS) not in {Path(path.name) for path in served.loaded}
    served.close()
    disk = Visitor(chrome, "file://")
    offline = found(disk.open(f"{(site / 'search.html').as_uri()}?q={words}"))
    assert disk.problems == []
    disk.close()
    assert [result[0] for result in offline] == [result[0] for result in online] != []
    for (_, quote, marks), (_, _, online_marks) in zip(offline, online, strict=True):
        assert 0 < len(quote) <= 246 and (marks > 0) is (online_marks > 0)
        assert words.split()[-1][:4] in quote.lower()
