"""A source notebook edited in JupyterLab: never overwritten, and written back to the text without loss."""

import nbformat
import pytest
from course_files import snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from kvcourse.course.authoring import release
from kvcourse.course.files import CourseError
from kvcourse.course.source import content_hash, notebook_bytes, read_myst, set_cell_ids
from kvcourse.course.to_text import _body, to_text


@pytest.fixture
def in_lab(course):
    """Release, then change the source notebook as JupyterLab would: in_lab(function of the notebook)."""
    release(course)
    path = course / "solutions" / "tiny" / "tiny.ipynb"

    def change(how):
        notebook = nbformat.read(path, as_version=4)
        how(notebook)
        notebook.metadata["language_info"] = {"name": "python", "version": "3.11.7"}  # JupyterLab adds this
        nbformat.write(notebook, path)
        return path

    return change


def cell(notebook, grade_id):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def rewrite(notebook):
    cell(notebook, "q1-visible")["source"] += "\nassert pages(1, 16) == 1"


def more_points(notebook):
    cell(notebook, "q1-visible").metadata.nbgrader["points"] = 7


@pytest.mark.parametrize("how", [rewrite, more_points, lambda notebook: notebook.cells.pop(2)])
def test_an_edit_stops_the_release_with_the_command_back(course, in_lab, how):
    path = in_lab(how)
    before = snapshot(course)
    with pytest.raises(CourseError, match=r"edited in JupyterLab .*python -m kvcourse.course to-text tiny"):
        release(course)
    assert snapshot(course) == before and path.exists()


def test_outputs_and_jupyterlabs_own_metadata_are_no_edit(course, in_lab):
    def run(notebook):
        for number, one in enumerate(c for c in notebook.cells if c.cell_type == "code"):
            one["execution_count"] = number
            one["outputs"] = [nbformat.v4.new_output("stream", text="hello")]
            one.metadata["editable"] = True

    path = in_lab(run)
    kept = path.read_bytes()
    assert not release(course)[0].changed
    assert path.read_bytes() == kept  # what it printed stays, too
    assert b"hello" not in (course / "exercises" / "tiny" / "tiny.ipynb").read_bytes()


def test_a_changed_text_replaces_an_unedited_notebook(course, in_lab, edit):
    path = in_lab(lambda notebook: None)
    edit("Three problems", "Three small problems")
    release(course)
    assert "Three small problems" in path.read_text()


def test_edits_go_back_to_the_text_and_from_there_to_the_release(course, in_lab):
    text = course / "solutions" / "tiny" / "tiny.md"
    before = text.read_text()
    in_lab(rewrite)
    assert to_text(course, "tiny") == text
    after = text.read_text()
    wanted = 'rounding down."\n', 'rounding down."\nassert pages(1, 16) == 1\n'
    assert after == before.replace(*wanted)  # this line and no other
    assert release(course)[0].changed
    assert "pages(1, 16) == 1" in (course / "exercises" / "tiny" / "tiny.ipynb").read_text()


def test_without_an_edit_the_text_keeps_every_byte(course, in_lab):
    text = course / "solutions" / "tiny" / "tiny.md"
    before = text.read_bytes()
    in_lab(lambda notebook: None)
    to_text(course, "tiny")
    assert text.read_bytes() == before
    assert not release(course)[0].changed


def test_edits_of_both_are_refused(course, in_lab, edit):
    in_lab(rewrite)
    edit("Three problems", "Three small problems")
    before = snapshot(course)
    with pytest.raises(CourseError, match=r"tiny.md changed too since tiny.ipynb was made from it"):
        to_text(course, "tiny")
    with pytest.raises(CourseError, match="edited in JupyterLab"):
        release(course)
    assert snapshot(course) == before


def test_an_edit_that_spoils_the_assignment_is_not_written(course, in_lab):
    in_lab(lambda notebook: cell(notebook, "q1-hidden").metadata.nbgrader.update(grade_id="q1-visible"))
    before = snapshot(course)
    with pytest.raises(CourseError, match="expected each grade id once"):
        to_text(course, "tiny")
    assert snapshot(course) == before


def test_what_a_text_cannot_hold_is_refused(course, in_lab):
    """A line of +++ would part the cell in two when the text is read again."""
    in_lab(lambda notebook: notebook.cells[0].update(source="# A tiny assignment\n\n+++\n\nmore"))
    before = snapshot(course)
    with pytest.raises(CourseError, match="cell 1 of the notebook cannot be written as MyST text"):
        to_text(course, "tiny")
    assert snapshot(course) == before


def test_a_notebook_that_is_none_is_one_sentence(course):
    release(course)
    (course / "solutions" / "tiny" / "tiny.ipynb").write_text("{")
    for call in (lambda: to_text(course, "tiny"), lambda: release(course)):
        with pytest.raises(CourseError, match=r"tiny.ipynb: expected a Jupyter notebook"):
            call()


LINES = st.lists(
    st.sampled_from(
        [
            "x = 1",
            "",
            "# %% a",
            "+++",
            "    y",
            "```",
            "````{note}",
            "---",
            ":tags: [a]",
            "$x$",
            "é ✓",
            "\\",
            "{%",
        ]
    ),
    max_size=6,
).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.booleans(), LINES, st.sampled_from([{}, {"tags": ["a b"]}])), max_size=5))
def test_what_is_written_reads_back_the_same_or_is_noticed(tmp_path_factory, cells):
    """Any cells: the text gives the same notebook again, or the content hash tells (and to-text refuses)."""
    notebook = new_notebook(
        cells=[
            (new_code_cell if code else new_markdown_cell)(source, metadata=meta)
            for code, source, meta in cells
        ]
    )
    path = tmp_path_factory.mktemp("text") / "x.md"
    path.write_text(
        "---\njupytext: {text_representation: {format_name: myst}}\n---\n\n" + _body(notebook, "")
    )
    try:
        again = read_myst(path)
    except CourseError:
        return
    same = [(c.cell_type, c.source.strip("\n"), c.metadata.get("tags", [])) for c in again.cells] == [
        (c.cell_type, c.source.strip("\n"), c.metadata.get("tags", [])) for c in notebook.cells
    ]
    assert (content_hash(again) == content_hash(notebook)) <= same


@given(st.lists(st.sampled_from(["a", "b", "q1"]), max_size=6))
def test_cell_ids_are_valid_unique_and_the_same_every_time(sources):
    def build():
        notebook = new_notebook(cells=[new_markdown_cell(source) for source in sources])
        for one in notebook.cells:
            if one.source == "q1":
                one.metadata["nbgrader"] = {"grade_id": "q1"}
        set_cell_ids(notebook)
        return notebook

    first = build()
    nbformat.validate(first)
    assert len({c.id for c in first.cells}) == len(first.cells)
    assert notebook_bytes(first) == notebook_bytes(build())
