"""What a grading met: problems, each with a code for programs and a sentence for people."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kvcourse.course.files import write_atomic


@dataclass(frozen=True)
class Problem:
    """One thing that was not as it should be. `needs_person`: somebody has to look before the score
    stands.
    """

    code: str
    sentence: str
    cell: str = ""
    needs_person: bool = True


@dataclass
class SubmissionReport:
    """One submission: `status` is graded or not-graded; points as the gradebook holds them."""

    student: str
    status: str
    points: float = 0.0
    worth: float = 0.0
    waits: bool = False  # hand-graded cells wait for a person, as they should
    unchanged: bool = False
    problems: list[Problem] = field(default_factory=list)

    @property
    def needs_person(self) -> bool:
        """Whether somebody has to look, beyond the ordinary grading by hand."""
        return self.status != "graded" or any(problem.needs_person for problem in self.problems)


def entries_of(path: Path) -> list[dict[str, Any]]:
    """The submissions of a report that was written before; none where there is no such report."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["submissions"]
        return [entry for entry in found if isinstance(entry["student"], str) and "needs_person" in entry]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def write_report(
    path: Path,
    assignment: str,
    level: str,
    submissions: list[SubmissionReport],
    rest: list[dict[str, Any]],
    **more: Any,
) -> None:
    """Write the machine-readable report of a run: JSON, one object a submission, the oddest facts first.

    `rest`: entries of the report before, kept for students who were not asked for now.
    """
    now = {entry.student for entry in submissions}
    entries = [{**asdict(entry), "needs_person": entry.needs_person} for entry in submissions]
    entries += [entry for entry in rest if entry["student"] not in now]
    body = {
        "assignment": assignment,
        "level": level,
        **more,
        "submissions": sorted(entries, key=lambda entry: (not entry["needs_person"], entry["student"])),
    }
    write_atomic(path, (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode())
