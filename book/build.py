"""Build the book: `python book/build.py [--force] [SOURCE]`. The site is SOURCE/build/_build/html.

Warnings and failing cells are errors (exit 1), and then the last good site stays. Every page is made anew,
from the outputs that its cells left in the execution cache (SOURCE/build/.jupyter_cache). Where no input has
changed since the last good build, nothing is done.
"""

import argparse
import hashlib
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("_config.yml", "_toc.yml", "constraints.txt", "book/**/*", "src/**/*", "solutions/*/*.md")
MADE = {"__pycache__", ".ipynb_checkpoints"}
FLAGS = ("-W", "-n", "--keep-going")  # warnings are errors, broken references are warnings, show them all


def inputs_hash(source: Path) -> str:
    """Return a hash of every file that the site is made from, and of the model's presence."""
    from kvcourse import model_file

    digest = hashlib.sha256(b"model" if model_file.find() else b"no model")
    for path in sorted({path for pattern in INPUTS for path in source.glob(pattern) if path.is_file()}):
        name = path.relative_to(source)
        if not MADE.intersection(name.parts) and ".egg-info" not in str(name):
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@contextmanager
def replacing(folder: Path):
    """Move `folder` aside, and bring it back unless the caller makes a new one and returns."""
    previous = folder.with_name(f".previous{folder.name}")
    shutil.rmtree(previous, ignore_errors=True)
    if folder.exists():
        folder.rename(previous)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if previous.exists():
            previous.rename(folder)
        raise
    shutil.rmtree(previous, ignore_errors=True)


def build(source: Path = ROOT, force: bool = False) -> int:
    """Build the book in `source` unless its site is current; return 0, or 1 for a warning or failing cell."""
    from jupyter_book.cli.main import main as jupyter_book

    folder = source / "build/_build"
    stamp, page = folder / "site.sha256", folder / "html/index.html"
    wanted = inputs_hash(source)
    if not force and page.exists() and stamp.exists() and stamp.read_text() == wanted:
        print(f"The site is current: {page}")
        return 0
    options = [str(source), "--path-output", str(source / "build"), *FLAGS]
    try:
        with replacing(folder):
            jupyter_book(["build", *options], standalone_mode=False)
            stamp.write_text(wanted)
    except (RuntimeError, SystemExit):  # what Jupyter Book raises for a failing cell, and for warnings
        kept = " The last good site stays." if page.exists() else ""
        print(f"kvcourse: the book was not built; the lines above say why.{kept}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the book's site.")
    parser.add_argument("source", nargs="?", type=Path, default=ROOT, help="folder of _config.yml")
    parser.add_argument("--force", action="store_true", help="build even if nothing has changed")
    arguments = parser.parse_args()
    os.environ.setdefault(
        "PYDEVD_DISABLE_FILE_VALIDATION", "1"
    )  # else each kernel prints a debugger's warning
    sys.exit(build(arguments.source.resolve(), arguments.force))
