"""A running zygote, and notebooks of one or two cells to run in it."""

import pytest
from made_masters import SETUP, make_master

from kvcourse.grading import sandbox
from kvcourse.grading.launcher import Zygote
from kvcourse.grading.outcome import score
from kvcourse.grading.plan import make_plan
from kvcourse.grading.runner import Job, run
from kvcourse.grading.submission import cells_of


@pytest.fixture(scope="session")
def level():
    """The level that this machine gives."""
    return "basic" if sandbox.missing() else "hardened"


@pytest.fixture(scope="session")
def zygote(level):
    """A fork server at that level."""
    with Zygote(level, ["kvcourse.checks.markers"]) as running:
        yield running


@pytest.fixture(scope="session")
def run_cells(zygote):
    """Run test cells against an answer; the outcomes by cell. `reference` binds the names that tests
    may use.
    """

    def run_cells(
        answer, tests, reference=None, cell_seconds=5.0, files=None, total_seconds=60.0, setup=SETUP
    ):
        tests = tests if isinstance(tests, dict) else {"test": tests}
        master = make_master(tests, reference or answer, setup)
        submitted = make_master(tests, answer, setup)
        plan = make_plan(master, cells_of(submitted))
        job = Job(
            plan.jobs(), plan.exports, files or {}, cell_seconds=cell_seconds, total_seconds=total_seconds
        )
        outcomes, _ = run(zygote, job)
        return {outcome.key: outcome for outcome in outcomes}

    return run_cells


@pytest.fixture(scope="session")
def points(run_cells):
    """The points of one test cell of 2."""

    def points(answer, test, **more):
        return score(run_cells(answer, test, **more)["test"], 2.0)[0]

    return points
