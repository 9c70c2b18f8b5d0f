"""nbgrader's Validate, as JupyterLab's button calls it, on a release: untouched, and solved."""

import subprocess
import sys

import nbformat
import pytest
from course_files import REPO

from kvcourse.course.authoring import release
from kvcourse.course.bank import filled_in, reference_sources
from kvcourse.course.source import assignments, read_source, source_text


@pytest.fixture
def validate(course, monkeypatch):
    """Validate a learner's notebook with the course's settings: validate(notebook) -> nbgrader's results."""
    from nbgrader.server_extensions.validate_assignment.handlers import ValidateAssignmentHandler
    from nbgrader.validator import Validator

    release(course)

    def run(notebook):
        path = course / "work.ipynb"
        nbformat.write(notebook, path)
        monkeypatch.chdir(course)  # JupyterLab's folder: where the button looks for nbgrader_config.py
        config = ValidateAssignmentHandler.load_config(None)
        assert config.Execute.timeout == 120
        return Validator(config=config).validate(str(path))

    return run


def released(course):
    return nbformat.read(course / "exercises" / "tiny" / "tiny.ipynb", as_version=4)


def solved(course):
    return filled_in(released(course), reference_sources(read_source(source_text(course, "tiny"))))


def test_untouched_release_fails_and_says_which_cells_and_why(course, validate):
    failed = validate(released(course))["failed"]
    assert [cell["source"].split("\n")[0] for cell in failed] == [
        "got = pages(33, 16)",
        'assert first([7, 8]) == 7, "first([7, 8]): expected 7"',
        "YOUR ANSWER HERE",
        'assert unused == 15, f"unused: expected 15, got {unused}"',
    ]
    assert "Problem q1: pages is not written yet" in failed[0]["raw_error"]


def test_solved_release_passes(course, validate):
    assert validate(solved(course)) == {}


def test_a_changed_check_is_named(course, validate):
    notebook = solved(course)
    next(c for c in notebook.cells if c.get("id") == "q1-visible").source = "pass"
    assert validate(notebook) == {"changed": [{"source": "pass"}]}


@pytest.mark.full
@pytest.mark.parametrize("assignment", assignments(REPO))
def test_the_courses_own_releases_validate_when_solved_and_only_then(assignment, tmp_path, monkeypatch):
    """Every check that a learner sees can be passed, and each visible one fails on what was released."""
    from nbgrader.validator import Validator
    from traitlets.config import PyFileConfigLoader

    release = nbformat.read(REPO / "exercises" / assignment / f"{assignment}.ipynb", as_version=4)
    source = read_source(source_text(REPO, assignment))
    validator = Validator(config=PyFileConfigLoader("nbgrader_config.py", path=str(REPO)).load_config())
    found = {}
    for name, notebook in {
        "solved": filled_in(release, reference_sources(source)),
        "untouched": release,
    }.items():
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
        found[name] = validator.validate(str(tmp_path / f"{name}.ipynb"))
    assert found["solved"] == {}
    failed = {cell["source"] for cell in found["untouched"]["failed"]}
    graded = [c for c in release.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert failed == {c.source.strip() for c in graded if c.source.strip()}


@pytest.mark.full
def test_the_command_says_success_and_its_status_says_nothing(course):
    """`nbgrader validate` exits 0 either way; only its words tell."""
    release(course)
    said = {}
    for name, notebook in {"untouched": released(course), "solved": solved(course)}.items():
        nbformat.write(notebook, course / f"{name}.ipynb")
        command = [sys.executable, "-m", "nbgrader", "validate", f"{name}.ipynb"]
        ran = subprocess.run(command, cwd=course, capture_output=True, text=True)
        assert ran.returncode == 0
        said[name] = ran.stdout
    assert "VALIDATION FAILED ON 4 CELL(S)" in said["untouched"] and "Success!" not in said["untouched"]
    assert "Success! Your notebook passes all the tests." in said["solved"]
