"""From an assignment's text to its release: solutions/A/A.md -> solutions/A/A.ipynb -> exercises/A/.

nbgrader makes the release, in a scratch course folder below build/ and without a database. A file in
exercises/ is replaced, whole, only when its bytes differ. A release that would show a solution or a hidden
test is refused.
"""

import json
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from kvcourse.course.files import CONFIG, CourseError, digest, digest_files, files_below, write_atomic

TOOLS = ("nbgrader", "nbconvert", "nbformat", "jupytext")


@dataclass(frozen=True)
class Release:
    """One assignment as released; `changed` says whether a file in exercises/ was written or removed."""

    assignment: str
    changed: bool
    summary: str


def release(root: Path, names: list[str] | None = None) -> list[Release]:
    """Release the named assignments, or all; one that has not changed since the last time is skipped."""
    return [release_one(root, name) for name in names or source_folders(root)]


def source_folders(root: Path) -> list[str]:
    """Return the names of the folders in solutions/ that hold a file (an empty one is no assignment yet)."""
    folders = [folder for folder in (root / "solutions").glob("[!.]*") if folder.is_dir()]
    found = sorted(folder.name for folder in folders if next(files_below(folder), None))
    if not found:
        raise CourseError(f"expected an assignment's folder in {root / 'solutions'}, found none.")
    return found


def release_one(root: Path, assignment: str) -> Release:
    """Release one assignment. Raise CourseError, with everything as it was, when it cannot be released."""
    stamp = root / "build" / "releases" / f"{assignment}.json"
    inputs = _inputs(root, assignment)
    known = _read_stamp(stamp)
    if known and known["inputs"] == inputs and known["outputs"] == _outputs(root, assignment):
        return Release(assignment, False, known["summary"])

    from kvcourse.course.source import notebook_bytes, read_source, source_text

    text = source_text(root, assignment)
    notebook = read_source(text)
    _refuse_strangers(text)
    edited = text.with_suffix(".ipynb")
    mark = _mark(notebook, text)
    keep = edited.is_file() and _is_current(edited, mark)
    files = _generate(root, assignment, notebook)
    if not keep:
        notebook.metadata["kvcourse"]["generated"] = mark
        write_atomic(edited, notebook_bytes(notebook))
    changed = _install(root / "exercises" / assignment, files)
    summary = _summary(notebook)
    outcome = {"inputs": inputs, "outputs": _outputs(root, assignment), "summary": summary}
    write_atomic(stamp, (json.dumps(outcome, indent=1) + "\n").encode())
    return Release(assignment, changed, summary)


def released_files(root: Path, assignment: str) -> dict[str, bytes]:
    """Return the files of the release that the present text gives, writing nothing that stays."""
    from kvcourse.course.source import read_source, source_text

    return _generate(root, assignment, read_source(source_text(root, assignment)))


def released_notebook(root: Path, assignment: str):
    """Return the notebook of the release that the present text gives."""
    import nbformat

    return nbformat.reads(released_files(root, assignment)[f"{assignment}.ipynb"].decode(), as_version=4)


def extra_files(folder: Path) -> list[Path]:
    """Return the files of an assignment's source folder that travel with it: all but texts and notebooks."""
    return [path for path in files_below(folder) if path.suffix not in (".md", ".ipynb")]


def _inputs(root: Path, assignment: str) -> str:
    """Digest all that a release follows from: texts, extra files, settings, these modules, the tools."""
    folder = root / "solutions" / assignment
    here = Path(__file__).parent
    modules = [here / f"{name}.py" for name in ("authoring", "source", "regions", "preprocessors")]
    sources = [path for path in files_below(folder) if path.suffix != ".ipynb"] if folder.is_dir() else []
    return digest(
        digest_files([*sources, root / CONFIG], root).encode(),
        digest_files(modules, here).encode(),
        *(version(tool).encode() for tool in TOOLS),
    )


def _outputs(root: Path, assignment: str) -> str:
    """Digest what a release leaves: the release's files and the notebooks beside the text."""
    released = root / "exercises" / assignment
    beside = (root / "solutions" / assignment).glob("*.ipynb")
    return digest_files([*(files_below(released) if released.is_dir() else []), *beside], root)


def _read_stamp(path: Path) -> dict | None:
    try:
        stamp = json.loads(path.read_text(encoding="utf-8"))
        return stamp if {"inputs", "outputs", "summary"} <= set(stamp) else None
    except (OSError, ValueError, TypeError):  # absent or damaged: the release is simply made again
        return None


def _refuse_strangers(text: Path) -> None:
    """Refuse a notebook that has no text: nbgrader would release it too."""
    for path in sorted(text.parent.glob("*.ipynb")):
        if path.stem != text.stem:
            raise CourseError(
                f"{path.name} in solutions/{text.parent.name} has no text and would be released too; "
                "move it out of the folder."
            )


def _mark(notebook, text: Path) -> dict[str, str]:
    from kvcourse.course.source import content_hash

    return {"text": digest(text.read_bytes()), "notebook": content_hash(notebook)}


def _is_current(edited: Path, mark: dict[str, str]) -> bool:
    """Return whether the notebook still says what the text says. Refuse one edited in JupyterLab."""
    from kvcourse.course.source import content_hash

    notebook = read_notebook(edited)
    now, made = content_hash(notebook), notebook.metadata.get("kvcourse", {}).get("generated", {})
    if now == mark["notebook"]:
        return made == mark
    if not isinstance(made, dict) or made.get("notebook") != now:
        raise CourseError(
            f"{edited.name} was edited in JupyterLab since it was made from {edited.stem}.md. "
            f"To keep the edits, write them to the text: python -m kvcourse.course to-text {edited.stem}. "
            f"To drop them, delete solutions/{edited.stem}/{edited.name}."
        )
    return False


def read_notebook(path: Path):
    """Return a notebook file as nbformat 4, or say in one sentence why it is not one."""
    import nbformat

    try:
        notebook = nbformat.reads(path.read_bytes().decode("utf-8"), as_version=4)
        nbformat.validate(notebook)
    except OSError as error:
        raise CourseError(f"{path.name}: cannot be read ({error.strerror}).") from None
    except Exception as error:  # nbformat raises many kinds for what is not a notebook
        reason = str(error).strip().split("\n")[0][:100]
        raise CourseError(
            f"{path.name}: expected a Jupyter notebook, got something else ({reason})."
        ) from None
    return notebook


def _generate(root: Path, assignment: str, notebook) -> dict[str, bytes]:
    """Return the files of the release that nbgrader makes of a source notebook, checked for leaks."""
    from kvcourse.course.source import notebook_bytes

    build = root / "build"
    build.mkdir(exist_ok=True)
    source = root / "solutions" / assignment
    with tempfile.TemporaryDirectory(dir=build, prefix=".release-") as name:
        scratch = Path(name)
        shutil.copy(root / CONFIG, scratch)
        for path in extra_files(source):
            copy = scratch / "solutions" / assignment / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        write_atomic(scratch / "solutions" / assignment / f"{assignment}.ipynb", notebook_bytes(notebook))
        generate_assignment(scratch, assignment)
        made = scratch / "exercises" / assignment
        files = {path.relative_to(made).as_posix(): path.read_bytes() for path in files_below(made)}
    _check_release(assignment, notebook, files)
    return files


def generate_assignment(course: Path, assignment: str, database: bool = False) -> None:
    """Do in a course folder what `nbgrader generate_assignment --force` does (--no-db, unless `database`)."""
    import logging

    from nbgrader.converters import GenerateAssignment, NbGraderException
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader(CONFIG, path=str(course)).load_config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.assignment_id = assignment
    config.GenerateAssignment.no_database = not database
    config.SaveCells.enabled = database
    converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config, force=True)
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    log = converter.log
    kept = log.handlers[:], log.level, log.propagate
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.ERROR)
    try:
        converter.start()
    except NbGraderException:
        raise CourseError(f"{assignment}: nbgrader cannot make the release: {_reason(said)}") from None
    finally:
        log.handlers, log.propagate = kept[0], kept[2]
        log.setLevel(kept[1])


def _reason(said: list[str]) -> str:
    """Return the last line of the traceback that nbgrader logged."""
    for message in said:
        if "Traceback" in message:
            return message.strip().split("\n")[-1]
    return " ".join(said[-1].split()) if said else "it gave no reason."


def _check_release(assignment: str, source, files: dict[str, bytes]) -> None:
    """Raise CourseError if a file of the release shows what it must not, or lost what it must carry."""
    import nbformat

    from kvcourse.course.regions import find_secrets, notebook_text, secret_lines

    name = f"{assignment}.ipynb"
    if name not in files:
        raise CourseError(f"{assignment}: nbgrader made no {name}.")
    secrets = secret_lines(source)
    for path, data in files.items():
        if path.endswith(".md"):
            raise CourseError(f"{assignment}: the text {path} would be released; see CourseDirectory.ignore.")
        text = data.decode("utf-8", errors="replace")
        if path.endswith(".ipynb"):
            text = notebook_text(nbformat.reads(text, as_version=4))
        leaks = find_secrets(text, secrets)
        if leaks:
            raise CourseError(f"{assignment}: {path} of the release would show {leaks[0]}")
    made = nbformat.reads(files[name].decode(), as_version=4)
    wanted = {key: source.metadata["kvcourse"][key] for key in ("assignment", "version")}
    if {
        key: value for key, value in made.metadata.get("kvcourse", {}).items() if key != "generated"
    } != wanted:
        raise CourseError(f"{assignment}: the release lost the assignment's name and version.")


def _install(folder: Path, files: dict[str, bytes]) -> bool:
    """Make `folder` hold exactly these files, each replaced in one step and only where it differs."""
    changed = False
    for name, data in sorted(files.items(), key=lambda item: item[0].endswith(".ipynb")):
        changed |= write_atomic(folder / name, data)
    for path in list(files_below(folder)):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
            changed = True
    return changed


def _summary(notebook) -> str:
    """Say what an assignment holds: version, problems, points."""
    graded = [
        cell.metadata.nbgrader for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    problems = {meta["grade_id"].partition("-")[0] for meta in graded}
    points = sum(meta["points"] for meta in graded)
    by_hand = sum(meta["points"] for meta in graded if meta["solution"])
    course = notebook.metadata["kvcourse"]
    return f"version {course['version']}, {len(problems)} problems, {points:g} points ({by_hand:g} by hand)"
