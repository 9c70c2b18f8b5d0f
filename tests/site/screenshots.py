"""Pictures of every page, light and dark, 1280 and 390 px: `python tests/site/screenshots.py [PAGE ...]`.

They land in build/screenshots/. Needs a built site (make book) and Chromium; exit 2 where one is missing.
"""

import sys

from site_harness import ROOT, SITE, THEMES, WIDTHS, Visitor, browser, chromium, page_names, served

OUT = ROOT / "build/screenshots"
TALLEST = 8_000  # px in one picture; a longer page continues in the next


def shoot(page, stem: str) -> list[str]:
    """Save the page from top to bottom; return the names of its pictures.

    The window is made as tall as the picture: Chromium's own full-page mode at times drew a page mid-layout.
    """
    width = page.viewport_size["width"]
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(height, TALLEST)})
    names = []
    for part, top in enumerate(range(0, height, TALLEST), start=1):
        if height - top < TALLEST:  # the last part: no overlap with the one before
            page.set_viewport_size({"width": width, "height": height - top})
        page.evaluate("top => { scrollTo(0, top); return new Promise(requestAnimationFrame) }", top)
        name = f"{stem}{f'-{part}' if part > 1 else ''}.png"
        page.screenshot(path=OUT / name, animations="disabled")
        names.append(name)
    return names


def main(wanted: list[str]) -> int:
    if not (SITE / "sitemap.xml").exists():
        print(f"kvcourse: no site at {SITE}; expected one, made by make book.", file=sys.stderr)
        return 2
    if not chromium():
        print("kvcourse: no Chromium on PATH; install one or name it in CHROMIUM.", file=sys.stderr)
        return 2
    pages = page_names()
    if unknown := [name for name in wanted if name not in pages]:
        print(f"kvcourse: no page {unknown[0]}; expected one of: {' '.join(pages)}", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    with served(SITE) as base, browser() as instance:
        for theme in THEMES:
            for width in WIDTHS:
                visitor = Visitor(instance, base, theme, width)
                for name in wanted or pages:
                    page = visitor.open(name)
                    stem = f"{name.removesuffix('.html').replace('/', '-')}-{theme}-{width}"
                    print(*shoot(page, stem))
                    page.close()
                visitor.close()
    print(f"Pictures are in {OUT}/")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
