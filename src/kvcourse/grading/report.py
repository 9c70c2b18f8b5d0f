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


def write_report(
    path: Path, assignment: str, level: str, submissions: list[SubmissionReport], **more: Any
) -> None:
    """Write the machine-readable report of a run: JSON, one object a submission, the oddest facts first."""
    body = {
        "assignment": assignment,
        "level": level,
        **more,
        "submissions": [
            {**asdict(entry), "needs_person": entry.needs_person}
            for entry in sorted(submissions, key=lambda entry: (not entry.needs_person, entry.student))
        ],
    }
    write_atomic(path, (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode())
