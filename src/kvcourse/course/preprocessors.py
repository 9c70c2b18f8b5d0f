"""Three steps of ours among nbgrader's own when it makes a release (nbgrader_config.py lists them all)."""

import re

from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

from kvcourse.course.regions import EXPLANATION

TASK = "{unwritten}"
DEFINITION = re.compile(r"(\s*)(?:async\s+def|def|class)\s+(\w+)")


class NameStubs(ClearSolutions):
    """ClearSolutions, whose stub names the problem and the function that is still to be written.

    `{unwritten}` in `ClearSolutions.code_stub` becomes, for a solution inside `def cache_bytes` of cell
    `q2-bytes`, "Problem q2: cache_bytes is not written yet".
    """

    def preprocess_cell(self, cell, resources, cell_index):
        """Clear the cell's solution as nbgrader does, then fill in the name in each stub."""
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.cell_type == "code" and TASK in cell.source:
            problem = cell.metadata.nbgrader["grade_id"].partition("-")[0]
            lines = cell.source.split("\n")
            named = [line.replace(TASK, _task(problem, lines[:at], line)) for at, line in enumerate(lines)]
            cell.source = "\n".join(named)
        return cell, resources


def _task(problem: str, above: list[str], stub: str) -> str:
    indent, names = len(stub) - len(stub.lstrip()), []
    for line in reversed(above):
        found = DEFINITION.match(line)
        if found and len(found[1]) < indent:
            indent = len(found[1])
            names.insert(0, found[2])
    return f"Problem {problem}: {'.'.join(names) or 'the answer'} is not written yet"


class DropExplanations(NbGraderPreprocessor):
    """Leave out the cells tagged `why`: explaining a wrong answer gives the right one away."""

    def preprocess(self, nb, resources):
        """Keep all other cells as they are."""
        nb.cells = [cell for cell in nb.cells if EXPLANATION not in cell.metadata.get("tags", [])]
        return nb, resources


class ForgetSource(NbGraderPreprocessor):
    """Drop the mark that tells whether the source notebook was edited in JupyterLab."""

    def preprocess(self, nb, resources):
        """Remove `generated` from the notebook's `kvcourse` metadata; assignment and version stay."""
        nb.metadata.get("kvcourse", {}).pop("generated", None)
        return nb, resources
