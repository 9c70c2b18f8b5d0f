"""Reading what a student handed in. Any bytes may stand there; what cannot be graded is said in one sentence.

Only what grading uses is taken out of a notebook: the type, source, grade id, id and tags of each cell.
"""

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvcourse.grading.report import Problem
from kvcourse.grading.tree import MAX_DEPTH, MAX_ENTRIES, entries, list_folder

MAX_NOTEBOOK = 20 << 20
MAX_CELLS = 3000
MAX_SOURCE = 1 << 20
MAX_FILES, MAX_FILE, MAX_FILES_TOTAL = 200, 8 << 20, 32 << 20
MAX_LEFT_OUT = 20  # files named in the report
IGNORED = frozenset({".ipynb_checkpoints", "__pycache__", ".DS_Store", "timestamp.txt"})


class NotGradable(Exception):
    """A submission that cannot be graded: `code` for programs, the text for people."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True)
class SubmittedCell:
    """What is taken of a submitted cell."""

    cell_type: str
    source: str
    grade_id: str = ""
    id: str = ""
    tags: tuple[str, ...] = ()


@dataclass
class Submission:
    """A submission as read: cells, its version and assignment as it says, further files, what was odd."""

    cells: list[SubmittedCell]
    version: int | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    assignment: str = ""


def read_submission(folder: Path, notebook: str) -> Submission:
    """Read the notebook called `notebook` and the files beside it. Raise NotGradable for what is none."""
    if folder.is_symlink() or not folder.is_dir():
        raise NotGradable("not-a-folder", f"{folder.name} is no folder.")
    problems: list[Problem] = []
    path = _find_notebook(folder, notebook, problems)
    document = parse_notebook(read_file(path, MAX_NOTEBOOK))
    files = _further_files(folder, problems)
    return Submission(cells_of(document), version_of(document), files, problems, assignment_of(document))


def _find_notebook(folder: Path, notebook: str, problems: list[Problem]) -> Path:
    names, more = list_folder(folder)
    if more:
        raise NotGradable(
            "too-many-files", f"{_name(folder)} cannot be listed, or holds more than {MAX_ENTRIES} files."
        )
    found = [folder / name for name in names if name.lower().endswith(".ipynb")]
    wanted = folder / f"{notebook}.ipynb"
    if wanted in found:
        if len(found) > 1:
            others = ", ".join(_name(path) for path in found if path != wanted)
            problems.append(
                Problem("further-notebooks", f"also handed in, and not graded: {others}.", needs_person=False)
            )
        return wanted
    if len(found) == 1:
        problems.append(
            Problem("renamed-file", f"graded {_name(found[0])}, the only notebook; expected {wanted.name}.")
        )
        return found[0]
    if not found:
        raise NotGradable("no-notebook", f"expected {wanted.name}, found no notebook.")
    raise NotGradable("no-notebook", f"expected {wanted.name}, found {len(found)} notebooks of other names.")


def _name(path: Path) -> str:
    return path.name.encode("utf-8", "replace").decode()[:100]


def read_file(path: Path, limit: int) -> bytes:
    """A regular file's bytes, at most `limit`; never through a symbolic link, never from a pipe or device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise NotGradable(
                "symbolic-link", f"{_name(path)} is a symbolic link, which is not followed."
            ) from None
        raise NotGradable("unreadable", f"{_name(path)} cannot be read ({error.strerror}).") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotGradable("not-a-file", f"{_name(path)} is no regular file.")
        if status.st_size > limit:
            raise NotGradable(
                "too-large", f"{_name(path)} has {status.st_size} bytes; at most {limit} are read."
            )
        with os.fdopen(handle, "rb", closefd=False) as stream:
            return stream.read(limit)
    finally:
        os.close(handle)


def parse_notebook(data: bytes) -> dict[str, Any]:
    """The JSON object of a notebook file, in UTF-8 or, by its first bytes, UTF-16."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if not data.strip():
        raise NotGradable("empty-file", "the notebook is an empty file.")
    try:
        document = json.loads(data.decode(encoding))
    except UnicodeDecodeError as error:
        raise NotGradable("bad-encoding", f"the notebook is not UTF-8 (byte {error.start}).") from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error)[:100] if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise NotGradable("bad-json", f"the notebook is not JSON ({reason}).") from None
    if not isinstance(document, dict):
        raise NotGradable("bad-notebook", "the file is JSON, but no notebook.")
    return document


def cells_of(document: dict[str, Any]) -> list[SubmittedCell]:
    """The cells of a notebook of format 4, or of format 3 with its worksheets."""
    cells = document.get("cells")
    if cells is None and isinstance(document.get("worksheets"), list):
        sheets = [sheet for sheet in document["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in _list(sheet.get("cells"))]
    if not isinstance(cells, list):
        raise NotGradable("bad-notebook", "the file is JSON, but no notebook: it has no list of cells.")
    if len(cells) > MAX_CELLS:
        raise NotGradable(
            "too-many-cells", f"the notebook has {len(cells)} cells; at most {MAX_CELLS} are graded."
        )
    return [_cell(cell) for cell in cells if isinstance(cell, dict)]


def assignment_of(document: dict[str, Any]) -> str:
    """The assignment that a notebook says it belongs to, "" where it says none."""
    return _short(_dict(_dict(document.get("metadata")).get("kvcourse")).get("assignment"))


def version_of(document: dict[str, Any]) -> int | None:
    """The version of the assignment that a notebook says it was made for."""
    course = _dict(_dict(document.get("metadata")).get("kvcourse"))
    version = course.get("version")
    return version if type(version) is int else None


def _cell(cell: dict[str, Any]) -> SubmittedCell:
    kind = cell.get("cell_type")
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        source = ""
    if len(source) > MAX_SOURCE:
        source = source[:MAX_SOURCE]
    metadata = _dict(cell.get("metadata"))
    grader = _dict(metadata.get("nbgrader"))
    tags = tuple(tag for tag in _list(metadata.get("tags")) if isinstance(tag, str))
    return SubmittedCell(
        kind if kind in ("code", "markdown", "raw") else "markdown",
        _storable(source),
        _short(grader.get("grade_id")),
        _short(cell.get("id")),
        tags,
    )


def _storable(source: str) -> str:
    """Text that any file can hold: no half of a surrogate pair, one kind of line end."""
    return source.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def _short(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 200 else ""


def _dict(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _further_files(folder: Path, problems: list[Problem]) -> dict[str, bytes]:
    """The regular files beside the notebook, by relative name; what is none, or too large, is left out."""
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    total = 0
    found, cut = entries(folder, IGNORED)
    for relative, status in found:
        path = folder / relative
        inside = IGNORED.intersection(path.relative_to(folder).parts)
        if inside or stat.S_ISDIR(status.st_mode) or path.suffix.lower() in (".ipynb", ".pyc"):
            continue
        try:
            relative.encode()
            data = read_file(path, MAX_FILE)
        except (NotGradable, UnicodeEncodeError) as error:
            left_out.append(
                str(error) if isinstance(error, NotGradable) else f"{_name(path)} has no readable name."
            )
            continue
        total += len(data)
        if len(files) >= MAX_FILES or total > MAX_FILES_TOTAL:
            cut = False
            left_out.insert(0, "more or larger files were handed in than are read.")
            break
        files[relative] = data
    if cut:
        left_out.insert(
            0, f"what lies deeper than {MAX_DEPTH} folders, or beyond {MAX_ENTRIES} files, is not read."
        )
    if len(left_out) > MAX_LEFT_OUT:
        left_out[MAX_LEFT_OUT:] = [f"{len(left_out) - MAX_LEFT_OUT} more files were left out."]
    problems += [Problem("file-left-out", sentence, needs_person=False) for sentence in left_out]
    return files
