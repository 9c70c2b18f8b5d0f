"""Files of a grading: one run at a time, folders that appear whole, digests of what was handed in, clear
errors.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from kvcourse import __version__
from kvcourse.course.files import CourseError, digest, digest_files, files_below
from kvcourse.errors import UserError
from kvcourse.grading.launcher import GraderError
from kvcourse.grading.submission import MAX_NOTEBOOK, NotGradable, read_file
from kvcourse.grading.tree import entries

STOPS_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG)


def concerns_all(error: Exception) -> bool:
    """Whether an error is about the gradebook, the disk or the grader's processes, not about one
    submission.
    """
    if isinstance(error, OSError):
        return error.errno in STOPS_ALL
    return isinstance(error, UserError | GraderError)


def merged_files(students: dict[str, bytes], instructors: dict[str, bytes]) -> dict[str, bytes]:
    """The files beside a notebook: the instructor's, and the student's that are not in their way."""

    def in_the_way(name: str) -> bool:
        return any(
            f"{name}/".startswith(f"{other}/") or f"{other}/".startswith(f"{name}/") for other in instructors
        )

    return {**{name: data for name, data in students.items() if not in_the_way(name)}, **instructors}


def put_in_place(new: Path, place: Path) -> None:
    """Let the folder `new` take the name `place`; the one that had it is removed."""
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def removed_on_error(folder: Path) -> Iterator[None]:
    """Remove a half-made folder if the block fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextlib.contextmanager
def only_one(state: Path) -> Iterator[None]:
    """Hold the course's lock, which ends with the process that holds it."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        handle = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CourseError(f"{state} cannot be written ({error.strerror}); nothing was changed.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CourseError(f"another grading of {state.parent} is running; nothing was changed.") from None
    finally:
        os.close(handle)


@contextlib.contextmanager
def storage_explained(root: Path) -> Iterator[None]:
    """Turn a full or read-only disk into one sentence."""
    try:
        yield
    except OSError as error:
        raise CourseError(
            f"{error.filename or root}: {error.strerror or error}; the submission at hand was not recorded, "
            "those before it were."
        ) from None


def package_digest() -> str:
    """A digest of this package's code: other code may give other scores."""
    package = Path(__file__).resolve().parent.parent
    code = [path for path in files_below(package) if path.suffix == ".py"]
    return digest(__version__.encode(), digest_files(code, package).encode())


def folder_digest(folder: Path) -> bytes:
    """A digest of what was handed in: names, kinds, sizes, and the contents that are read."""
    parts: list[bytes] = []
    if folder.is_dir() and not folder.is_symlink():
        found, cut = entries(folder)
        for name, status in found:
            parts.append(os.fsencode(name) + b"\0%d %d" % (status.st_mode, status.st_size))
            if not stat.S_ISDIR(status.st_mode):
                with contextlib.suppress(NotGradable):
                    parts.append(hashlib.sha256(read_file(folder / name, MAX_NOTEBOOK)).digest())
        parts.append(b"cut" if cut else b"whole")
    return digest(*parts).encode()
