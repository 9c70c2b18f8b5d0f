"""The lint's rules for problems and notebooks. A rule yields (where, message) for each fault."""

import ast
import re
from collections.abc import Callable, Iterator

from kvcourse.course.regions import split_regions
from lint_model import Notebook

HEADER = re.compile(
    r"^\*\*(\d+) points?(?: \((\d+) of them by hand\))? · \d+ minutes · ★{1,5} · needs: [^·]+ · [^·]+\*\*$",
    re.M,
)

NOTEBOOK_RULES: list[Callable[[Notebook], Iterator[tuple[str, str]]]] = []


def notebook_rule(function):
    NOTEBOOK_RULES.append(function)
    return function


@notebook_rule
def has_unique_ids(notebook):
    """Grade ids are unique."""
    ids = [
        cell.metadata["nbgrader"].get("grade_id") for cell in notebook.cells if "nbgrader" in cell.metadata
    ]
    yield from (
        (name, "the grade id is there twice") for name in sorted({i for i in ids if ids.count(i) > 1})
    )


@notebook_rule
def has_a_header_line(notebook):
    """A problem has a header line, points · minutes · stars · needs · device, with its cells' points."""
    for name, cells in notebook.problems.items():
        header = HEADER.search(notebook.text(name))
        if header is None:
            yield name, "expected a line such as **4 points · 15 minutes · ★ · needs: chapter 1 · CPU**"
            continue
        graded = [
            cell.metadata["nbgrader"] for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")
        ]
        by_hand = sum(meta["points"] for meta in graded if meta["solution"])
        total = sum(meta["points"] for meta in graded)
        if (int(header[1]), int(header[2] or 0)) != (total, by_hand):
            yield (
                name,
                f"the header says {header[1]} points; the cells have {total:g}, {by_hand:g} of them by hand",
            )


@notebook_rule
def has_help(notebook):
    """A problem says what to deliver, has an example, and folds: a nudge, pseudocode, a symptom in quotes."""
    for name in notebook.problems:
        text = notebook.text(name)
        folds = re.findall(r"<summary>(.*?)</summary>", text)
        wanted = {
            "a fold with a nudge": any(fold.startswith("Nudge") for fold in folds),
            "a fold with pseudocode": any(fold.startswith("Pseudocode") for fold in folds),
            "a fold named for a symptom, in quotes": any(fold.startswith('"') for fold in folds),
            "**Deliver**": "**Deliver**" in text,
            "an example": "**Example" in text or "for example" in text,
        }
        yield from ((name, f"expected {what}") for what, there in wanted.items() if not there)


@notebook_rule
def says_why(notebook):
    """A problem has a cell tagged `why` (left out of the release) on why the usual wrong answer fails."""
    for name, cells in notebook.problems.items():
        if not any("why" in cell.metadata.get("tags", []) for cell in cells):
            yield name, "expected a text cell tagged why"


@notebook_rule
def names_mistakes(notebook):
    """A problem's checks know mistakes: quantity= for numbers, mistakes= for tensors, or a sentence."""
    for name in notebook.problems:
        tests = [test for test in notebook.tests if test.name.partition("-")[0] == name]
        for test in tests:
            for call in test.calls("integer", "number", "credit", "size"):
                if not any(keyword.arg in ("quantity", "mistakes") for keyword in call.keywords):
                    yield test.name, f"line {call.lineno}: expected quantity=, for the hints"
        known = [
            call
            for test in tests
            for call in test.calls(
                "integer",
                "integers",
                "number",
                "credit",
                "size",
                "tensor",
                "text",
                "mask",
                "that",
                "rows_fed",
            )
            if call.func.attr in ("that", "rows_fed")
            or any(k.arg in ("quantity", "mistakes") for k in call.keywords)
        ]
        if not known:
            yield name, "no check of this problem names a mistake"


@notebook_rule
def grades_by_behavior(notebook):
    """A problem has two test cells or more, so that one slip does not cost everything."""
    for name in notebook.problems:
        if sum(test.name.partition("-")[0] == name for test in notebook.tests) < 2:
            yield name, "expected a test cell for each of two behaviors or more"


@notebook_rule
def has_a_rubric(notebook):
    """A written answer has a model answer between the solution markers, and a rubric in a hidden part."""
    hidden = "\n".join(split_regions(test.source)[1].get("HIDDEN TESTS", "") for test in notebook.tests)
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and meta.get("solution"):
            if not split_regions(cell.source)[1].get("SOLUTION", "").strip():
                yield meta["grade_id"], "expected a model answer between the solution markers"
            if f"Rubric for {meta['grade_id']}" not in hidden:
                yield (
                    meta["grade_id"],
                    f"expected '# Rubric for {meta['grade_id']}' in a hidden part of its problem",
                )


@notebook_rule
def states_contracts(notebook):
    """A solution cell's functions and classes have a docstring, which the release keeps."""
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and meta.get("solution"):
            shown, cleared = split_regions(cell.source)
            if "SOLUTION" not in cleared:
                yield (
                    meta["grade_id"],
                    "expected solution markers, so that the signature stays in the release",
                )
                continue
            for node in ast.parse(cell.source).body:
                if (
                    isinstance(node, (ast.FunctionDef, ast.ClassDef))
                    and (ast.get_docstring(node) or "?") not in shown
                ):
                    yield meta["grade_id"], f"expected a docstring of {node.name} outside the solution"
