"""Learners' copies: copied once, never overwritten, newer releases beside them."""

import json

import pytest
from course_files import contents, snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvcourse.course.files import CourseError
from kvcourse.course.work import copy_work

CHAPTER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A chapter

```{figure} figures/pages.svg
Pages.
```

![Blocks](figures/blocks.svg) and ![elsewhere](https://example.org/x.svg)

```{code-cell} ipython3
print(1)
```
"""


def put_release(root, version=1, text="as released", name="tiny"):
    notebook = {"cells": [], "metadata": {"kvcourse": {"assignment": name, "version": version}}, "text": text}
    path = root / "exercises" / name / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))
    return path.read_bytes()


@pytest.fixture
def root(tmp_path):
    put_release(tmp_path)
    return tmp_path


def test_releases_are_copied_once(root):
    assert copy_work(root) == ["work/tiny/tiny.ipynb: copied."]
    before = snapshot(root)
    assert copy_work(root) == []
    assert snapshot(root) == before


def test_work_is_never_overwritten(root):
    copy_work(root)
    mine = root / "work" / "tiny" / "tiny.ipynb"
    mine.write_text(mine.read_text().replace("as released", "my work"))
    kept = mine.read_bytes()
    newer = put_release(root, version=2, text="better")
    said = copy_work(root)
    assert said == [
        "work/tiny/tiny.ipynb: yours stays as it is; a newer release lies beside it as tiny.new.ipynb "
        "(version 2; yours is version 1)."
    ]
    assert mine.read_bytes() == kept
    assert mine.with_name("tiny.new.ipynb").read_bytes() == newer
    assert copy_work(root) == []


def test_a_release_after_the_next_replaces_only_an_untouched_new_one(root):
    copy_work(root)
    beside = root / "work" / "tiny" / "tiny.new.ipynb"
    put_release(root, 2)
    copy_work(root)
    third = put_release(root, 3)
    assert "tiny.new.ipynb (version 3; yours is version 1)" in copy_work(root)[0]
    assert beside.read_bytes() == third
    beside.write_text("moved on to this one")
    fourth = put_release(root, 4)
    assert "tiny.new2.ipynb" in copy_work(root)[0]
    assert beside.read_text() == "moved on to this one"
    assert beside.with_name("tiny.new2.ipynb").read_bytes() == fourth


def test_a_deleted_copy_comes_back(root):
    copy_work(root)
    (root / "work" / "tiny" / "tiny.ipynb").unlink()
    assert copy_work(root) == ["work/tiny/tiny.ipynb: copied."]


def test_a_lost_record_takes_work_on_the_same_version_for_work(root):
    copy_work(root)
    mine = root / "work" / "tiny" / "tiny.ipynb"
    mine.write_text(mine.read_text().replace("as released", "my work"))
    for damage in (None, "", "[]"):
        record = root / "work" / ".copied.json"
        record.unlink() if damage is None else record.write_text(damage)
        assert copy_work(root) == []
    put_release(root, 2)
    assert "a newer release" in copy_work(root)[0]


def test_without_a_record_only_another_release_counts_as_newer(root):
    copy_work(root)
    mine = root / "work" / "tiny" / "tiny.ipynb"
    (root / "work" / ".copied.json").unlink()
    newer = put_release(root, 2)
    assert "a newer release lies beside it as tiny.new.ipynb" in copy_work(root)[0]
    mine.write_bytes(newer)  # the learner took it
    mine.with_name("tiny.new.ipynb").unlink()
    mine.write_bytes(put_release(root, 3))  # and this one by hand
    assert copy_work(root) == [] and sorted(p.name for p in mine.parent.iterdir()) == ["tiny.ipynb"]


def test_chapters_become_notebooks_with_their_figures(root):
    book = root / "book"
    (book / "figures").mkdir(parents=True)
    (book / "figures" / "pages.svg").write_text("<svg/>")
    (book / "figures" / "blocks.svg").write_text("<svg></svg>")
    (book / "ch01.md").write_text(CHAPTER)
    (book / "field-guide.md").write_text(CHAPTER)
    (book / "glossary.md").write_text("# no chapter\n")
    said = copy_work(root)
    made = contents(root / "work" / "book")
    assert sorted(made) == ["ch01.ipynb", "field-guide.ipynb", "figures/blocks.svg", "figures/pages.svg"]
    assert len(said) == 5
    notebook = json.loads(made["ch01.ipynb"])
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown", "code"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    (root / "work" / "book" / "ch01.ipynb").write_text("annotated")
    (book / "ch01.md").write_text(CHAPTER + "\nMore.\n")
    assert "ch01.new.ipynb" in copy_work(root)[0]
    assert (root / "work" / "book" / "ch01.ipynb").read_text() == "annotated"


def test_a_folder_that_is_no_course_is_one_sentence(tmp_path):
    with pytest.raises(CourseError, match="expected releases in"):
        copy_work(tmp_path)


STEPS = st.lists(
    st.sampled_from(["release", "edit", "edit new", "delete", "forget", "make lab"]), max_size=12
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_no_order_of_events_loses_what_a_learner_wrote(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("course")
    put_release(root)
    version, written = 1, set()
    for number, step in enumerate([*steps, "make lab"]):
        copies = sorted((root / "work" / "tiny").glob("*.ipynb")) if (root / "work").exists() else []
        if step == "release":
            version += 1
            put_release(root, version)
        elif step.startswith("edit") and copies:
            path = copies[0] if step == "edit" else copies[-1]
            written.discard(path.read_text())
            text = json.loads(path.read_text()) | {"text": f"mine {number}"}
            path.write_text(json.dumps(text))
            written.add(path.read_text())
        elif step == "delete" and copies:
            written.discard(copies[0].read_text())
            copies[0].unlink()
        elif step == "forget":
            (root / "work" / ".copied.json").unlink(missing_ok=True)
        elif step == "make lab":
            copy_work(root)
        now = {path.read_text() for path in (root / "work").rglob("*.ipynb")}
        assert written <= now
