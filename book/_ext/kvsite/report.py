"""The "not landing?" link: an issue with the page's name and the questions that help us already in it."""

import html
from urllib.parse import urlencode

from docutils import nodes
from sphinx.util.docutils import SphinxRole

QUESTIONS = """\
Page: {title} ({address})

The sentence, figure or exercise where it lost me:

What I understood it to say, or expected instead:

What I had read or tried before (optional):
"""


def issue_url(repository: str, title: str, address: str) -> str:
    """Return the address of a new issue about a page, with title and body filled in."""
    body = QUESTIONS.format(title=title, address=address)
    return f"{repository}/issues/new?{urlencode({'title': f'Not landing: {title}', 'body': body})}"


def _page_url(app, pagename: str) -> str:
    title = app.env.titles[pagename].astext()
    address = f"{app.config.html_baseurl.rstrip('/')}/{app.builder.get_target_uri(pagename)}"
    return issue_url(app.config.html_theme_options["repository_url"], title, address)


class pending_report(nodes.Inline, nodes.TextElement):
    """Stands for the link until the page's title is known."""


class ReportRole(SphinxRole):
    """{report}`tell us where it lost you`: the link within a sentence."""

    def run(self):
        return [pending_report(self.rawtext, self.text)], []


def _fill_in(app, doctree, docname) -> None:
    for node in list(doctree.findall(pending_report)):
        node.replace_self(nodes.reference("", node.astext(), refuri=_page_url(app, docname), internal=False))


def _below_the_page(app, pagename, templatename, context, doctree) -> None:
    if doctree is None or "body" not in context:
        return
    url = html.escape(_page_url(app, pagename))
    context["body"] += (
        '<p class="kv-report">Something on this page not landing? That is a defect of the page: '
        f'<a href="{url}">tell us where it lost you</a>.</p>'
    )


def setup(app) -> None:
    app.add_node(pending_report)
    app.add_role("report", ReportRole())
    app.connect("doctree-resolved", _fill_in)
    app.connect("html-page-context", _below_the_page)
