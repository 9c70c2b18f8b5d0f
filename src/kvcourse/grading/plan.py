"""What will run: structure, tests and points from the instructor's notebook, answers from the submission.

A submission can change none of the locked cells, their tags, order or points: only the sources of its
solution cells (found by grade id), its own further cells, and the unlocked cells of the release are taken
from it.
"""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kvcourse.course.regions import split_regions
from kvcourse.grading.report import Problem
from kvcourse.grading.submission import SubmittedCell

BEGIN, END = re.compile(r"\bBEGIN HIDDEN TESTS\b"), re.compile(r"\bEND HIDDEN TESTS\b")
OWN = "own"  # the role of cells that the student added
KEPT = 2000  # cells of the instructor's: each submission asks the same of them


@dataclass
class PlannedCell:
    """A cell of the notebook to grade: `role` is setup, student, test, own or text; `source` what will
    run.
    """

    key: str
    role: str
    cell_type: str
    source: str
    master: Any = None  # the instructor's cell, None for the student's own
    hidden: tuple[tuple[int, int], ...] = ()  # first and last line of each hidden part

    @property
    def runs(self) -> str | None:
        """How the grader runs the cell: setup, student, test, or not at all."""
        if self.cell_type != "code" or self.role == "text":
            return None
        return "student" if self.role in ("student", OWN) else self.role


@dataclass
class Plan:
    """A submission's cells in the instructor's order, the names that tests may use, and what was odd."""

    cells: list[PlannedCell]
    exports: list[str]
    problems: list[Problem] = field(default_factory=list)

    def jobs(self) -> list[dict]:
        """The cells that run, as the checker process takes them."""
        return [
            {"key": cell.key, "kind": cell.runs, "source": cell.source, "hidden": cell.hidden}
            for cell in self.cells
            if cell.runs
        ]


def make_plan(master: Any, submitted: list[SubmittedCell]) -> Plan:
    """Put a submission's answers into the instructor's notebook `master` (with hidden tests and
    solutions).
    """
    roles = {grade_id(cell): cell for cell in master.cells if grade_id(cell)}
    answers, own, problems = _sort(master, roles, submitted)
    cells: list[PlannedCell] = list(_own_cells(own.get(None, []), "top"))
    exports: set[str] = set()
    for number, cell in enumerate(master.cells):
        name = grade_id(cell)
        key = name or str(cell.get("id", number))
        meta = cell.metadata.get("nbgrader", {})
        if name and meta["solution"]:
            if cell.cell_type == "code":
                exports |= bound_names(cell.source)
            cells += _answer_cells(cell, key, answers.get(key, []), problems)
        elif name:
            role = "text" if cell.cell_type != "code" else "test" if meta["grade"] else "setup"
            cells.append(PlannedCell(key, role, cell.cell_type, cell.source, cell, hidden_lines(cell.source)))
        else:
            if cell.cell_type == "code":
                exports |= bound_names(cell.source)
            source = answers[key][0] if key in answers and cell.cell_type == "code" else cell.source
            role = "student" if cell.cell_type == "code" else "text"
            cells.append(PlannedCell(key, role, cell.cell_type, source, cell))
        cells += _own_cells(own.get(number, []), key)
    return Plan(cells, sorted(exports), problems)


def grade_id(cell: Any) -> str:
    """The grade id of an instructor's cell, "" for one that nbgrader does not know."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


@functools.lru_cache(maxsize=KEPT)
def hidden_lines(source: str) -> tuple[tuple[int, int], ...]:
    """First and last line of each part between the markers of hidden tests, markers included."""
    parts, begin = [], None
    for number, line in enumerate(source.split("\n"), 1):
        if BEGIN.search(line):
            begin = number
        elif END.search(line) and begin is not None:
            parts.append((begin, number))
            begin = None
    return tuple(parts)


@functools.lru_cache(maxsize=KEPT)
def bound_names(source: str) -> frozenset[str]:
    """The names that a cell binds at its top level, inside if, for, with and try too."""
    try:
        tree = ast.parse(
            "\n".join("" if line.startswith(("%", "!")) else line for line in source.split("\n"))
        )
    except SyntaxError:
        return frozenset()
    return frozenset(name for statement in tree.body for name in _bound(statement))


def imported_modules(master: Any) -> list[str]:
    """The modules that an assignment's cells import, to be imported once for all submissions."""
    found: list[str] = []
    for cell in master.cells:
        if cell.cell_type == "code":
            for match in re.finditer(
                r"^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w., ]+))", cell.source, re.M
            ):
                for name in (match[1] or match[2]).split(","):
                    name = name.split(" as ")[0].strip()
                    if re.fullmatch(r"[A-Za-z_][\w.]*", name) and name not in found:
                        found.append(name)
    return found


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return  # what is bound inside stays inside
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield (alias.asname or alias.name).partition(".")[0]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def _sort(
    master: Any, roles: dict[str, Any], submitted: list[SubmittedCell]
) -> tuple[dict[str, list[str]], dict[int | None, list[SubmittedCell]], list[Problem]]:
    """Match submitted cells: answers by key, the student's own by the master's cell that they follow."""
    plain = {cell.get("id"): i for i, cell in enumerate(master.cells) if not grade_id(cell)}
    texts = {visible(cell.source): i for i, cell in enumerate(master.cells) if not grade_id(cell)}
    places = {grade_id(cell): i for i, cell in enumerate(master.cells) if grade_id(cell)}
    answers: dict[str, list[str]] = {}
    own: dict[int | None, list[SubmittedCell]] = {}
    problems: list[Problem] = []
    seen: set[str] = set()
    last: int | None = None
    for cell in submitted:
        name = cell.grade_id
        if name in roles:
            last = places[name]
            _take_known(roles[name], cell, answers, problems, name in seen)
            seen.add(name)
        elif cell.source.strip() in texts:
            last = texts[cell.source.strip()]
        elif cell.id in plain and master.cells[plain[cell.id]].cell_type == cell.cell_type == "code":
            last = plain[cell.id]
            answers.setdefault(cell.id, []).append(cell.source)
        elif cell.source.strip():
            own.setdefault(last, []).append(cell)
    for name, cell in roles.items():
        if name not in seen:
            needs = cell.metadata.nbgrader["solution"]
            problems.append(
                Problem("missing-cell", f"cell {name} is not in the notebook.", name, needs_person=needs)
            )
    return answers, own, problems


def _take_known(
    master: Any, cell: SubmittedCell, answers: dict[str, list[str]], problems: list[Problem], again: bool
) -> None:
    name = cell.grade_id
    if again:
        problems.append(
            Problem(
                "copied-cell",
                f"cell {name} is there more than once; all copies ran in order, the last counts.",
                name,
            )
        )
    if master.metadata.nbgrader["solution"]:
        answers.setdefault(name, []).append(cell.source)
        if cell.cell_type != master.cell_type:
            problems.append(
                Problem(
                    "retyped-cell",
                    f"cell {name} was made a {cell.cell_type} cell; it was graded as {master.cell_type}.",
                    name,
                    needs_person=False,
                )
            )
    elif not again and cell.source.strip() not in (visible(master.source), master.source.strip()):
        problems.append(
            Problem(
                "locked-cell-changed",
                f"locked cell {name} was changed; the instructor's was run.",
                name,
                needs_person=False,
            )
        )
    if "skip-execution" in cell.tags:
        problems.append(Problem("skip-tag", f"cell {name} carries the tag skip-execution; it was run.", name))


@functools.lru_cache(maxsize=KEPT)
def visible(source: str) -> str:
    """What a release shows of a locked cell."""
    return split_regions(source)[0].strip()


def _answer_cells(
    master: Any, key: str, sources: list[str], problems: list[Problem]
) -> Iterator[PlannedCell]:
    """The cell of an answer; earlier copies of it come before it as the student's own."""
    for number, source in enumerate(sources[:-1]):
        yield PlannedCell(f"{key}-copy{number + 1}", OWN, master.cell_type, source)
    role = "student" if master.cell_type == "code" else "text"
    yield PlannedCell(key, role, master.cell_type, sources[-1] if sources else "", master)


def _own_cells(cells: list[SubmittedCell], after: str) -> Iterator[PlannedCell]:
    for number, cell in enumerate(cells):
        yield PlannedCell(f"{after}-own{number + 1}", OWN, cell.cell_type, cell.source)
