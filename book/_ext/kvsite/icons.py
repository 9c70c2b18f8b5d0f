"""Keep only the icons that the site shows: the theme's icon fonts weigh 300 KB for about forty of them."""

import re
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")
FOLDER = "vendor/fontawesome/webfonts"
THEME_STATIC = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"


def used_code_points(site: Path) -> set[int]:
    """Return the icons that a page, a script or a style rule of the built site can show."""
    static = site / "_static"
    pages = "".join(
        path.read_text(encoding="utf-8") for path in (*site.rglob("*.html"), *static.rglob("*.js"))
    )
    names = set(re.findall(r"\bfa-([a-z0-9-]+)", pages))
    found = set()
    for sheet in static.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found |= {
            ord(char) for char in re.findall("[\ue000-\uf8ff]", text)
        }  # --pst-icon-*: the character itself
        for selector, point in re.findall(r'([^{}]*)\{[^{}]*?content:\s*"\\([ef][0-9a-f]{3})"', text):
            icons = set(re.findall(r"\.fa-([a-z0-9-]+):", selector))
            if not icons or icons & names:  # a rule of the theme's own, or the class of an icon in use
                found.add(int(point, 16))
    return found


def shrink(site: Path) -> None:
    """Replace the icon fonts below `site` by TrueType ones of the used icons (woff2 needs a package more)."""
    keep = used_code_points(site)
    sheet = site / "_static/styles/pydata-sphinx-theme.css"
    rules = sheet.read_text(encoding="utf-8")
    for name in FONTS:
        font = TTFont(
            THEME_STATIC / FOLDER / f"{name}.ttf", recalcTimestamp=False
        )  # same bytes at every build
        subsetter = subset.Subsetter(
            subset.Options(layout_features=[], notdef_outline=True, glyph_names=False)
        )
        subsetter.populate(unicodes=keep)
        subsetter.subset(font)
        font.save(site / "_static" / FOLDER / f"{name}.ttf")
        (site / "_static" / FOLDER / f"{name}.woff2").unlink(missing_ok=True)
        rules = rules.replace(f'url(../{FOLDER}/{name}.woff2) format("woff2"),', "")
    if "woff2" in rules:
        raise ExtensionError(
            f"{sheet}: expected the theme's icon fonts as url(../{FOLDER}/NAME.woff2), got other rules"
        )
    sheet.write_text(rules, encoding="utf-8")
