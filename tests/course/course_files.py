"""What the tests of kvcourse.course share: where things are, and what a folder holds."""

from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
FIXTURES = Path(__file__).parent / "fixtures"


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file below a folder with its bytes and the time it was last written."""
    return {name: (data, (folder / name).stat().st_mtime_ns) for name, data in contents(folder).items()}
