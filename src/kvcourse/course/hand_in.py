"""`kvcourse hand-in FOLDER`: check a learner's work and zip it as A/A.ipynb. The notebook never changes."""

import argparse
import io
import json
import os
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kvcourse.course.files import CONFIG, CourseError, files_below, write_atomic
from kvcourse.errors import shown

LARGEST = 10 * 1024**2  # bytes, notebook and every other file; nbgrader's own limit is 100 MB for a folder
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Check:
    """What was found in a folder: `problems` stop a hand-in, `notes` do not."""

    assignment: str
    files: dict[str, Path]  # name inside the zip -> path
    problems: list[str]
    notes: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `kvcourse hand-in`."""
    parser.add_argument("folder", type=Path, help="your copy of an assignment, such as work/a1-decoding")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="ZIP", help="where to write (default: FOLDER.zip)"
    )
    parser.add_argument("--anyway", action="store_true", help="zip even where the check finds a problem")


def run(args: argparse.Namespace) -> int:
    """Check and zip. Return 0, or 1 when a problem stops it (nothing is then written)."""
    output = place_of_zip(args.folder, args.output)
    check = check_folder(args.folder)
    for sentence in check.problems + check.notes:
        print(_printable(sentence))
    if check.problems and not args.anyway:
        print("Nothing was zipped. Repair this, or hand in as it is with --anyway.")
        return 1
    path = write_zip(check, output)
    print(_printable(f"{path}: ready to hand in ({', '.join(check.files)})."))
    return 0


def hand_in(folder: Path, output: Path | None = None) -> Path:
    """Return the zip written for a folder of work/. Raise CourseError with its first problem instead."""
    output = place_of_zip(folder, output)
    check = check_folder(folder)
    if check.problems:
        raise CourseError(check.problems[0])
    return write_zip(check, output)


def place_of_zip(folder: Path, output: Path | None) -> Path:
    """Where the zip goes, FOLDER.zip unless said; CourseError where it would overwrite the work itself."""
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise CourseError(f"{folder}: expected the folder of an assignment, found {found}.")
    if output is None:
        whole = folder.resolve()
        output = whole.parent / f"{whole.name}.zip"
    try:
        inside = any(
            path.is_relative_to(folder.resolve())
            for path in (output.resolve(), output.parent.resolve() / output.name)
        )
    except (OSError, RuntimeError):  # a loop of links
        raise CourseError(f"{output}: cannot be followed to a place; expected the name of a zip.") from None
    if inside and os.path.lexists(output):
        raise CourseError(f"{output}: is part of what is handed in; expected another name or place.")
    if not output.parent.is_dir():
        raise CourseError(f"{output}: there is no folder {output.parent}; make it first.")
    if output.exists() and not output.is_file():
        raise CourseError(f"{output}: is no regular file; expected the name of a zip.")
    return output


def check_folder(folder: Path) -> Check:
    """Look through a learner's folder of an assignment. Raise CourseError if there is nothing to hand in."""
    notebook_path, notebook = _find_notebook(folder)
    assignment = notebook["metadata"]["kvcourse"]["assignment"]
    files = {f"{assignment}/{assignment}.ipynb": notebook_path}
    problems, notes = [], []
    for path in files_below(folder):
        name = path.relative_to(folder).as_posix()
        if path == notebook_path or path.name.startswith("."):
            continue
        if not _is_text(name):
            problems.append(f"{_printable(name)}: left out; its name is not UTF-8 text: rename it.")
        elif path.suffix == ".ipynb" or ".new" in path.suffixes[:-1]:
            notes.append(f"{name}: left out; only {notebook_path.name} is graded.")
        elif path.suffix == ".zip":
            notes.append(f"{name}: left out; a zip inside would hold older hand-ins.")
        elif path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            notes.append(f"{name}: left out; it is a link to a file outside the folder.")
        elif path.stat().st_size > LARGEST:
            problems.append(
                f"{name}: {path.stat().st_size / 1024**2:.0f} MiB; a file may have at most 10 MiB."
            )
        else:
            files[f"{assignment}/{name}"] = path
    if notebook_path.stem != assignment:
        notes.append(f"{notebook_path.name}: handed in as {assignment}.ipynb, the name it is graded under.")
    found = _check_cells(notebook, _release_of(folder, assignment), notebook_path.name)
    return Check(assignment, files, problems + found[0], notes + found[1])


def write_zip(check: Check, output: Path) -> Path:
    """Write the zip, the same bytes for the same work."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in check.files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), _read(path), zipfile.ZIP_DEFLATED)
    try:
        write_atomic(output, buffer.getvalue())
    except OSError as error:
        raise CourseError(f"{output}: cannot be written ({error.strerror}).") from None
    return output


def _find_notebook(folder: Path) -> tuple[Path, dict]:
    """Return the path and content of the folder's notebook that belongs to an assignment."""
    candidates = [path for path in sorted(folder.glob("*.ipynb")) if ".new" not in path.name]
    if not candidates:
        raise CourseError(f"{folder}: expected a notebook in it, found none.")
    named = [path for path in candidates if path.stem == folder.resolve().name]
    fitting, faults = [], []
    for path in named or candidates:
        try:
            fitting.append((path, _read_notebook(path)))
        except CourseError as error:
            faults.append(error)
    if not fitting:
        raise faults[0]
    if len(fitting) > 1:
        names = ", ".join(path.name for path, _ in fitting)
        raise CourseError(
            f"{folder}: expected one notebook of an assignment, found {names}; move the others out."
        )
    return fitting[0]


def _read_notebook(path: Path) -> dict:
    """Return a notebook's JSON, or say in one sentence why it cannot be handed in."""
    try:
        notebook = json.loads(_read(path))
    except CourseError:
        raise
    except (ValueError, RecursionError):
        raise CourseError(
            f"{path.name}: expected a Jupyter notebook, got something that is not JSON; "
            "open it in JupyterLab and save it, or go back to a version that opens."
        ) from None
    try:
        course = notebook["metadata"].get("kvcourse", {})
        well_formed = all(type(cell["metadata"]) is dict and cell["cell_type"] for cell in notebook["cells"])
        if not well_formed or type(course) is not dict:
            raise TypeError
    except (KeyError, TypeError, AttributeError):
        raise CourseError(f"{path.name}: expected a Jupyter notebook (nbformat 4), got other JSON.") from None
    name = course.get("assignment")
    if type(name) is not str or not name or name != Path(name).name or name.startswith("."):
        raise CourseError(
            f"{path.name}: says of no assignment that it belongs to it; start from a copy in work/."
        )
    if not name.isprintable() or len(name) > 100:  # a lone surrogate is not printable
        raise CourseError(f"{path.name}: belongs to {shown(name)}, which is no name of an assignment.")
    return notebook


def _read(path: Path) -> bytes:
    """The content of a regular file of at most LARGEST bytes; CourseError for any other."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for, a device read without end
            raise CourseError(f"{path.name}: is no regular file; expected one saved by JupyterLab.")
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise CourseError(f"{path.name}: cannot be read ({error.strerror}).") from None
    if max(size, len(data)) > LARGEST:
        raise CourseError(
            f"{path.name}: {max(size, len(data)) / 1024**2:.0f} MiB; at most 10 MiB are taken: "
            "clear its outputs and save."
        )
    return data


def _is_text(name: str) -> bool:
    """Whether a name is text that UTF-8 can write: a file's name may be any bytes."""
    return _printable(name) == name


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _release_of(folder: Path, assignment: str) -> dict | None:
    """Return the release that lies in the course's folder above `folder`, if there is one."""
    for parent in folder.resolve().parents:
        if (parent / CONFIG).is_file():
            path = parent / "exercises" / assignment / f"{assignment}.ipynb"
            try:
                return json.loads(path.read_bytes())
            except (OSError, ValueError):
                return None
    return None


def _check_cells(notebook: dict, release: dict | None, name: str) -> tuple[list[str], list[str]]:
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
            if _source(cell) == _source(original):
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
