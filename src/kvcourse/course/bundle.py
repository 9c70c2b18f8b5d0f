"""What students get: build/kvcourse-student.zip, all that `make lab` needs and nothing that grades them."""

import io
import json
import re
import stat
import zipfile
from pathlib import Path

from kvcourse.course.files import CONFIG, CourseError, files_below, write_atomic
from kvcourse.course.work import chapter_files, chapters

TOP = "kvcourse-student"
EPOCH = (1980, 1, 1, 0, 0, 0)
SINGLE = (
    CONFIG,
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "LICENSE-text",
    "Makefile",
    "constraints.txt",
    "pyproject.toml",
)
NEEDED = ("Makefile", "pyproject.toml", CONFIG)
# The course's own README speaks of folders that students do not get.
README = Path(__file__).with_name("student_readme.md")
# A line without a value, an operator or a keyword (`got = f(x)`) tells nothing; it may stand elsewhere too.
TELLING = re.compile(r"""[\d'"+*/%<>@-]|[=!]=|\b(?:assert|if|for|in|not|and|or|is|lambda|return|raise)\b""")
CODE = {".py", ".js", ".css", ".json", ".toml", ".typed"}


def make_bundle(root: Path, output: Path | None = None) -> Path:
    """Write the students' zip and return its path: the same bytes for the same course.

    Raise CourseError, leaving an older zip as it is, if a file of it would show a hidden test or a solution.
    """
    files = bundle_files(root)
    refuse_secrets(root, files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{TOP}/{name}", EPOCH)
            entry.external_attr = (
                stat.S_IFREG | (0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
            ) << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    target = output or root / "build" / f"{TOP}.zip"
    write_atomic(target, buffer.getvalue())
    return target


def bundle_files(root: Path) -> dict[str, Path]:
    """Return the files of the students' zip by their names in it: what goes in, never what stays out."""
    missing = [name for name in NEEDED if not (root / name).is_file()]
    if missing:
        raise CourseError(f"the students' zip needs {missing[0]}, which is not in {root}.")
    paths = [root / name for name in SINGLE if (root / name).is_file()]
    paths += [path for path in files_below(root / "src" / "kvcourse") if path.suffix in CODE]
    releases = [path for path in files_below(root / "exercises") if path.parent != root / "exercises"]
    if not releases:
        raise CourseError(
            "expected releases in exercises/, found none; run python -m kvcourse.course release."
        )
    pages = chapters(root)
    figures = [figure for page in pages for figure in chapter_files(page)]
    files = {path.relative_to(root).as_posix(): path for path in [*paths, *releases, *pages, *figures]}
    return {**files, "README.md": README}


def refuse_secrets(root: Path, files: dict[str, Path]) -> None:
    """Raise CourseError if a file holds a marker or a hidden test's line, or a release a solution's."""
    import nbformat

    from kvcourse.course.regions import find_secrets, notebook_text, secret_lines
    from kvcourse.course.source import assignments, read_source, source_text

    hidden: dict[str, str] = {}
    every: dict[str, dict[str, str]] = {}
    for assignment in assignments(root):
        notebook = read_source(source_text(root, assignment))
        lines = secret_lines(notebook, ["HIDDEN TESTS", "MARK SCHEME"])
        hidden |= {line: where for line, where in lines.items() if TELLING.search(line)}
        every[assignment] = secret_lines(notebook)
    for name, path in files.items():
        text = path.read_bytes().decode("utf-8", errors="replace")
        if path.suffix == ".ipynb":
            try:
                text = notebook_text(nbformat.reads(text, as_version=4))
            except (ValueError, nbformat.ValidationError, json.JSONDecodeError):
                raise CourseError(f"{name}: expected a Jupyter notebook, got something else.") from None
        parts = Path(name).parts
        secrets = {**hidden, **every.get(parts[1], {})} if parts[0] == "exercises" else hidden
        leaks = find_secrets(text, secrets)
        if leaks:
            raise CourseError(f"no zip for students was made: {name} would show {leaks[0]}")
