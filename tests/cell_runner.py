"""Run an assignment's cells in one process and without a kernel: fast, for tests of the assignments.

`tests/answer_bank.py` runs them under nbgrader.
"""

import contextlib
import io

from kvcourse.checks import markers


class Sources(markers.Plain):
    """The markers of one process, with the text of the cells run so far that are no checks."""

    def __init__(self):
        self.texts = []

    def cells(self):
        return self.texts


def run(notebook, problem=None):
    """Points of each test cell, and what it printed or raised."""
    names, points, said = {"__name__": "__main__"}, {}, {}
    kept = Sources()
    with markers.use(kept):
        for cell in notebook.cells:
            meta = cell.metadata.get("nbgrader", {})
            grade_id = meta.get("grade_id", "")
            if cell.cell_type != "code" or (problem and grade_id.partition("-")[0] not in (problem, "setup")):
                continue
            out, err = io.StringIO(), io.StringIO()
            failed = ""
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    exec(compile(cell.source, grade_id, "exec"), names)
            except Exception as error:
                failed = f"{type(error).__name__}: {error}"
            if not meta.get("grade") or meta["solution"]:
                kept.texts.append(cell.source)
            else:
                scored = cell.source.rstrip().endswith("\nscore")
                points[grade_id] = (
                    0 if failed or err.getvalue() else names["score"] if scored else meta["points"]
                )
                said[grade_id] = out.getvalue() + failed + err.getvalue()
    return points, said
