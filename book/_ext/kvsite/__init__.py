"""What the book's build adds to Sphinx, so that the site needs no other host and reads well everywhere.

One module a concern: `execution` (cells), `formulas` (KaTeX at build time), `assets` and `icons` (scripts,
styles, fonts), `describe` (page descriptions, sitemap), `notfound` (the page for a missing address), `report`
(the link under each page), `solutions` (an assignment's solutions, folded), `offline_search` (excerpts from
disk), `repairs` (accessibility of the theme's markup).
"""

from . import assets, describe, execution, formulas, notfound, offline_search, repairs, report, solutions

# Repairs last: they edit finished pages.
CONCERNS = (execution, formulas, assets, describe, notfound, report, solutions, offline_search, repairs)


def setup(app):
    for concern in CONCERNS:
        concern.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
