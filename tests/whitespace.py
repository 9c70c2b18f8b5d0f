"""Pre-commit hook: fail for files with trailing whitespace or without exactly one newline at the end."""

import sys
from pathlib import Path


def complaints(path: Path) -> list[str]:
    """Return one sentence for each fault of a text file."""
    data = path.read_bytes()
    found = [
        f"{path}:{number}: trailing whitespace"
        for number, line in enumerate(data.split(b"\n"), start=1)
        if line != line.rstrip()
    ]
    if data and (not data.endswith(b"\n") or data.endswith(b"\n\n")):
        found.append(f"{path}: expected exactly one newline at the end")
    return found


if __name__ == "__main__":
    faults = [fault for name in sys.argv[1:] for fault in complaints(Path(name))]
    print("\n".join(faults))
    sys.exit(bool(faults))
