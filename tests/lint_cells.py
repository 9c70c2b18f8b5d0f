"""Lint of the assignments' cells: the rules that keep a test fair, safe in two processes, and helpful.

    python tests/lint_cells.py [solutions/NAME/NAME.md ...]

A test cell may run in another process than the answer, and its author may trust nothing that comes from it.
Each rule is a function of `lint_cell_rules` or `lint_problem_rules` whose first line says what it asks, and
`lint` returns what breaks them. Prints one line for each finding and a line of totals. Exit status: 0 without
findings, 1 with, 2 for a file that cannot be read.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from kvcourse.course.source import read_source
from kvcourse.errors import UserError
from lint_cell_rules import CELL_RULES
from lint_model import Notebook
from lint_problem_rules import NOTEBOOK_RULES


@dataclass(frozen=True)
class Finding:
    """A rule that a cell or a problem breaks."""

    where: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.rule}]"


def lint(notebook) -> list[Finding]:
    """Everything in an assignment's source notebook that breaks a rule."""
    parts = Notebook(notebook.cells)
    findings = [
        Finding(test.name, rule.__name__, message)
        for test in parts.tests
        for rule in CELL_RULES
        for message in rule(test)
    ]
    return findings + [Finding(w, rule.__name__, m) for rule in NOTEBOOK_RULES for w, m in rule(parts)]


def main(paths: list[str]) -> int:
    """Lint the given texts, or all of solutions/; return the exit status."""
    files = [Path(path) for path in paths] or sorted(Path(__file__).parent.parent.glob("solutions/*/*.md"))
    total = 0
    for path in files:
        try:
            findings = lint(read_source(path))
        except UserError as error:
            print(f"lint_cells: {error}", file=sys.stderr)
            return 2
        for finding in findings:
            print(f"{path.name}, {finding}")
        total += len(findings)
    rules = len(CELL_RULES) + len(NOTEBOOK_RULES)
    print(f"{len(files)} assignments, {rules} rules: {total or 'no'} findings")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
