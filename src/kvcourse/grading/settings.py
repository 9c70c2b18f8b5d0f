"""How a run grades, and what it came to."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from kvcourse.checks.seed import class_seed
from kvcourse.grading.report import SubmissionReport
from kvcourse.grading.runner import Usage


@dataclass(frozen=True)
class Settings:
    """How a run grades."""

    level: str = "hardened"
    force: bool = False
    workers: int = 1
    cell_seconds: float = 30.0
    total_seconds: float = 300.0
    students: tuple[str, ...] = ()
    seed: str | None = None  # the class's seed; None looks for it as hidden tests do
    scheduler: str | None = None  # a Dask scheduler's address; None runs the cells on this machine


@dataclass
class Summary:
    """What a run came to: one report a submission, in the order of the students' names."""

    assignment: str
    level: str
    submissions: list[SubmissionReport] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    run_seconds: float = 0.0  # from the first submission that runs to the last, starting the zygote left out
    machines: list[str] = field(default_factory=list)  # of the workers, where there are more than this one

    @property
    def needs_person(self) -> bool:
        """Whether somebody has to look at a submission."""
        return any(entry.needs_person for entry in self.submissions)


def seed_of(root: Path) -> str:
    """The class's seed, as the course folder has it."""
    here = Path.cwd()
    try:
        os.chdir(root)
        return class_seed()
    finally:
        os.chdir(here)
