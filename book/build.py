"""Build the book: `python book/build.py [--all] [SOURCE]`. Pages land in SOURCE/build/_build/html.

Warnings and failing cells are errors (exit 1). Nothing is built where nothing has changed since the last good
build; --all reads and writes every page.
"""

import argparse
import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("_config.yml", "_toc.yml", "constraints.txt", "book/**/*", "src/**/*", "solutions/*/*.md")


def inputs_hash(source: Path) -> str:
    """Return a hash of every file that the site is made from, and of the model's presence."""
    from kvcourse import model_file

    digest = hashlib.sha256(b"model" if model_file.find() else b"no model")
    files = {path for pattern in INPUTS for path in source.glob(pattern) if path.is_file()}
    for path in sorted(
        file for file in files if "__pycache__" not in file.parts and "egg-info" not in str(file)
    ):
        digest.update(path.relative_to(source).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def build(source: Path = ROOT, everything: bool = False) -> int:
    """Build the book in `source` if it is not current; return 0, or 1 for a warning or a failing cell."""
    from jupyter_book.cli.main import main as jupyter_book

    stamp = source / "build/_build/site.sha256"
    wanted = inputs_hash(source)
    page = source / "build/_build/html/index.html"
    if not everything and page.exists() and stamp.exists() and stamp.read_text() == wanted:
        print(f"The site is current: {page}")
        return 0
    stamp.unlink(missing_ok=True)
    options = ["-W", "-n", "--keep-going", "--path-output", str(source / "build")] + (
        ["--all"] if everything else []
    )
    try:
        jupyter_book(["build", str(source), *options], standalone_mode=False)
    except (RuntimeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and not stop.code:
            raise
        print("kvcourse: the book was not built; the first warning or error above says why.", file=sys.stderr)
        return 1
    stamp.write_text(wanted)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the book's site.")
    parser.add_argument(
        "source",
        nargs="?",
        type=Path,
        default=ROOT,
        help="folder with _config.yml (default: this repository)",
    )
    parser.add_argument("--all", action="store_true", help="read and write every page")
    arguments = parser.parse_args()
    os.environ.setdefault(
        "PYDEVD_DISABLE_FILE_VALIDATION", "1"
    )  # else each kernel prints a debugger's warning
    sys.exit(build(arguments.source.resolve(), arguments.all))
