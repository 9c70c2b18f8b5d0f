"""Zips that lie where a hand-in goes: said by name and date, so that nobody hands in an older one unaware."""

import zipfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path


def left_as_they_are(places: Iterable[Path], data: bytes | None) -> list[str]:
    """One sentence for each file at `places`; `data` is the zip of the work as it is now, where it is known.

    Whether a file is an older one its content says, not its date: clocks go wrong, and copies keep dates.
    """
    sentences = []
    for path in places:
        if when := written(path):
            same = data is not None and _content(path) == data
            now = "holds just what is here now" if same else "does not hold what is here now"
            sentences.append(f"{path}, {when}, was left as it is: it {now}.")
    return sentences


def written(path: Path) -> str:
    """When a file was written, such as `written 2026-11-28 14:03` in local time; nothing if there is none."""
    try:
        seconds = path.stat().st_mtime if path.is_file() else None
    except OSError:  # in a folder that may not be looked into
        return ""
    try:
        return "" if seconds is None else f"written {datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):  # a date that no calendar has
        return "written before"


def not_of(path: Path, assignment: str) -> str:
    """A sentence if the file at `path` is something else than a hand-in of `assignment`; else nothing."""
    if not path.is_file():
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except OSError:  # it may not be read; then writing says so, or replaces it
        return ""
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        names = []
    held = {name.partition("/")[0] for name in names if name.endswith(".ipynb")}
    if f"{assignment}/{assignment}.ipynb" in names:
        return ""
    found = f"holds {', '.join(sorted(held))}" if held else "is no zip of a notebook"
    return f"{path}: is there already and {found}; give {assignment} another name with -o."


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
