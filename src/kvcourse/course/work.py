"""A learner's own copies, in work/: each release once, and each chapter as a notebook.

Nothing in work/ is ever overwritten. A newer release of a file lands beside the learner's as NAME.new.SUFFIX.
work/.copied.json remembers which release each file was copied from.
"""

import json
import re
from pathlib import Path

from kvcourse.course.files import CourseError, digest, files_below, write_atomic

RECORD = ".copied.json"
CHAPTERS = "book"
REFERENCE = re.compile(
    r"!\[[^\]]*\]\(([^)\s]+)|^`{3,}\{(?:figure|image|literalinclude)\}[ \t]+(\S+)", re.MULTILINE
)


def copy_work(root: Path) -> list[str]:
    """Copy what work/ lacks and return one sentence for each thing that is new there."""
    fresh = {**_releases(root), **_chapters(root)}
    if not fresh:
        raise CourseError(
            f"expected releases in {root / 'exercises'} or chapters in {root / 'book'}, found neither."
        )
    work = root / "work"
    record = _read_record(work / RECORD)
    said = []
    for name, (known_as, data) in fresh.items():
        sentence = _copy(work, name, known_as, data, record)
        if sentence:
            said.append(sentence)
    write_atomic(work / RECORD, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())
    return said


def chapters(root: Path) -> list[Path]:
    """The pages that are worked as notebooks: the chapters and the field guide."""
    book = root / "book"
    return [path for name in ("ch*.md", "field-guide.md") for path in sorted(book.glob(name))]


def chapter_files(chapter: Path) -> list[Path]:
    """Return the local files (figures, mostly) that a chapter's text refers to."""
    found = []
    for match in REFERENCE.finditer(chapter.read_text(encoding="utf-8")):
        path = chapter.parent / (match[1] or match[2])
        if (
            "://" not in str(match[1] or match[2])
            and path.is_file()
            and path.resolve().is_relative_to(chapter.parent.resolve())
        ):
            found.append(path)
    return found


def _releases(root: Path) -> dict[str, tuple[str, bytes]]:
    """Return each released file: its name in work/ -> (what it is a copy of, bytes)."""
    folder = root / "exercises"
    paths = [path for path in files_below(folder) if path.parent != folder] if folder.is_dir() else []
    return {
        path.relative_to(folder).as_posix(): (digest(path.read_bytes()), path.read_bytes()) for path in paths
    }


def _chapters(root: Path) -> dict[str, tuple[str, "bytes | Path"]]:
    """Return each chapter: its notebook's name in work/ -> (digest of its text, the text's path)."""
    fresh: dict[str, tuple[str, bytes | Path]] = {}
    for chapter in chapters(root):
        fresh[f"{CHAPTERS}/{chapter.stem}.ipynb"] = (digest(chapter.read_bytes()), chapter)
        for path in chapter_files(chapter):
            data = path.read_bytes()
            fresh[f"{CHAPTERS}/{path.relative_to(chapter.parent).as_posix()}"] = (digest(data), data)
    return fresh


def _read_record(path: Path) -> dict[str, str]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if isinstance(record, dict) else {}
    except (OSError, ValueError):  # absent or damaged: files are then told apart by their contents
        return {}


def _copy(work: Path, name: str, known_as: str, source: "bytes | Path", record: dict[str, str]) -> str | None:
    """Bring one file up to its release without touching what a learner may have changed."""
    target = work / name
    there = target.is_file()
    if there and record.get(name) == known_as:
        return None
    data = _notebook_of(source) if isinstance(source, Path) else source
    if not there:
        write_atomic(target, data)
        record[name] = known_as
        return f"work/{name}: copied."
    if target.read_bytes() == data or (
        name not in record and _version(target.read_bytes()) == _version(data)
    ):
        record[name] = known_as
        return None
    beside = _free_name(target, data, record, work)
    write_atomic(beside, data)
    record[name] = known_as
    record[f"new:{beside.relative_to(work).as_posix()}"] = digest(data)
    return (
        f"work/{name}: yours stays as it is; a newer release lies beside it as {beside.name}"
        f"{_versions(target.read_bytes(), data)}."
    )


def _free_name(target: Path, data: bytes, record: dict[str, str], work: Path) -> Path:
    """Return NAME.new.SUFFIX, or with a number where a learner has already worked in that one."""
    number = 1
    while True:
        path = target.with_name(f"{target.stem}.new{number if number > 1 else ''}{target.suffix}")
        untouched = record.get(f"new:{path.relative_to(work).as_posix()}")
        if not path.exists() or digest(path.read_bytes()) in (untouched, digest(data)):
            return path
        number += 1


def _version(data: bytes) -> int | None:
    try:
        return json.loads(data)["metadata"]["kvcourse"]["version"]
    except (ValueError, KeyError, TypeError):
        return None


def _versions(old: bytes, new: bytes) -> str:
    before, after = _version(old), _version(new)
    return f" (version {after}; yours is version {before})" if before and after and before != after else ""


def _notebook_of(chapter: Path) -> bytes:
    from kvcourse.course.source import notebook_bytes, read_myst

    return notebook_bytes(read_myst(chapter))
