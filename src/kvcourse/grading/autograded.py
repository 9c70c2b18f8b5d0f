"""The autograded notebook: the instructor's structure, the student's answers, and what came of each cell."""

import copy
import json
from typing import Any

from nbformat.notebooknode import NotebookNode, from_dict

from kvcourse.grading.outcome import CellOutcome
from kvcourse.grading.plan import Plan, PlannedCell

MARK = "feedback_outputs"  # the notebook says of its outputs which ones feedback may show


def build_notebook(master: Any, plan: Plan, outcomes: dict[str, CellOutcome]) -> Any:
    """Return the notebook as nbgrader's own steps would have left it after running every cell."""
    metadata = copy.deepcopy({k: v for k, v in master.metadata.items() if k != "kvcourse"})
    metadata["kvcourse"] = {
        key: master.metadata["kvcourse"][key]
        for key in ("assignment", "version")
        if key in master.metadata.get("kvcourse", {})
    }
    metadata["kvcourse"][MARK] = True
    notebook = from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": []})
    ran = 0
    for number, planned in enumerate(plan.cells):
        outcome = outcomes.get(planned.key)
        ran += planned.runs is not None
        notebook.cells.append(_cell(number, planned, outcome, ran))
    return notebook


def notebook_text(notebook: Any) -> str:
    """A notebook as its file holds it: JSON, a line for each cell.

    nbformat's own writer indents, which json does in Python, ten times slower than in C.
    """
    rest = {name: value for name, value in notebook.items() if name != "cells"}
    head = "".join(f'"{name}": {_json(value)},\n' for name, value in sorted(rest.items()))
    return f'{{{head}"cells": [\n' + ",\n".join(map(_json, notebook.cells)) + "\n]}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cell(number: int, planned: PlannedCell, outcome: CellOutcome | None, ran: int) -> Any:
    cell = NotebookNode(
        id=_cell_id(number, planned.key),
        cell_type=planned.cell_type,
        metadata=NotebookNode(),
        source=planned.source,
    )
    if planned.cell_type == "code":
        cell.update(execution_count=None, outputs=[])
    if planned.master is not None:
        kept = {
            k: v
            for k, v in planned.master.metadata.items()
            if k in ("nbgrader", "tags", "deletable", "editable")
        }
        cell.metadata.update(from_dict(kept))  # a copy
    if planned.cell_type == "code" and outcome is not None:
        cell.execution_count = ran
        cell.outputs = _outputs(planned, outcome, ran)
        course = {"hidden_outputs": [i for i, flag in enumerate(outcome.hidden) if flag]}
        if outcome.value is not None and not outcome.shown:
            course["hidden_outputs"].append(len(cell.outputs) - 1)
        if outcome.hint:
            course["hint"] = outcome.hint
        if planned.runs != "test":
            course = {}
        if outcome.instead is not None:
            course["shown"] = outcome.instead
        if course:
            cell.metadata["kvcourse"] = from_dict(course)
    return cell


def _outputs(planned: PlannedCell, outcome: CellOutcome, ran: int) -> list[Any]:
    outputs = [from_dict(output) for output in outcome.outputs]
    if planned.runs == "test" and outcome.value is not None:
        outputs.append(
            from_dict(
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": outcome.value},
                    "metadata": {},
                    "execution_count": ran,
                }
            )
        )
    return outputs


def _cell_id(number: int, key: str) -> str:
    """A cell id that nbformat takes, the same in every run."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in key)
    return f"{number}-{safe}"[:64]
