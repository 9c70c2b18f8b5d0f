"""Two steps of ours among nbgrader's own when it makes a release (nbgrader_config.py lists them all)."""

import re

from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

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
    indent = len(stub) - len(stub.lstrip())
    for line in reversed(above):
        found = DEFINITION.match(line)
        if found and len(found[1]) < indent:
            return f"Problem {problem}: {found[2]} is not written yet"
    return f"Problem {problem}: the answer is not written yet"


class ForgetSource(NbGraderPreprocessor):
    """Drop the mark that tells whether the source notebook was edited in JupyterLab."""

    def preprocess(self, nb, resources):
        """Remove `generated` from the notebook's `kvcourse` metadata; assignment and version stay."""
        nb.metadata.get("kvcourse", {}).pop("generated", None)
        return nb, resources
