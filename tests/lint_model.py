"""An assignment as the lint sees it: test cells with what their names hold, and cells by problem.

Which names hold something that an answer gave is found by assignment, without regard to order: a name that
holds it once counts as holding it always.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

CHECKERS = {"blind", "check", "hidden"}  # kvcourse.checks: their methods test type and shape first


@dataclass
class GradedCell:
    """A locked test cell: its program, which lines are hidden, and which names hold what an answer gave."""

    name: str
    source: str
    points: object
    answers: set[str]  # names that solution cells bind
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    hidden: set[int] = field(default_factory=set)  # line numbers
    error: str = ""

    def __post_init__(self) -> None:
        inside = False
        for number, line in enumerate(self.source.split("\n"), start=1):
            inside = (inside or "BEGIN HIDDEN TESTS" in line) and "END HIDDEN TESTS" not in line
            if inside:
                self.hidden.add(number)
        try:
            self.tree = ast.parse(self.source)
        except SyntaxError as error:
            self.error = f"line {error.lineno}: {error.msg}"

    def find(self, *kinds: type) -> Iterator[ast.AST]:
        """Nodes of the given kinds, in the order of the text."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, kinds)]
        yield from sorted(nodes, key=lambda node: (node.lineno, node.col_offset))

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of `check.NAME` or `hidden.NAME`."""
        for call in self.find(ast.Call):
            if is_check(call) and call.func.attr in names:
                yield call

    @cached_property
    def held(self) -> set[str]:
        """Names that hold an answer, a value it gave, or part of one."""
        held, before = set(self.answers), set()
        while held != before:  # until nothing is added: a loop may use a name above its assignment
            before = set(held)
            for node in ast.walk(self.tree):
                if isinstance(node, (ast.For, ast.comprehension)):
                    value, targets = node.iter, [node.target]
                elif isinstance(node, ast.Assign):
                    value, targets = node.value, node.targets
                elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
                    value, targets = node.value, [node.target]
                else:
                    continue
                if value is not None and touches(value, held):
                    held |= {name for target in targets for name in bound_in(target)}
        return held

    def touches(self, node: ast.AST) -> bool:
        """Whether an expression holds something that an answer gave and no check has vetted yet."""
        return touches(node, self.held)


def is_check(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in CHECKERS
    )


def touches(node: ast.AST, held: set[str]) -> bool:
    if is_check(node):  # what a check returns is its own plain value
        return False
    if isinstance(node, ast.Name):
        return node.id in held
    return any(touches(child, held) for child in ast.iter_child_nodes(node))


def bound_in(target: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def names_of(call: ast.Call) -> set[str]:
    """The called name, or each part of a dotted one."""
    parts, node = set(), call.func
    while isinstance(node, ast.Attribute):
        parts.add(node.attr)
        node = node.value
    return parts | ({node.id} if isinstance(node, ast.Name) else set())


@dataclass
class Notebook:
    """An assignment's cells by problem."""

    cells: list
    tests: list[GradedCell] = field(default_factory=list)
    problems: dict[str, list] = field(default_factory=dict)  # q1 -> cells, from its heading to the next

    def __post_init__(self) -> None:
        answers: set[str] = set()
        current: list = []
        for cell in self.cells:
            meta = cell.metadata.get("nbgrader", {})
            name = str(meta.get("grade_id", "")).partition("-")[0]
            if re.fullmatch(r"q\d+", name):
                current = self.problems.setdefault(name, [])
                current.append(cell)
            elif "why" in cell.metadata.get("tags", []):
                current.append(cell)
            if cell.cell_type == "code" and meta.get("solution"):
                answers |= _top_level_names(cell.source)
        for cell in self.cells:
            meta = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "code" and meta.get("grade") and not meta.get("solution"):
                self.tests.append(GradedCell(meta["grade_id"], cell.source, meta.get("points"), answers))

    def text(self, problem: str) -> str:
        """All that learners read of a problem."""
        return "\n".join(
            cell.source
            for cell in self.problems[problem]
            if cell.cell_type == "markdown" and "why" not in cell.metadata.get("tags", [])
        )


def _top_level_names(source: str) -> set[str]:
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return set()
    names = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return names | {name for node in body if isinstance(node, ast.Assign) for name in bound_in(node)}
