"""What a release must not show: solutions, hidden tests, marking schemes, model answers.

Read here on our own terms, not with nbgrader's code, so that a release is checked by something that cannot
share its slips.
"""

import re
from collections.abc import Iterable

from kvcourse.course.files import CourseError

EXPLANATION = (
    "why"  # tag of a text cell that says why the usual wrong answer fails: for the solutions' page only
)
KINDS = ("SOLUTION", "HIDDEN TESTS", "MARK SCHEME", "EXPLANATION")
MARKER = re.compile(r"\b(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)\b")
# As a line of a program or of a text: nothing before the marker but comment signs.
MARKER_LINE = re.compile(
    r"^[\s#/%*<!>-]*\b(?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS|MARK SCHEME)\b", re.MULTILINE
)
SHORTEST = 12  # letters, digits and signs; `return total` says nothing, a test's assertion does
EVERYWHERE = re.compile(r"(import|from)\s|(def|class)\s.*:$|[\W\d_]*$")


def split_regions(source: str, where: str = "a cell") -> tuple[str, dict[str, str]]:
    """Return what a cell shows, and its cleared text by kind (`SOLUTION`, `HIDDEN TESTS`, `MARK SCHEME`)."""
    if not MARKER.search(source):
        return source, {}
    shown: list[str] = []
    cleared: dict[str, list[str]] = {}
    inside = None
    for line in source.split("\n"):
        marker = MARKER.search(line)
        if not marker:
            (shown if inside is None else cleared[inside]).append(line)
        elif marker[1] == "BEGIN" and inside is None:
            inside = marker[2]
            cleared.setdefault(inside, [])
        elif marker[1] == "END" and inside == marker[2]:
            inside = None
        else:
            state = f"inside BEGIN {inside}" if inside else "outside any region"
            raise CourseError(f"{where}: expected matching BEGIN and END markers, got '{marker[0]}' {state}.")
    if inside is not None:
        raise CourseError(f"{where}: expected END {inside} before the cell ends.")
    return "\n".join(shown), {kind: "\n".join(lines) for kind, lines in cleared.items()}


def secret_lines(notebook, kinds: Iterable[str] = KINDS) -> dict[str, str]:
    """Return each line that only an instructor may see, with the kind of region and the cell it stands in.

    Lines that the notebook shows elsewhere, imports, bare definitions and very short lines are no secret.
    """
    shown: set[str] = set()
    secrets: dict[str, str] = {}
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        name = meta.get("grade_id", "a cell without a grade id")
        visible, cleared = split_regions(cell.source, f"cell {name}")
        if meta.get("solution") and "SOLUTION" not in cleared:  # nbgrader then replaces the whole cell
            visible, cleared = "", {**cleared, "SOLUTION": cell.source}
        if EXPLANATION in cell.metadata.get("tags", []):
            name, visible, cleared = "tagged why", "", {"EXPLANATION": cell.source}
        shown.update(line.strip() for line in visible.split("\n"))
        for kind in set(kinds).intersection(cleared):
            for line in cleared[kind].split("\n"):
                secrets.setdefault(line.strip(), f"{kind.lower()} of cell {name}")
    return {
        line: where
        for line, where in secrets.items()
        if line not in shown and len(line.replace(" ", "")) >= SHORTEST and not EVERYWHERE.match(line)
    }


def find_secrets(text: str, secrets: dict[str, str]) -> list[str]:
    """Return a description of each secret line and each marker that stands as a line of `text`."""
    found = [f"the marker '{match[0].strip()}'" for match in MARKER_LINE.finditer(text)]
    lines = {line.strip() for line in text.split("\n")}
    return found + [f"a line of the {secrets[line]}: {line}" for line in secrets if line in lines]


def notebook_text(notebook) -> str:
    """Return every string of a notebook (sources, outputs, metadata), one after the other."""

    def strings(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, item in value.items():
                yield key
                yield from strings(item)
        elif isinstance(value, list):
            if value and all(isinstance(item, str) for item in value):
                yield "".join(value)  # nbformat writes texts as lists of lines
            for item in value:
                yield from strings(item)

    return "\n".join(strings(notebook))
