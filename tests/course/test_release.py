"""Releases: what is in them, what must not be, what is refused, and that nothing is half-written."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from course_files import REPO, contents, snapshot

from kvcourse.course import authoring
from kvcourse.course.authoring import release
from kvcourse.course.files import CourseError

HIDDEN_LINE = "assert pages(tokens_of_hidden_test, 16) == math.ceil(tokens_of_hidden_test / 16)"


def released(course):
    return nbformat.read(course / "exercises" / "tiny" / "tiny.ipynb", as_version=4)


def cells(notebook):
    return {c.metadata.nbgrader["grade_id"]: c for c in notebook.cells if "nbgrader" in c.metadata}


def test_release_holds_stubs_and_visible_tests_and_nothing_secret(course):
    release(course)
    raw = (course / "exercises" / "tiny" / "tiny.ipynb").read_text()
    for secret in (
        "BEGIN",
        "END ",
        "hidden_test",
        "divmod",
        "Model answer",
        "unused = 15",
        "Rounding down forgets",
        "first([]) is not None",
    ):
        assert secret not in raw, secret
    found = cells(released(course))
    assert found["q1"].source.endswith(
        '    # YOUR CODE HERE\n    raise NotImplementedError("Problem q1: pages is not written yet")'
    )
    assert "the answer is not written yet" in found["q3"].source
    assert found["q3-sentence"].source == "YOUR ANSWER HERE"
    assert found["q1-hidden"].source == ""
    assert "Often caused by rounding down" in found["q1-visible"].source
    assert released(course).metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "kvcourse": {"assignment": "tiny", "version": 1},
    }


def test_stubs_name_methods_by_their_class(course, edit):
    edit(
        "def first(values):",
        "class Ends:\n    size = 2\n\n    def __init__(self): ...\n\n    def first(self, values):",
    )
    edit("    return values[0] if values else None", "        return values[0] if values else None")
    edit(
        "    ### BEGIN SOLUTION\n        return values[0]",
        "        ### BEGIN SOLUTION\n        return values[0]",
    )
    release(course)
    stub = '        raise NotImplementedError("Problem q2: Ends.first is not written yet")'
    assert stub in cells(released(course))["q2-first"].source.split("\n")


def test_release_is_valid_and_names_its_cells(course):
    release(course)
    notebook = released(course)
    nbformat.validate(notebook)
    assert [cell.id for cell in notebook.cells if "nbgrader" in cell.metadata] == list(cells(notebook))
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_two_releases_are_the_same_bytes_and_the_second_writes_nothing(course):
    first = release(course)
    before = snapshot(course)
    second = release(course)
    assert first[0].changed and not second[0].changed and second[0].summary == first[0].summary
    assert snapshot(course) == before
    for path in course.joinpath("build", "releases").iterdir():
        path.unlink()  # without its memory it must come to the same bytes again
    release(course)
    assert contents(course / "exercises") == {
        n[10:]: b for n, (b, _) in before.items() if n.startswith("exercises/")
    }


def test_another_machine_folder_and_home_give_the_same_bytes(course, tmp_path):
    """In another process, with a personal nbgrader configuration that must not count."""
    release(course)
    before = contents(course / "exercises")
    home = tmp_path / "home"
    (home / ".jupyter").mkdir(parents=True)
    (home / ".jupyter" / "nbgrader_config.py").write_text(
        'c.CourseDirectory.release_directory = "elsewhere"\nc.ClearSolutions.text_stub = "?"\n'
    )
    elsewhere = tmp_path / "another place"
    course.rename(elsewhere)
    (elsewhere / "exercises" / "tiny" / "tiny.ipynb").unlink()
    subprocess.run(
        [sys.executable, "-m", "kvcourse.course", "release"],
        cwd=elsewhere / "solutions",
        env={**os.environ, "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / ".jupyter")},
        check=True,
        capture_output=True,
    )
    assert contents(elsewhere / "exercises") == before


def test_stock_command_gives_the_same_release(course):
    """`nbgrader generate_assignment` from the root, as an instructor types it, on the text's notebook."""
    release(course)
    before = contents(course / "exercises")
    subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", "tiny", "--force"],
        cwd=course,
        env={**os.environ, "JUPYTER_NO_CONFIG": "1"},
        check=True,
        capture_output=True,
    )
    assert contents(course / "exercises") == before
    assert (course / "gradebook.db").is_file()  # the instructor's own doing; ours never makes one


def test_root_gradebook_is_never_touched(course):
    release(course)
    assert not list(course.rglob("gradebook.db"))


def test_extra_files_travel_and_texts_and_stale_files_do_not(course):
    folder = course / "solutions" / "tiny"
    (folder / "data").mkdir()
    (folder / "data" / "sizes.csv").write_text("1,2\n")
    (folder / "notes.md").write_text("for instructors")
    stale = course / "exercises" / "tiny" / "old.txt"
    stale.parent.mkdir(parents=True)
    stale.write_text("from an earlier release")
    release(course)
    assert sorted(contents(course / "exercises")) == ["tiny/data/sizes.csv", "tiny/tiny.ipynb"]


def test_only_what_differs_is_replaced(course, edit):
    release(course)
    (course / "solutions" / "tiny" / "data.csv").write_text("1\n")
    release(course)
    csv = course / "exercises" / "tiny" / "data.csv"
    before = csv.stat().st_mtime_ns
    edit("Three problems", "Three small problems")
    release(course)
    assert csv.stat().st_mtime_ns == before
    assert "Three small problems" in (course / "exercises" / "tiny" / "tiny.ipynb").read_text()


def test_a_leak_stops_the_release(course, monkeypatch):
    """As if nbgrader had cleared nothing: the check must not rest on nbgrader's own care."""
    release(course)
    before = contents(course / "exercises")
    clear_nothing = (
        (course / "nbgrader_config.py")
        .read_text()
        .replace('    "nbgrader.preprocessors.ClearHiddenTests",\n', "")
    )
    (course / "nbgrader_config.py").write_text(clear_nothing)
    with pytest.raises(CourseError, match=r"tiny.ipynb of the release would show"):
        release(course)
    assert contents(course / "exercises") == before
    assert sorted(p.name for p in (course / "build").iterdir()) == ["releases"]


def test_a_hidden_line_in_an_extra_file_stops_the_release(course):
    (course / "solutions" / "tiny" / "helper.py").write_text(f"import math\n    {HIDDEN_LINE}\n")
    with pytest.raises(
        CourseError, match=r"helper.py of the release would show a line of the hidden tests of cell q1-hidden"
    ):
        release(course)
    assert not (course / "exercises").exists()


def test_a_text_that_would_be_released_stops_the_release(course):
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text().replace(', "*.md"]', "]"))
    (course / "solutions" / "tiny" / "key.txt").write_text("x\n")
    monkey = course / "solutions" / "tiny" / "notes.markdown"
    monkey.write_text("### BEGIN SOLUTION\n")
    with pytest.raises(CourseError, match="would show the marker"):
        release(course)


FAULTS = {
    "another assignment's name": (
        "assignment: tiny",
        "assignment: small",
        "expected 'kvcourse: {assignment: tiny",
    ),
    "no version": (", version: 1", "", "expected a version of 1 or more"),
    "a version that is a text": ("version: 1", 'version: "1"', "expected a version of 1 or more"),
    "a kernel of another language": ("name: python3", "name: ir", "expected kernelspec python3"),
    "broken YAML": ("kvcourse: {", "kvcourse: {{", "not a MyST notebook"),
    "cell metadata that YAML takes for a text": (
        '{"grade": true, "grade_id": "q1-visible"',
        '{"grade": true "grade_id": "q1-visible"',
        "tiny.md",
    ),
    "broken cell metadata": ('"task": false}\n\ngot', '"task": false\n\ngot', "not a MyST notebook"),
    "a grade id twice": ('"q1-hidden"', '"q1-visible"', "expected each grade id once"),
    "a graded cell outside problems": ('"q1-hidden"', '"hidden"', "expected a grade id such as q2"),
    "no points": (
        '"q1-visible", "locked": true, "points": 2',
        '"q1-visible", "locked": true',
        "expected points, got None",
    ),
    "metadata without a key": (
        '"solution": false, "task": false}\n\ngot',
        '"solution": false}\n\ngot',
        "'task' to be bool",
    ),
    "no end of a solution": (
        "return full + (rest > 0)\n    ### END SOLUTION",
        "return full",
        "expected END SOLUTION",
    ),
    "no end of hidden tests": ("16)\n### END HIDDEN TESTS", "16)", "expected END HIDDEN TESTS"),
    "an end too many": ("import math", "import math\n### END SOLUTION", "outside any region"),
    "a solution in a test cell": (
        "got = pages",
        "### BEGIN SOLUTION\n1\n### END SOLUTION\ngot = pages",
        "a solution stands in",
    ),
    "hidden tests in a solution cell": (
        "unused = ...",
        "### BEGIN HIDDEN TESTS\n1\n### END HIDDEN TESTS\nunused = ...",
        "hidden tests stand in",
    ),
    "a marker in plain text": (
        "Three problems",
        "### BEGIN SOLUTION\nThree",
        "stands in a cell without nbgrader",
    ),
    "a graded cell tagged why": (
        '+++ {"nbgrader": {"grade": true',
        '+++ {"tags": ["why"], "nbgrader": {"grade": true',
        "a cell tagged 'why' must not be one of nbgrader's",
    ),
    "a code cell left open": ("import math\n```", "import math\n", "not closed with"),
    "a written cell that is no solution": (
        '"q3-sentence", "locked": false, "points": 2, "schema_version": 3, "solution": true',
        '"q3-sentence", "locked": false, "points": 2, "schema_version": 3, "solution": false',
        "both a grade and a solution cell",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_text_is_refused_in_one_sentence(course, edit, fault):
    old, new, message = FAULTS[fault]
    edit(old, new)
    with pytest.raises(CourseError) as caught:
        release(course)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not (course / "exercises").exists()


def test_unreadable_sources_are_refused_in_one_sentence(course):
    text = course / "solutions" / "tiny" / "tiny.md"
    text.write_bytes(b"---\n\xff\xfe")
    with pytest.raises(CourseError, match=r"tiny.md: expected UTF-8 text, got the byte at position 4"):
        release(course)
    text.unlink()
    with pytest.raises(CourseError, match=r"expected the assignment's text in solutions/tiny/tiny.md"):
        release(course, ["tiny"])
    with pytest.raises(CourseError, match="expected an assignment's folder in"):
        release(course)
    with pytest.raises(CourseError, match=r"solutions/big/big.md"):
        release(course, ["big"])


def test_what_nbgrader_refuses_is_one_sentence(course, edit):
    edit(
        '"schema_version": 3, "solution": false, "task": false}\n\nimport',
        '"schema_version": 9, "solution": false, "task": false}\n\nimport',
    )
    with pytest.raises(CourseError) as caught:
        release(course)
    assert "\n" not in str(caught.value) and "nbgrader cannot make the release" in str(caught.value)


def test_a_stray_notebook_is_refused(course):
    release(course)
    (course / "solutions" / "tiny" / "draft.ipynb").write_text("{}")
    with pytest.raises(CourseError, match=r"draft.ipynb in solutions/tiny has no text"):
        release(course)


def test_a_damaged_memory_is_no_obstacle(course):
    release(course)
    stamp = course / "build" / "releases" / "tiny.json"
    for damage in ("", "[]", "null", '{"inputs": 1}'):
        stamp.write_text(damage)
        assert not release(course)[0].changed
    assert json.loads(stamp.read_text())["summary"] == "version 1, 3 problems, 12 points (2 by hand)"


def test_an_edited_release_is_made_anew(course):
    release(course)
    notebook = course / "exercises" / "tiny" / "tiny.ipynb"
    good = notebook.read_bytes()
    notebook.write_text("{}")
    assert release(course)[0].changed and notebook.read_bytes() == good


def test_warm_release_imports_no_notebook_tools(course):
    """What makes a second run quick: neither nbgrader nor jupytext is loaded."""
    release(course)
    code = (
        "import sys; from pathlib import Path; from kvcourse.course.authoring import release; "
        f"release(Path({str(course)!r})); "
        "print(sorted({'nbgrader', 'jupytext', 'nbformat', 'torch'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=REPO)
    assert out.stdout.strip() == "[]"


def test_the_course_own_releases_are_those_of_its_sources():
    """The committed exercises/ follow from the committed solutions/, to the byte."""
    for assignment in authoring_names(REPO):
        made = authoring.released_files(REPO, assignment)
        assert contents(REPO / "exercises" / assignment) == made, (
            f"run python -m kvcourse.course release {assignment}"
        )


def authoring_names(root):
    from kvcourse.course.source import assignments

    return assignments(root)
