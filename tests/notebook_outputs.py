"""Pre-commit hook: fail for notebooks that carry outputs or execution counts."""

import json
import sys
from pathlib import Path


def complaints(path: Path) -> list[str]:
    """Return one sentence for each code cell that was saved after a run."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        f"{path}: cell {number} carries outputs; clear them before committing"
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code" and (cell.get("outputs") or cell.get("execution_count"))
    ]


if __name__ == "__main__":
    faults = [fault for name in sys.argv[1:] for fault in complaints(Path(name))]
    print("\n".join(faults))
    sys.exit(bool(faults))
