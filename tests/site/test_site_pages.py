"""Every page, light and dark, wide and on a phone: no other host, no error, nothing off the screen, axe."""

import gzip
from importlib.resources import files

import pytest
from site_harness import THEMES, WIDTHS, Visitor, page_names

pytestmark = pytest.mark.browser
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
MOST_KB = 400  # of one page with everything it loads, compressed
SMALLEST_PX = 9.5
PACKED = {".woff2", ".png"}  # already compressed


def axe_faults(page) -> list[str]:
    """Return axe-core's violations, each with its rule, the place and what it measured."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}}).then(result => result.violations)",
        AXE_TAGS,
    )
    return [
        f"axe {violation['id']}: {node['target']} {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for violation in found
        for node in violation["nodes"]
    ]


CUT_OFF = """width => [...document.querySelectorAll('.bd-main *, footer *')].filter(element => {
    const box = element.getBoundingClientRect();
    if (!box.width || (box.right <= width + 1 && box.left >= -1)) return false;
    if (element.closest('.bd-sidebar-secondary, .katex-mathml')) return false;  // a drawer; unseen
    for (let outer = element.parentElement; outer; outer = outer.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(outer).overflowX)) return false;
    return true;
}).slice(0, 5).map(element => element.outerHTML.slice(0, 120))"""


def off_the_screen(page) -> list[str]:
    """Return what makes the page wider than the screen, or is cut off at its edge."""
    width = page.viewport_size["width"]
    content = page.evaluate("document.documentElement.scrollWidth")
    faults = [f"{content} px of content on a screen of {width}"] if content > width else []
    return faults + [f"cut off at the edge: {element}" for element in page.evaluate(CUT_OFF, width)]


def unreadable_on_a_phone(page) -> list[str]:
    """Return figure text that comes out smaller than SMALLEST_PX."""
    sizes = page.evaluate(
        "[...document.querySelectorAll('.kv-fig svg text')].map(t => [t.textContent,"
        " parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b)])"
    )
    small = [(text, round(size, 1)) for text, size in sizes if text.strip() and 0 < size < SMALLEST_PX]
    return [f"figure text under {SMALLEST_PX} px: {small[:5]}"] if small else []


def too_heavy(site, loaded) -> list[str]:
    """Weigh what a first visit loads, compressed as a web server would send it."""
    sizes = {
        path.name: (path.stat().st_size if path.suffix in PACKED else len(gzip.compress(path.read_bytes())))
        // 1024
        for path in (site / name for name in loaded)
        if path.is_file()
    }
    print(f"{sum(sizes.values())} KB gzip")
    if sum(sizes.values()) <= MOST_KB:
        return []
    return [
        f"{sum(sizes.values())} KB, expected at most {MOST_KB}: "
        f"{sorted(sizes.items(), key=lambda item: -item[1])[:6]}"
    ]


# The other two combinations differ from these by what each half already shows; they run in the long tests.
VARIANTS = [
    pytest.param(theme, width, marks=() if (theme == "dark") == (width == 390) else pytest.mark.full)
    for theme in THEMES
    for width in WIDTHS
]


@pytest.mark.parametrize(("theme", "width"), VARIANTS)
def test_every_page_is_clean(chrome, base, site, theme, width):
    visitor = Visitor(chrome, base, theme, width)
    faults = []
    for name in page_names(site):
        visitor.problems.clear()
        visitor.loaded.clear()
        page = visitor.open(name)
        print(name, end=": ")
        shown = page.evaluate("document.documentElement.dataset.theme")
        found = [*visitor.problems, *too_heavy(site, visitor.loaded), *off_the_screen(page)]
        found += axe_faults(page)  # last: it asks for style sheets itself
        if width == 390:
            found += unreadable_on_a_phone(page)
        if shown != theme:
            found.append(f"expected the {theme} theme, got {shown}")
        faults += [f"{name}: {fault}" for fault in found]
        page.close()
    visitor.close()
    assert not faults, "\n".join(faults)


def test_every_icon_shown_is_in_the_small_font(visit, site):
    """The build cuts the icon fonts down: each icon a page shows must have survived."""
    from fontTools.ttLib import TTFont

    folder = site / "_static/vendor/fontawesome/webfonts"
    kept = {point for path in folder.glob("*.ttf") for point in TTFont(path).getBestCmap()}
    for name in ("book/ch01.html", "search.html"):
        shown = visit(name).evaluate(
            "[...document.querySelectorAll('*')]"
            ".flatMap(e => ['::before', '::after'].map(pseudo => getComputedStyle(e, pseudo)))"
            ".filter(s => s.fontFamily.includes('Font Awesome') && s.content.startsWith('\"'))"
            ".map(s => s.content)"
        )
        points = {ord(char) for content in shown for char in content.strip('"')}
        assert len(points) >= 5
        assert points <= kept, [hex(point) for point in points - kept]
