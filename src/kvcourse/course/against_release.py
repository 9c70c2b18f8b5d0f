"""A learner's notebook against the release it came from: cells that are missing, changed, or not answered."""

import json
from collections import Counter
from pathlib import Path

from kvcourse.course.files import CONFIG


def release_of(folder: Path, assignment: str) -> dict | None:
    """Return the release that lies in the course's folder above `folder`, if there is one."""
    for parent in folder.resolve().parents:
        if (parent / CONFIG).is_file():
            path = parent / "exercises" / assignment / f"{assignment}.ipynb"
            try:
                return json.loads(path.read_bytes())
            except (OSError, ValueError):
                return None
    return None


def check_cells(notebook: dict, release: dict | None, name: str) -> tuple[list[str], list[str]]:
    """Return problems and notes on the cells that are graded, against the release of the same version."""
    problems, notes = [], []
    present = _graded(notebook)
    for grade_id, count in Counter(grade_id for grade_id, _ in present).items():
        if count > 1:
            problems.append(
                f"{name}: the cell {grade_id} is there {count} times; delete the copy (it keeps its mark)."
            )
    if not present:
        problems.append(f"{name}: none of the assignment's graded cells is left in it.")
    if release is None:
        notes.append(
            "The assignment's release is not at hand, so missing or changed cells were not looked for."
        )
        return problems, notes
    stubs = {grade_id: _source(cell) for grade_id, cell in _graded(release)}
    answers = [(at, _source(cell)) for at, cell in present if cell["metadata"]["nbgrader"].get("solution")]
    nothing = bool(answers) and all(source == stubs.get(at) for at, source in answers)
    if nothing:
        problems.append(
            f"{name}: nothing in it is answered: each cell for an answer is as it was released. "
            "Is it the notebook that you worked in?"
        )
    mine, newest = (nb["metadata"].get("kvcourse", {}).get("version") for nb in (notebook, release))
    if mine != newest:
        notes.append(
            f"{name} is version {mine}, the newest release {newest}; yours is graded as version {mine}."
        )
        return problems, notes
    cells = dict(present)
    for grade_id, original in _graded(release):
        cell = cells.get(grade_id)
        if cell is None:
            problems.append(f"{name}: the cell {grade_id} is missing; copy it from exercises/.")
        elif cell["cell_type"] != original["cell_type"]:
            problems.append(
                f"{name}: the cell {grade_id} became a {cell['cell_type']} cell; "
                f"make it a {original['cell_type']} cell again."
            )
        elif original["metadata"]["nbgrader"].get("solution"):
            if _source(cell) == _source(original) and not nothing:
                notes.append(f"{grade_id} is as it was released: not answered yet.")
        elif _source(cell) != _source(original):
            notes.append(f"{grade_id} is a check that was changed; it is graded in its original form.")
    return problems, notes


def _graded(notebook: dict) -> list[tuple[str, dict]]:
    """Return the cells that nbgrader knows, each with its grade id."""
    found = []
    for cell in notebook["cells"]:
        meta = cell["metadata"].get("nbgrader")
        if (
            type(meta) is dict
            and meta.get("grade_id")
            and any(meta.get(key) for key in ("grade", "solution", "locked", "task"))
        ):
            found.append((str(meta["grade_id"]), cell))
    return found


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    return source if type(source) is str else "".join(map(str, source))
