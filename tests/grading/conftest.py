"""A running zygote, notebooks of one or two cells to run in it, and a course folder to grade."""

import shutil
from pathlib import Path

import pytest
from made_masters import SETUP, make_master
from postgres import server  # noqa: F401  (a fixture)

from kvcourse.course.authoring import released_notebook
from kvcourse.course.bank import read_bank
from kvcourse.course.files import CONFIG
from kvcourse.course.source import read_source
from kvcourse.grading import sandbox
from kvcourse.grading.assignment import open_course, read_assignment, register
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.gradebook import open_gradebook
from kvcourse.grading.launcher import Zygote
from kvcourse.grading.outcome import score
from kvcourse.grading.plan import make_plan
from kvcourse.grading.runner import Job, Runner
from kvcourse.grading.submission import cells_of

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "course" / "fixtures"


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
        with Runner(zygote) as runner:
            return {outcome.key: outcome for outcome in runner.run(job)}

    return run_cells


@pytest.fixture(scope="session")
def points(run_cells):
    """The points of one test cell of 2."""

    def points(answer, test, **more):
        return score(run_cells(answer, test, **more)["test"], 2.0)[0]

    return points


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The tiny assignment's source, release, and reference answers."""
    root = tmp_path_factory.mktemp("tiny")
    shutil.copy(ROOT / CONFIG, root)
    shutil.copytree(FIXTURES / "tiny", root / "solutions" / "tiny")
    source = read_source(root / "solutions" / "tiny" / "tiny.md")
    bank = read_bank(FIXTURES / "answers" / "tiny", source)
    answers = {k: v for listed in bank.answers.values() for k, v in listed[0].sources.items()}
    release = released_notebook(root, "tiny")
    course = open_course(root)
    open_gradebook(course.url).close()
    register(course, read_assignment(course, "tiny"))
    return root, release, answers


@pytest.fixture
def course(tmp_path, tiny):
    """A course folder in which nobody handed anything in, with a gradebook that knows the assignment."""
    shutil.copytree(tiny[0], tmp_path / "course", ignore=shutil.ignore_patterns("build", "*.ipynb"))
    return tmp_path / "course"


@pytest.fixture
def grade(zygote, level):
    """Grade a course folder, with the processes that run already."""

    def grade(course, **more):
        return grade_assignment(open_course(course), "tiny", Settings(level, **more), zygote=zygote)

    return grade
