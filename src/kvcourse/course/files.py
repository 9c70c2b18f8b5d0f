"""Files of a course folder: where its root is, hashes, and writing that leaves nothing half-written."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from kvcourse.errors import UserError

CONFIG = "nbgrader_config.py"
IGNORED = {".ipynb_checkpoints", "__pycache__", ".DS_Store"}


class CourseError(UserError):
    """An assignment, a notebook or a folder of the course that cannot be used as it is."""


def find_root(start: Path | str | None = None) -> Path:
    """Return the course's root: the nearest folder, from `start` upwards, that holds nbgrader_config.py."""
    begin = Path(start or Path.cwd()).resolve()
    for folder in [begin] if start else [begin, *begin.parents]:
        if (folder / CONFIG).is_file():
            return folder
    raise CourseError(f"expected the course's folder (the one with {CONFIG}), got {begin}.")


def digest(*parts: bytes) -> str:
    """Return the SHA-256 of the parts; the same bytes cut elsewhere give another digest."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in the order of their names, without caches and checkpoints."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if path.is_file() and not IGNORED.intersection(inside) and path.suffix != ".pyc":
            yield path


def digest_files(paths: Iterable[Path], root: Path) -> str:
    """Return one digest of the names (relative to `root`) and contents of files."""
    parts = []
    for path in sorted(set(paths)):
        parts += [path.relative_to(root).as_posix().encode(), path.read_bytes()]
    return digest(*parts)


def write_atomic(path: Path, data: bytes) -> bool:
    """Write under another name, then move to `path`. Return False, touching nothing, if it holds `data`."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return True


def read_text(path: Path) -> str:
    """Return a UTF-8 text file's content, or say in one sentence why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: expected UTF-8 text, got the byte at position {error.start}.") from None
    except OSError as error:
        raise CourseError(f"{path}: cannot be read ({error.strerror}).") from None
