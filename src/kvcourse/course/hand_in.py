"""`kvcourse hand-in FOLDER`: check a learner's work and zip it as A/A.ipynb. The notebook never changes."""

import argparse
import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kvcourse.course.against_release import check_cells, release_of
from kvcourse.course.earlier_zip import left_as_they_are, not_of, written
from kvcourse.course.files import CourseError, files_below, write_atomic
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
    places = {os.path.realpath(path): path for path in (_usual_place(args.folder), output)}.values()
    data = None
    try:
        check = check_folder(args.folder, output)
        for sentence in check.problems + check.notes:
            print(_printable(sentence))
        data = zip_bytes(check)
        if not check.problems or args.anyway:
            replaced = write_zip(output, data)
            print(_printable(f"{output}: ready to hand in ({', '.join(check.files)}){replaced}."))
            return 0
    except CourseError as error:
        raise CourseError(" ".join([str(error), *left_as_they_are(places, data)])) from None
    print("Nothing was zipped. Repair this, or hand in as it is with --anyway.")
    for sentence in left_as_they_are(places, data):
        print(_printable(sentence))
    return 1


def hand_in(folder: Path, output: Path | None = None) -> Path:
    """Return the zip written for a folder of work/. Raise CourseError with its first problem instead."""
    output = place_of_zip(folder, output)
    check = check_folder(folder, output)
    if check.problems:
        raise CourseError(check.problems[0])
    write_zip(output, zip_bytes(check))
    return output


def place_of_zip(folder: Path, output: Path | None) -> Path:
    """Where the zip goes, FOLDER.zip unless said; CourseError where it would overwrite the work itself."""
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise CourseError(f"{folder}: expected the folder of an assignment, found {found}.")
    output = output or _usual_place(folder)
    try:
        inside = any(
            path.is_relative_to(folder.resolve())
            for path in (output.resolve(), output.parent.resolve() / output.name)
        )
    except (OSError, RuntimeError):  # a loop of links
        raise CourseError(f"{output}: cannot be followed to a place; expected the name of a zip.") from None
    if inside and os.path.lexists(output):
        raise CourseError(f"{output}: is part of what is handed in; expected another name or place.")
    try:
        if not output.parent.is_dir():
            raise CourseError(f"{output}: there is no folder {output.parent}; make it first.")
        if output.exists() and not output.is_file():
            raise CourseError(f"{output}: is no regular file; expected the name of a zip.")
    except OSError as error:  # in a folder that may not be looked into
        raise CourseError(f"{output}: cannot be reached ({error.strerror}).") from None
    return output


def _usual_place(folder: Path) -> Path:
    whole = folder.resolve()
    return whole.parent / f"{whole.name}.zip"


def check_folder(folder: Path, output: Path | None = None) -> Check:
    """Look through a learner's folder of an assignment, and at what lies where its zip goes.

    Raise CourseError if there is nothing to hand in.
    """
    notebook_path, notebook = _find_notebook(folder)
    assignment = notebook["metadata"]["kvcourse"]["assignment"]
    files = {f"{assignment}/{assignment}.ipynb": notebook_path}
    problems, notes = [], []
    if output and (sentence := not_of(output, assignment)):
        problems.append(sentence)
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
    found = check_cells(notebook, release_of(folder, assignment), notebook_path.name)
    return Check(assignment, files, problems + found[0], notes + found[1])


def zip_bytes(check: Check) -> bytes:
    """The zip of what was found, the same bytes for the same work."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in check.files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), _read(path), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_zip(output: Path, data: bytes) -> str:
    """Write the zip. Return what to add where it took the place of another one."""
    before = written(output)
    try:
        new = write_atomic(output, data)
    except OSError as error:
        raise CourseError(f"{output}: cannot be written ({error.strerror}).") from None
    return f"; it replaces the one {before}" if new and before else ""


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
