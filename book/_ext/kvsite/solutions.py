"""{assignment-solutions} NAME: an assignment's solutions, each problem's in folds that open only by choice.

Read from solutions/NAME/NAME.md, nbgrader's source in MyST, while the page is built. Shown are a problem's
title, its solution cells, and why the usual wrong answer fails. Test cells are not read at all.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from kvcourse.course.regions import MARKER
from kvcourse.course.source import read_source, source_text
from kvcourse.errors import UserError

HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
PROBLEM = re.compile(r"q\d+")  # how the grade ids of a problem's cells begin
WHY = "why"  # tag of an instructor's text cell that no release holds: why the usual wrong answer fails


@dataclass
class Problem:
    """A problem's id (q1), title, answer as (cell type, source) in order, and text on the usual wrong one."""

    name: str
    title: str
    answer: list[tuple[str, str]] = field(default_factory=list)
    why: list[str] = field(default_factory=list)


def read_problems(notebook) -> list[Problem]:
    """Return the problems of an assignment's source notebook, in order, as far as they have a solution."""
    problems: list[Problem] = []
    title = ""
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and (heading := HEADING.search(cell.source)):
            title = heading[1]
        if (name := PROBLEM.match(meta.get("grade_id", ""))) and (
            not problems or problems[-1].name != name[0]
        ):
            problems.append(Problem(name[0], title))
        if meta.get("solution"):
            lines = [line for line in cell.source.split("\n") if not MARKER.search(line)]
            problems[-1].answer.append((cell.cell_type, "\n".join(lines).strip("\n")))
        elif WHY in cell.metadata.get("tags", []) and problems:
            problems[-1].why.append(cell.source)
    return [problem for problem in problems if problem.answer]


class details(nodes.General, nodes.Element):
    """HTML's own fold, closed: works without a script, by keyboard, and for a screen reader."""


class summary(nodes.General, nodes.TextElement):
    """The line of a fold that is always seen."""


def _open_tag(tag: str, attributes: str = ""):
    return lambda translator, node: translator.body.append(f"<{tag}{attributes}>")


def _close_tag(tag: str):
    return lambda translator, node: translator.body.append(f"</{tag}>\n")


class AssignmentSolutions(SphinxDirective):
    """One section a problem: a fold with the solution, a second one with why the usual wrong answer fails."""

    required_arguments = 1

    def run(self):
        root, name = Path(self.env.srcdir), self.arguments[0]
        try:
            path = source_text(root, name)
            notebook = read_source(path)
        except UserError as error:
            raise self.error(f"assignment-solutions: {error}") from None
        self.env.note_dependency(str(path))
        return [self._section(problem, str(path)) for problem in read_problems(notebook)]

    def _section(self, problem: Problem, path: str) -> nodes.section:
        name = f"solution-{problem.name}"
        section = nodes.section("", nodes.title("", problem.title), ids=[name], names=[name])
        answer = [
            self._code(source) if kind == "code" else self._text(source, path)
            for kind, source in problem.answer
        ]
        section += self._fold("Show the solution", answer)
        if problem.why:
            why = [self._text(text, path) for text in problem.why]
            section += self._fold("Why the usual wrong answer fails", why)
        return section

    def _fold(self, label: str, content: list[nodes.Node]) -> details:
        return details("", summary("", "", nodes.Text(label)), *content)

    def _code(self, source: str) -> nodes.literal_block:
        return nodes.literal_block(source, source, language="python")

    def _text(self, source: str, path: str) -> nodes.container:
        container = nodes.container()
        self.state.nested_parse(StringList(source.split("\n"), path), 0, container)
        return container


def setup(app) -> None:
    app.add_node(details, html=(_open_tag("details", ' class="kv-solution"'), _close_tag("details")))
    app.add_node(summary, html=(_open_tag("summary"), _close_tag("summary")))
    app.add_directive("assignment-solutions", AssignmentSolutions)
