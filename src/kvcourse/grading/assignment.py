"""The instructor's side of a grading: the course's settings, an assignment's source by version, its
gradebook rows.
"""

import json
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvcourse.course.files import CONFIG, CourseError, digest, files_below, write_atomic
from kvcourse.grading.submission import MAX_FILE, read_file

STATE = "grading"  # the grader's own folder in a course: manifests, reports, sources by version


@dataclass
class Course:
    """A course folder in nbgrader's layout."""

    root: Path
    directory: Any  # nbgrader's CourseDirectory
    config: Any

    @property
    def url(self) -> str:
        """The gradebook's address."""
        return self.directory.db_url

    @property
    def gradebook_name(self) -> str:
        """The gradebook's address, relative to the course where it lies in it, without a password."""
        return re.sub(r"(://[^:/@]*):[^@/]*@", r"\1@", self.url.replace(str(self.root), "."))

    def folder(self, name: str) -> Path:
        """The folder of a step: source, submitted, autograded or feedback."""
        return self.root / getattr(self.directory, f"{name}_directory")

    @property
    def state(self) -> Path:
        """The grader's own folder."""
        return self.root / STATE


def open_course(root: Path, db: str | None = None) -> Course:
    """A course folder's settings, as nbgrader reads them. `db` replaces the gradebook's address."""
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    if not (root / CONFIG).is_file():
        raise CourseError(f"expected a course's folder (one with {CONFIG}), got {root}.")
    try:
        config = PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    except Exception as error:  # the settings are a program
        raise CourseError(f"{root / CONFIG} cannot be read: {type(error).__name__}: {error}.") from None
    config.CourseDirectory.root = str(root)
    if db:
        config.CourseDirectory.db_url = db
    directory = CourseDirectory(config=config)
    if not directory.course_id and not directory.db_url.startswith("sqlite"):
        # nbgrader gives assignments the course's empty name and makes no course of it; SQLite lets that pass.
        directory.course_id = "default_course"
    return Course(root, directory, config)


@dataclass
class Assignment:
    """An assignment's source: the present one and those of earlier versions, with the files that go
    with it.
    """

    name: str
    master: Any
    files: dict[str, bytes] = field(default_factory=dict)
    versions: dict[int, Any] = field(default_factory=dict)

    @property
    def version(self) -> int | None:
        """The present version, None for an assignment without versions."""
        return self.master.metadata.get("kvcourse", {}).get("version")

    def master_for(self, version: int | None) -> Any | None:
        """The source that a submission of a version is graded with, None where it is not here."""
        if version is None or self.version is None or version == self.version:
            return self.master
        return self.versions.get(version)

    def fingerprint(self) -> str:
        """A digest of everything that the scores follow from on the instructor's side."""
        parts = [_content(self.master)]
        parts += [part for name in sorted(self.files) for part in (name.encode(), self.files[name])]
        parts += [_content(self.versions[number]) for number in sorted(self.versions)]
        return digest(*parts)


def read_assignment(course: Course, name: str) -> Assignment:
    """Read an assignment's source (its text, else its notebook) and keep a copy under its version."""
    folder = course.folder("source") / name
    master = _read_master(folder, name)
    files = {
        path.relative_to(folder).as_posix(): read_file(path, MAX_FILE)
        for path in (files_below(folder) if folder.is_dir() else [])
        if path.suffix not in (".md", ".ipynb")
    }
    assignment = Assignment(name, master, files)
    kept = course.state / "versions" / name
    if assignment.version is not None:
        write_atomic(kept / f"{assignment.version}.ipynb", _content(master))
        for path in kept.glob("*.ipynb"):
            if path.stem.isdigit() and int(path.stem) != assignment.version:
                assignment.versions[int(path.stem)] = _read_notebook(path)
    return assignment


def _read_master(folder: Path, name: str) -> Any:
    text, notebook = folder / f"{name}.md", folder / f"{name}.ipynb"
    if text.is_file():
        from kvcourse.course.source import read_source

        return read_source(text)
    if notebook.is_file():
        return _read_notebook(notebook)
    raise CourseError(f"expected the source of {name} in {text} or {notebook.name} beside it, found neither.")


def _read_notebook(path: Path) -> Any:
    from kvcourse.course.authoring import read_notebook

    notebook = read_notebook(path)
    notebook.metadata.get("kvcourse", {}).pop("generated", None)
    return notebook


def _content(notebook: Any) -> bytes:
    import nbformat

    return nbformat.writes(notebook).encode()


def register(course: Course, assignment: Assignment) -> None:
    """Make the gradebook know the assignment as it is now, with nbgrader's own release step."""
    from nbgrader.api import Gradebook

    from kvcourse.course.authoring import generate_assignment
    from kvcourse.grading.gradebook import GradebookError, explained

    stamp = course.state / f"{assignment.name}.registered.json"
    wanted = {"source": digest(_content(assignment.master)), "gradebook": course.gradebook_name}
    with explained(course.url), Gradebook(course.url, course.directory.course_id) as gradebook:
        there = any(entry.name == assignment.name for entry in gradebook.assignments)
        submitted = there and gradebook.find_assignment(assignment.name).num_submissions > 0
    if there and _read_stamp(stamp) == wanted:
        return
    with tempfile.TemporaryDirectory(prefix="kvcourse-register-") as name:
        scratch = Path(name)
        settings = (course.root / CONFIG).read_text(encoding="utf-8")
        (scratch / CONFIG).write_text(
            f"{settings}\nc.CourseDirectory.db_url = {course.url!r}\n"
            f"c.CourseDirectory.course_id = {course.directory.course_id!r}\n",
            encoding="utf-8",
        )
        source = scratch / course.directory.source_directory / assignment.name
        write_atomic(source / f"{assignment.name}.ipynb", _content(assignment.master))
        for path, data in assignment.files.items():
            write_atomic(source / path, data)
        try:
            generate_assignment(scratch, assignment.name, database=True)
        except CourseError as error:
            if submitted:
                raise GradebookError(
                    f"{assignment.name} now has other graded cells than the gradebook, which already holds "
                    f"submissions of it ({error}) Keep grade ids, points and kinds of cells, or grade this "
                    "version in a course folder of its own."
                ) from None
            raise
        shutil.rmtree(scratch / course.directory.release_directory, ignore_errors=True)
    write_atomic(stamp, json.dumps(wanted).encode())


def _read_stamp(path: Path) -> dict | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent or damaged: the assignment is registered again
        return None
