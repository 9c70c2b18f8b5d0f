"""The source of an assignment: solutions/A/A.md, MyST text that jupytext reads as a notebook.

The notebook beside it (A.ipynb, ignored by git) is made from the text. It carries in its own metadata what it
was made from, so that an edit in JupyterLab is seen and never lost.
"""

import hashlib
import json
import re
from pathlib import Path

import jupytext
import nbformat

from kvcourse.course.files import CourseError, digest, read_text
from kvcourse.course.regions import EXPLANATION, MARKER, split_regions

KEYS = {"grade": bool, "grade_id": str, "locked": bool, "schema_version": int, "solution": bool, "task": bool}
GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PROBLEM_ID = re.compile(r"q\d+(-[a-z0-9-]+)?")


def source_text(root: Path, assignment: str) -> Path:
    """Return the path of an assignment's text, or say in one sentence that there is none."""
    path = root / "solutions" / assignment / f"{assignment}.md"
    if not path.is_file():
        raise CourseError(f"expected the assignment's text in {path.relative_to(root)}, found no such file.")
    return path


def assignments(root: Path) -> list[str]:
    """Return the names of the assignments that have a text in solutions/."""
    return sorted(path.parent.name for path in root.glob("solutions/*/*.md") if path.stem == path.parent.name)


def read_source(path: Path) -> nbformat.NotebookNode:
    """Return the notebook of an assignment's text: checked, no outputs, the same cell ids every time."""
    notebook = read_myst(path)
    check_source(notebook, path)
    return notebook


def read_myst(path: Path) -> nbformat.NotebookNode:
    """Return the notebook of a MyST text. Cell ids follow from contents; jupytext's metadata is dropped."""
    try:
        notebook = jupytext.reads(read_text(path), fmt="md:myst")
    except CourseError:
        raise
    except Exception as error:  # jupytext and YAML raise many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CourseError(f"{path.name}: not a MyST notebook that jupytext can read: {reason}") from None
    notebook.metadata.pop("jupytext", None)
    set_cell_ids(notebook)
    return notebook


def set_cell_ids(notebook) -> None:
    """Give each cell its grade id as id, or else a hash of its content (jupytext's are random)."""
    taken: set[str] = set()
    for cell in notebook.cells:
        grade_id = str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        stem = grade_id if GRADE_ID.fullmatch(grade_id) else None
        stem = stem or hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        chosen, again = stem, 1
        while chosen in taken:
            again += 1
            chosen = f"{stem[:58]}-{again}"
        taken.add(chosen)
        cell["id"] = chosen


def content_hash(notebook) -> str:
    """Return a digest of what an author writes: sources, nbgrader metadata, tags, assignment and version.

    Outputs, execution counts and what JupyterLab adds by itself do not count.
    """
    course = {
        key: value for key, value in notebook.metadata.get("kvcourse", {}).items() if key != "generated"
    }
    parts = [json.dumps(course, sort_keys=True).encode()]
    for cell in notebook.cells:
        grader = {
            key: value
            for key, value in cell.metadata.get("nbgrader", {}).items()
            if key not in ("checksum", "cell_type")  # nbgrader adds these two itself
        }
        kept = [cell.cell_type, cell.source.rstrip(), grader, cell.metadata.get("tags", [])]
        parts.append(json.dumps(kept, sort_keys=True).encode())
    return digest(*parts)


def notebook_bytes(notebook) -> bytes:
    """Return a notebook as its file holds it."""
    return (nbformat.writes(notebook) + "\n").encode()


def check_source(notebook, path: Path) -> None:
    """Raise CourseError in one sentence for the first fault that would spoil a release."""
    check_header(notebook, path)
    seen: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type == "code" and re.search(r"^(```\{|\+\+\+)", cell.source, re.MULTILINE):
            first = cell.source.strip().split("\n")[0][:60]
            raise CourseError(f"{path.name}: the code cell that begins '{first}' is not closed with ```.")
        if "nbgrader" in cell.metadata:
            if EXPLANATION in cell.metadata.get("tags", []):
                raise CourseError(
                    f"{path.name}: a cell tagged '{EXPLANATION}' must not be one of nbgrader's."
                )
            check_graded_cell(cell, path.name, seen)
        elif MARKER.search(cell.source):
            marker = MARKER.search(cell.source)[0]
            raise CourseError(f"{path.name}: '{marker}' stands in a cell without nbgrader metadata.")


def check_header(notebook, path: Path) -> None:
    """Raise CourseError for a header that names another assignment, or no version or kernel."""
    course = notebook.metadata.get("kvcourse", {})
    name, version = course.get("assignment"), course.get("version")
    if name != path.stem:
        raise CourseError(
            f"{path.name}: expected 'kvcourse: {{assignment: {path.stem}, ...}}' in the header, got {name!r}."
        )
    if type(version) is not int or version < 1:
        raise CourseError(
            f"{path.name}: expected a version of 1 or more in the header's kvcourse block, got {version!r}."
        )
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        raise CourseError(f"{path.name}: expected kernelspec python3 in the header.")


def check_graded_cell(cell, name: str, seen: set[str]) -> None:
    """Raise CourseError for nbgrader metadata or regions that nbgrader would refuse or, worse, accept."""
    meta = cell.metadata["nbgrader"]
    grade_id = meta.get("grade_id")
    where = f"{name}, cell {grade_id if isinstance(grade_id, str) else cell.source.strip()[:40]!r}"
    for key, kind in KEYS.items():
        if type(meta.get(key)) is not kind:
            raise CourseError(
                f"{where}: expected nbgrader's '{key}' to be {kind.__name__}, got {meta.get(key)!r}."
            )
    if not GRADE_ID.fullmatch(grade_id) or (
        (meta["grade"] or meta["solution"]) and not PROBLEM_ID.fullmatch(grade_id)
    ):
        raise CourseError(f"{where}: expected a grade id such as q2 or q2-hidden (its problem first).")
    if grade_id in seen:
        raise CourseError(f"{where}: expected each grade id once, got it twice.")
    seen.add(grade_id)
    points = meta.get("points")
    if (meta["grade"] or meta["task"]) and (
        isinstance(points, bool) or not isinstance(points, int | float) or points < 0
    ):
        raise CourseError(f"{where}: expected points, got {points!r}.")
    if cell.cell_type == "markdown" and not meta["task"] and meta["grade"] != meta["solution"]:
        raise CourseError(f"{where}: a written answer is both a grade and a solution cell (nbgrader's rule).")
    _, cleared = split_regions(cell.source, where)
    if "SOLUTION" in cleared and not meta["solution"]:
        raise CourseError(f"{where}: a solution stands in a cell that is not marked as a solution cell.")
    if "HIDDEN TESTS" in cleared and (not meta["grade"] or meta["solution"]):
        raise CourseError(f"{where}: hidden tests stand in a cell that is not a locked grade cell.")
    if "MARK SCHEME" in cleared and not meta["task"]:
        raise CourseError(f"{where}: a marking scheme stands in a cell that is not a task cell.")
