"""Reading hand-ins: whatever lies there, it is read, or refused in one sentence."""

import json
import os

import pytest

from kvcourse.grading import tree
from kvcourse.grading.storage import folder_digest
from kvcourse.grading.submission import NotGradable, SubmittedCell, cells_of, parse_notebook, read_submission

CELL = {"cell_type": "code", "source": "x = 1", "metadata": {"nbgrader": {"grade_id": "q1"}}}
BOOK = json.dumps({"nbformat": 4, "metadata": {"kvcourse": {"version": 3}}, "cells": [CELL]}).encode()


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "a1"
    place.mkdir()
    return place


def refused(folder) -> str:
    with pytest.raises(NotGradable) as caught:
        read_submission(folder, "a1")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    return caught.value.code


def test_a_notebook_is_read(folder):
    (folder / "a1.ipynb").write_bytes(BOOK)
    (folder / "data").mkdir()
    (folder / "data" / "t.txt").write_text("1")
    got = read_submission(folder, "a1")
    assert got.cells == [SubmittedCell("code", "x = 1", "q1")] and got.version == 3
    assert got.files == {"data/t.txt": b"1"} and not got.problems


@pytest.mark.parametrize("name", ["A1.ipynb", "a1 (2).ipynb", "a1.IPYNB"])
def test_the_only_notebook_of_another_name_is_graded_and_reported(folder, name):
    (folder / name).write_bytes(BOOK)
    assert [problem.code for problem in read_submission(folder, "a1").problems] == ["renamed-file"]


def test_of_several_notebooks_only_the_right_name_counts(folder):
    (folder / "x.ipynb").write_bytes(BOOK)
    (folder / "y.ipynb").write_bytes(BOOK)
    assert refused(folder) == "no-notebook"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty-file"),
        (b"  \n", "empty-file"),
        (b"{", "bad-json"),
        (b"[" * 200_000, "bad-json"),
        (b"9" * 100_000, "bad-json"),
        (b"\xff\xfe\xff", "bad-encoding"),
        (b"\xe9", "bad-encoding"),
        (b"[]", "bad-notebook"),
        (b"null", "bad-notebook"),
        (b'{"cells": {}}', "bad-notebook"),
        (b'{"worksheets": 3}', "bad-notebook"),
        (json.dumps({"cells": [CELL] * 3001}).encode(), "too-many-cells"),
    ],
)
def test_what_is_no_notebook_is_refused(folder, data, code):
    (folder / "a1.ipynb").write_bytes(data)
    assert refused(folder) == code


def test_links_pipes_and_large_files_are_not_read(folder, tmp_path):
    (tmp_path / "secret").write_bytes(BOOK)
    (folder / "a1.ipynb").symlink_to(tmp_path / "secret")
    assert refused(folder) == "symbolic-link"
    (folder / "a1.ipynb").unlink()
    os.mkfifo(folder / "a1.ipynb")
    assert refused(folder) == "not-a-file"
    (folder / "a1.ipynb").unlink()
    with (folder / "a1.ipynb").open("wb") as stream:
        stream.truncate(21 << 20)
    assert refused(folder) == "too-large"
    (folder / "a1.ipynb").unlink()
    (folder / "a1.ipynb").mkdir()
    assert refused(folder) == "not-a-file"


def test_further_files_stay_within_the_folder(folder, tmp_path):
    (folder / "a1.ipynb").write_bytes(BOOK)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret" / "s.txt")
    (folder / "folder").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    with (folder / "large").open("wb") as stream:
        stream.truncate(9 << 20)
    (folder / "kept.py").write_text("x")
    got = read_submission(folder, "a1")
    assert got.files == {"kept.py": b"x"} and len(got.problems) == 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_a_mark_are_read(encoding):
    text = json.dumps({"cells": [{**CELL, "source": "é = '😀'"}]}, ensure_ascii=False)
    assert cells_of(parse_notebook(text.encode(encoding)))[0].source == "é = '😀'"


@pytest.mark.parametrize(
    "cell",
    [{}, {"source": 3}, {"source": [1, None]}, {"metadata": []}, {"metadata": {"nbgrader": 3}},
     {"cell_type": []},
     {"metadata": {"nbgrader": {"grade_id": "x" * 500}}}, {"metadata": {"tags": [3]}}, {"id": 7}],
)  # fmt: skip
def test_a_cell_of_another_form_is_a_cell_with_less_in_it(cell):
    (got,) = cells_of({"cells": [cell]})
    assert got.source == "" and got.grade_id == "" and got.id == "" and got.tags == ()


def test_what_lies_too_deep_or_beyond_the_count_is_left_out_with_a_line(folder, monkeypatch):
    (folder / "a1.ipynb").write_bytes(BOOK)
    deep = folder.joinpath(*"abcdefghijklmnopqrst")
    deep.mkdir(parents=True)
    (deep / "t.txt").write_text("deep")
    (folder / "a" / "t.txt").write_text("flat")
    got = read_submission(folder, "a1")
    assert list(got.files) == ["a/t.txt"] and [problem.code for problem in got.problems] == ["file-left-out"]
    monkeypatch.setattr(tree, "MAX_ENTRIES", 4)
    assert list(read_submission(folder, "a1").files) == ["a/t.txt"]
    for number in range(3):
        (folder / f"{number}.txt").write_text("x")
    assert refused(folder) == "too-many-files"


def test_many_files_that_are_left_out_are_a_few_lines(folder):
    (folder / "a1.ipynb").write_bytes(BOOK)
    for number in range(50):
        (folder / f"{number}.txt").symlink_to("/etc/passwd")
    problems = read_submission(folder, "a1").problems
    assert len(problems) == 21 and problems[-1].sentence == "30 more files were left out."


def test_the_digest_knows_each_name_and_content_and_follows_no_link(folder):
    seen = {folder_digest(folder)}
    (folder / "b").mkdir()
    seen.add(folder_digest(folder))
    (folder / "b" / "t.txt").write_text("1")
    seen.add(folder_digest(folder))
    (folder / "b" / "t.txt").write_text("2")
    seen.add(folder_digest(folder))
    (folder / "c").symlink_to("b")
    seen.add(folder_digest(folder))
    assert len(seen) == 5 and folder_digest(folder) in seen
