"""The page for an address that does not exist, wherever the site is served: its theme, search and links."""

import re

import pytest
from site_harness import Visitor, page_names, served

pytestmark = pytest.mark.browser
PUBLISHED = "https://kvcourse.github.io/kvcourse/"
SHARED_HOST = "/courses/kv/"


@pytest.fixture
def ask(chrome, site):
    """Return a function that asks a server of the site, below a prefix, for a page; all are closed again."""
    opened = []

    def open_page(prefix: str, missing: str, ready=lambda visitor: None):
        server = served(site, prefix)
        visitor = Visitor(chrome, server.__enter__(), theme="dark", width=390)
        opened.append((server, visitor))
        ready(visitor)
        page = visitor.open(missing)
        page.visitor = visitor
        return page

    yield open_page
    for server, visitor in opened:
        visitor.close()
        server.__exit__(None, None, None)


def other_problems(page) -> list[str]:
    """What went wrong but for the answers 404: to the asked address, and to looking for the site too deep."""
    return [problem for problem in page.visitor.problems if "404" not in problem]


@pytest.mark.parametrize("prefix", ["/", "/kvcourse/", SHARED_HOST])
@pytest.mark.parametrize("missing", ["nothing.html", "book/nothing.html", "book/deep/er/", "book/404.html"])
def test_a_missing_page_leads_back_from_any_depth_below_any_prefix(ask, prefix, missing):
    page = ask(prefix, missing)
    assert page.url.endswith(prefix + missing) and page.title().startswith("Page not found")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    shown = page.get_by_role("main").inner_text()
    assert (prefix + missing in shown) is not missing.endswith("404.html")
    page.get_by_role("link", name="Glossary").click()
    assert page.url == f"{page.visitor.base}book/glossary.html"
    assert page.title().startswith("Glossary")
    assert other_problems(page) == []


def test_its_search_searches_the_site(ask):
    page = ask(SHARED_HOST, "book/nothing.html")
    page.get_by_role("searchbox").fill("prefill")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    assert page.url.startswith(f"{page.visitor.base}search.html?q=prefill")
    assert other_problems(page) == []


def test_a_server_that_answers_everything_with_a_page_is_no_site(ask):
    def answer_all(visitor):
        visitor.context.route("**/book/_static/*", lambda route: route.fulfill(body="<p>Hello"))

    page = ask(SHARED_HOST, "book/nothing.html", ready=answer_all)
    page.get_by_role("link", name="Glossary").click()
    assert page.url == f"{page.visitor.base}book/glossary.html"


def test_an_address_with_two_slashes_sends_nobody_elsewhere(ask):
    page = ask("/", "/evil.example/nothing.html")
    assert other_problems(page) == []
    assert page.get_by_role("link", name="Glossary").evaluate("link => link.host") in page.visitor.base


def test_where_no_site_is_found_links_lead_to_the_published_one(ask):
    def find_nothing(visitor):
        visitor.context.route("**/kvsite.css", lambda route: route.abort())

    page = ask(SHARED_HOST, "book/nothing.html", ready=find_nothing)
    assert page.get_by_role("link", name="Glossary").get_attribute("href") == f"{PUBLISHED}book/glossary.html"


def test_opened_from_disk_it_finds_its_pages(chrome, site):
    visitor = Visitor(chrome, "file://")
    page = visitor.open((site / "404.html").as_uri())
    page.get_by_role("link", name="Glossary").click()
    assert page.url == (site / "book/glossary.html").as_uri()
    assert visitor.problems == []
    visitor.close()


def test_it_asks_for_no_file_and_without_a_script_leads_to_the_published_site(site):
    text = (site / "404.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="(?!https://|data:)', text) == []
    links = re.findall(r'<a href="([^"]+)" data-page="([^"]+)">', text)
    assert all(address == PUBLISHED + page for address, page in links)
    book = [name for name in page_names(site) if name.startswith("book/")]
    assert sorted(page for _, page in links) == sorted(book) and links[0][1] == "book/index.html"
