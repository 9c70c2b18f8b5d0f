"""The way back: edits made in JupyterLab, from solutions/A/A.ipynb to the text solutions/A/A.md."""

import json
import re
from pathlib import Path

from kvcourse.course.authoring import read_notebook
from kvcourse.course.files import CourseError, digest, read_text, write_atomic
from kvcourse.course.source import (
    check_source,
    content_hash,
    notebook_bytes,
    read_myst,
    set_cell_ids,
    source_text,
)

GRADER_KEYS = ("grade", "grade_id", "locked", "points", "schema_version", "solution", "task")


def to_text(root: Path, assignment: str) -> Path:
    """Write an assignment's notebook back to its text and return the text's path.

    The header stays as it is. Raise CourseError, writing nothing, if the text changed too since the notebook
    was made, or if the new text would not read back as the same notebook.
    """
    text = source_text(root, assignment)
    notebook_path = text.with_suffix(".ipynb")
    notebook = read_notebook(notebook_path)
    made = notebook.metadata.get("kvcourse", {}).pop("generated", {})
    old = read_text(text)
    if made.get("text") != digest(old.encode()):
        raise CourseError(
            f"{text.name} changed too since {notebook_path.name} was made from it; keep one of the two: "
            "take the text's changes back (git diff shows them), or delete the notebook."
        )
    notebook.metadata["kvcourse"] = read_myst(text).metadata["kvcourse"]
    set_cell_ids(notebook)
    check_source(notebook, text)
    new = _header(old, text) + "\n" + _body(notebook, _lexer(old))
    _check_same(new, notebook, text)
    write_atomic(text, new.encode())
    notebook.metadata["kvcourse"]["generated"] = {
        "text": digest(new.encode()),
        "notebook": content_hash(notebook),
    }
    write_atomic(notebook_path, notebook_bytes(notebook))
    return text


def _header(text: str, path: Path) -> str:
    header = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    if not header:
        raise CourseError(f"{path.name}: expected a header between two lines of ---.")
    return header[0]


def _lexer(text: str) -> str:
    found = re.search(r"^```+\{code-cell\}[ \t]*(\S*)$", text, re.MULTILINE)
    return f" {found[1]}" if found and found[1] else ""


def _body(notebook, lexer: str) -> str:
    blocks, after_text = [], False
    for cell in notebook.cells:
        metadata = _metadata(cell)
        if cell.cell_type == "markdown":
            if metadata:
                blocks.append(f"+++ {json.dumps(metadata)}")
            elif after_text:
                blocks.append("+++")
            blocks.append(cell.source.strip("\n"))
        else:
            longest = max([2, *(len(run) for run in re.findall(r"^`{3,}", cell.source, re.MULTILINE))])
            fence = "`" * (longest + 1)
            options = "".join(f":{key}: {json.dumps(value)}\n" for key, value in metadata.items())
            kind = "raw-cell" if cell.cell_type == "raw" else "code-cell"
            blank = "\n" if options else ""
            blocks.append(f"{fence}{{{kind}}}{lexer}\n{options}{blank}{cell.source.rstrip()}\n{fence}")
        after_text = cell.cell_type == "markdown"
    return "\n\n".join(blocks) + "\n"


def _metadata(cell) -> dict:
    """Return the cell's metadata that belongs in a text; nbgrader's keys in their usual order."""
    kept = {
        key: value for key, value in cell.metadata.items() if key not in ("editable", "deletable", "trusted")
    }
    if "nbgrader" in kept:
        kept["nbgrader"] = {key: kept["nbgrader"][key] for key in GRADER_KEYS if key in kept["nbgrader"]}
    return {key: value for key, value in kept.items() if value not in ({}, [], None)}


def _check_same(new: str, notebook, path: Path) -> None:
    """Raise CourseError if the text would not read back as the notebook it was made from."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_text(new, encoding="utf-8")
        again = read_myst(trial)
    if content_hash(again) == content_hash(notebook):
        return
    pairs = zip(again.cells, notebook.cells, strict=False)
    at = next(
        (i for i, (a, b) in enumerate(pairs) if a.source.rstrip() != b.source.rstrip()),
        len(notebook.cells) - 1,
    )
    raise CourseError(
        f"{path.name}: cell {at + 1} of the notebook cannot be written as MyST text and read back the same; "
        "change it in the text instead."
    )
