"""`kvcourse hand-in`: what stops it, what it only says, and that it never changes the notebook."""

import json
import os
import shutil
import sys
import time
import zipfile
from unittest.mock import Mock

import pytest
from course_files import snapshot

from kvcourse.cli import main
from kvcourse.course import earlier_zip
from kvcourse.course.authoring import release
from kvcourse.course.earlier_zip import written
from kvcourse.course.files import CourseError
from kvcourse.course.hand_in import check_folder, hand_in
from kvcourse.course.work import copy_work
from permissions import run_held_back


@pytest.fixture
def untouched(course):
    """A learner's folder as `make lab` leaves it."""
    release(course)
    copy_work(course)
    return course / "work" / "tiny"


@pytest.fixture
def folder(untouched):
    """A learner's folder with an answer in each cell for one."""
    edit(untouched, answer_all)
    return untouched


@pytest.fixture
def change(folder):
    """Change the learner's notebook: change(function of its JSON)."""
    return lambda how: edit(folder, how)


def edit(folder, how):
    path = folder / "tiny.ipynb"
    notebook = json.loads(path.read_text())
    how(notebook)
    path.write_text(json.dumps(notebook))


def at(notebook, grade_id):
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def answer_all(notebook):
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = ["answer = 1"]


def test_zip_has_the_notebook_and_extra_files_in_the_grading_layout(folder, tmp_path):
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "tiny.new.ipynb").write_text("{}")
    (folder / "scratch.ipynb").write_text("{}")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "tiny-checkpoint.ipynb").write_text("{}")
    before = snapshot(folder)
    path = hand_in(folder, tmp_path / "mine.zip")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["tiny/tiny.ipynb", "tiny/helper.py"]
        assert archive.read("tiny/tiny.ipynb") == (folder / "tiny.ipynb").read_bytes()
    assert snapshot(folder) == before
    first = path.read_bytes()
    assert hand_in(folder, tmp_path / "mine.zip").read_bytes() == first
    assert check_folder(folder).notes == [
        "scratch.ipynb: left out; only tiny.ipynb is graded.",
        "tiny.new.ipynb: left out; only tiny.ipynb is graded.",
    ]


def test_command_line(folder, course, change, capsys):
    stub = at(json.loads((course / "exercises" / "tiny" / "tiny.ipynb").read_text()), "q1")["source"]
    change(lambda nb: at(nb, "q1").update(source=stub))
    assert main(["hand-in", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "q1 is as it was released: not answered yet." in out and "tiny.zip: ready to hand in" in out
    assert folder.with_suffix(".zip").is_file()
    change(lambda nb: nb["cells"].append(at(nb, "q1")))
    folder.with_suffix(".zip").unlink()
    assert main(["hand-in", str(folder)]) == 1
    assert "q1 is there 2 times" in capsys.readouterr().out and not folder.with_suffix(".zip").exists()
    assert main(["hand-in", str(folder), "--anyway", "-o", str(folder / "late.zip")]) == 0
    assert (folder / "late.zip").is_file()
    assert "tiny/late.zip" not in check_folder(folder).files
    assert main(["hand-in", str(folder / "nowhere")]) == 2
    assert "expected the folder of an assignment, found nothing" in capsys.readouterr().err


def test_a_notebook_under_another_name_is_handed_in_under_its_own(folder, tmp_path):
    (folder / "tiny.ipynb").rename(folder / "my tiny.ipynb")
    with zipfile.ZipFile(hand_in(folder, tmp_path / "z.zip")) as archive:
        assert archive.namelist() == ["tiny/tiny.ipynb"]
    assert any("handed in as tiny.ipynb" in note for note in check_folder(folder).notes)


PROBLEMS = {
    "missing": (lambda nb: nb["cells"].remove(at(nb, "q1-visible")), "the cell q1-visible is missing"),
    "twice": (lambda nb: nb["cells"].insert(3, at(nb, "q2-first")), "the cell q2-first is there 2 times"),
    "other type": (lambda nb: at(nb, "q1").update(cell_type="markdown"), "q1 became a markdown cell"),
    "none left": (lambda nb: nb["cells"].clear(), "none of the assignment's graded cells"),
}


@pytest.mark.parametrize("fault", PROBLEMS)
def test_problems_stop_it(folder, change, fault):
    how, sentence = PROBLEMS[fault]
    change(how)
    with pytest.raises(CourseError) as caught:
        hand_in(folder)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    assert not folder.with_suffix(".zip").exists()


def test_a_changed_check_and_another_version_are_only_said(folder, change):
    change(lambda nb: at(nb, "q1-visible").update(source=["pass"]))
    assert (
        "q1-visible is a check that was changed; it is graded in its original form."
        in check_folder(folder).notes
    )
    change(lambda nb: nb["metadata"]["kvcourse"].update(version=0))
    check = check_folder(folder)
    assert not check.problems
    assert check.notes == ["tiny.ipynb is version 0, the newest release 1; yours is graded as version 0."]


UNREADABLE = {
    "not JSON": b"nonsense {",
    "empty": b"",
    "other JSON": b"[1]",
    "a number": b"7",
    "JSON without cells": b'{"metadata": {}}',
    "odd cells": b'{"metadata": {"kvcourse": {"assignment": "tiny"}}, "cells": [1]}',
    "odd metadata": b'{"metadata": [], "cells": []}',
    "no assignment": b'{"metadata": {}, "cells": []}',
    "a path for a name": b'{"metadata": {"kvcourse": {"assignment": "../x"}}, "cells": []}',
    "deep": b"[" * 200_000,
    "not UTF-8": b"\xff\xfe{",
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_no_notebook_is_one_sentence(folder, kind):
    (folder / "tiny.ipynb").write_bytes(UNREADABLE[kind])
    with pytest.raises(CourseError) as caught:
        hand_in(folder)
    assert str(caught.value).startswith("tiny.ipynb: ") and "\n" not in str(caught.value)


def test_size_limits_and_empty_folders(folder, tmp_path):
    (folder / "data.bin").write_bytes(b"0" * (10 * 1024**2 + 1))
    with pytest.raises(CourseError, match=r"data.bin: 10 MiB; a file may have at most 10 MiB"):
        hand_in(folder)
    (folder / "data.bin").write_bytes(b"0" * 10 * 1024**2)
    assert not check_folder(folder).problems
    (folder / "tiny.ipynb").write_bytes(b" " * (11 * 1024**2))
    with pytest.raises(CourseError, match=r"tiny.ipynb: 11 MiB; at most 10 MiB are taken: clear its outputs"):
        hand_in(folder)
    with pytest.raises(CourseError, match="expected a notebook in it, found none"):
        hand_in(tmp_path)
    with pytest.raises(CourseError, match="found a file"):
        hand_in(folder / "data.bin")


def test_a_link_out_of_the_folder_is_left_out(folder, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("private")
    (folder / "link.txt").symlink_to(secret)
    check = check_folder(folder)
    assert "tiny/link.txt" not in check.files and any(
        "link to a file outside" in note for note in check.notes
    )


def test_without_a_release_at_hand_it_still_works(folder, tmp_path):
    alone = tmp_path / "alone"
    folder.rename(alone)
    check = check_folder(alone)
    assert not check.problems and "release is not at hand" in check.notes[0]


def one_sentence(capsys, *args) -> str:
    """What the command prints on stderr as it exits 2."""
    assert main(["hand-in", *map(str, args)]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and "Traceback" not in err
    return err


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "broken link"])
def test_a_notebook_that_is_no_regular_file_is_refused(folder, capsys, kind):
    path = folder / "tiny.ipynb"
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "absent.ipynb")
    assert ("cannot be read" if kind == "broken link" else "no regular file") in one_sentence(capsys, folder)


@pytest.mark.parametrize("name", ["\ud800", "a\nb", "a\x00b", "a" * 101])
def test_a_name_that_no_assignment_has_is_refused(folder, change, capsys, name):
    change(lambda nb: nb["metadata"]["kvcourse"].update(assignment=name))
    assert "no name of an assignment" in one_sentence(capsys, folder)
    assert not folder.with_suffix(".zip").exists()


def test_a_file_whose_name_is_no_text_is_left_out_and_said(folder, capsys):
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert main(["hand-in", str(folder)]) == 1
    assert "not UTF-8 text: rename it" in capsys.readouterr().out
    assert main(["hand-in", str(folder), "--anyway"]) == 0
    with zipfile.ZipFile(folder.with_suffix(".zip")) as archive:
        assert archive.namelist() == ["tiny/tiny.ipynb"]


def test_the_zip_never_destroys_anything(folder, tmp_path, capsys):
    (folder / "notes.txt").write_text("mine")
    (tmp_path / "link.zip").symlink_to(folder / "tiny.ipynb")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    before = snapshot(folder)
    for place, sentence in (
        (folder / "tiny.ipynb", "is part of what is handed in"),
        (folder / "notes.txt", "is part of what is handed in"),
        (tmp_path / "link.zip", "is part of what is handed in"),
        (tmp_path / "absent" / "a.zip", "there is no folder"),
        (tmp_path / "pipe", "no regular file"),
        (tmp_path, "no regular file"),
        (tmp_path / "loop", "cannot be followed"),
    ):
        assert sentence in one_sentence(capsys, folder, "-o", place)
    assert snapshot(folder) == before and not (tmp_path / "absent").exists()


# ---- a zip from before ---------------------------------------------------------------------------


def earlier(folder, seconds=1_780_000_000.0):
    """Hand in what is there, long ago; return the zip, its bytes and its date as it must be said."""
    path = hand_in(folder)
    os.utime(path, (seconds, seconds))
    return path, path.read_bytes(), time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def copy_twice(notebook):
    notebook["cells"].append(at(notebook, "q1"))


def test_a_zip_from_before_is_named_where_nothing_was_zipped(folder, change, capsys, tmp_path):
    change(copy_twice)
    assert main(["hand-in", str(folder)]) == 1
    assert capsys.readouterr().out.endswith("with --anyway.\n")  # there is none
    change(lambda nb: nb["cells"].pop())
    path, before, date = earlier(folder)
    change(copy_twice)
    for place in ([], ["-o", str(tmp_path / "new.zip")], ["-o", os.path.relpath(path)]):
        assert main(["hand-in", str(folder), *place]) == 1
        out = capsys.readouterr().out
        last = out.splitlines()[-1]
        assert out.count("was left as it is") == 1
        assert last.endswith(
            f"tiny.zip, written {date}, was left as it is: it does not hold what is here now."
        )
    assert path.read_bytes() == before and not (tmp_path / "new.zip").exists()
    assert main(["hand-in", str(folder), "--anyway"]) == 0
    assert f"; it replaces the one written {date}." in capsys.readouterr().out and path.read_bytes() != before
    assert main(["hand-in", str(folder)]) == 1  # of that very work, problem and all
    assert capsys.readouterr().out.endswith("was left as it is: it holds just what is here now.\n")
    assert main(["hand-in", str(folder), "--anyway"]) == 0
    assert "replaces" not in capsys.readouterr().out


def test_a_zip_from_before_is_named_where_the_work_cannot_be_read(folder, capsys):
    path, before, date = earlier(folder)
    (folder / "tiny.ipynb").write_text("nonsense {")
    assert f"{path}, written {date}, was left as it is: it does not hold" in one_sentence(capsys, folder)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, 0])
def test_an_untouched_notebook_does_not_take_the_place_of_work(folder, course, capsys, version):
    path, before, date = earlier(folder)
    shutil.copy(course / "exercises" / "tiny" / "tiny.ipynb", folder)
    edit(folder, lambda nb: nb["metadata"]["kvcourse"].update(version=version))
    assert main(["hand-in", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "tiny.ipynb: nothing in it is answered" in out and "not answered yet" not in out
    assert "--anyway" in out and f"{path}, written {date}, was left as it is" in out
    assert path.read_bytes() == before
    assert main(["hand-in", str(folder), "--anyway"]) == 0
    assert f"it replaces the one written {date}" in capsys.readouterr().out and path.read_bytes() != before


def test_one_answer_is_enough_even_where_an_untouched_copy_follows(untouched):
    assert any("nothing in it is answered" in problem for problem in check_folder(untouched).problems)
    stub = at(json.loads((untouched / "tiny.ipynb").read_text()), "q1")
    edit(untouched, lambda nb: (at(nb, "q1").update(source=["answer = 1"]), nb["cells"].append(stub)))
    problems = check_folder(untouched).problems
    assert [problem for problem in problems if "2 times" in problem] == problems != []


def test_a_zip_dated_later_than_now_is_as_old_as_what_it_holds(folder, change, capsys):
    *_, date = earlier(folder, time.time() + 5e8)
    change(copy_twice)
    assert main(["hand-in", str(folder)]) == 1
    assert f"written {date}, was left as it is: it does not hold what is here now" in capsys.readouterr().out


def test_a_date_that_no_calendar_has_is_left_out(folder, monkeypatch):
    path, *_ = earlier(folder)
    assert written(path).startswith("written 20")
    for error in (OverflowError, OSError, ValueError):
        monkeypatch.setattr(earlier_zip, "datetime", Mock(fromtimestamp=Mock(side_effect=error)))
        assert written(path) == "written before"


def test_what_may_not_be_read_or_written_is_one_sentence(folder, change):
    path, _, date = earlier(folder)
    command = [sys.executable, "-m", "kvcourse.cli", "hand-in", str(folder)]

    def refused(locked, mode, *more):
        before = locked.stat().st_mode
        locked.chmod(mode)
        done = run_held_back([*command, *more])
        locked.chmod(before)
        assert done.returncode in (1, 2) and "Traceback" not in done.stderr
        return (done.stdout + done.stderr).splitlines()[-1]

    stays = f"{path}, written {date}, was left as it is: it does not hold what is here now."
    assert refused(folder / "tiny.ipynb", 0) == (
        f"kvcourse hand-in: tiny.ipynb: cannot be read (Permission denied). {stays}"
    )
    change(lambda nb: at(nb, "q1").update(source=["answer = 2"]))
    assert refused(path.parent, 0o500).endswith(f"{path}: cannot be written (Permission denied). {stays}")
    change(copy_twice)
    assert refused(path, 0) == stays
    (folder.parent / "closed").mkdir()
    closed = folder.parent / "closed" / "a.zip"
    assert f"{closed}: cannot be reached (Permission denied)." in refused(closed.parent, 0, "-o", str(closed))


def test_a_zip_of_another_assignment_is_not_replaced(folder, tmp_path, capsys):
    one = tmp_path / "all.zip"
    with zipfile.ZipFile(one, "w") as archive:
        archive.writestr("a1-decoding/a1-decoding.ipynb", "{}")
    other = tmp_path / "essay.txt"
    other.write_text("mine")
    for path, found in ((one, "holds a1-decoding"), (other, "is no zip of a notebook")):
        before = path.read_bytes()
        assert main(["hand-in", str(folder), "-o", str(path)]) == 1
        assert (
            f"{path}: is there already and {found}; give tiny another name with -o."
            in capsys.readouterr().out
        )
        assert path.read_bytes() == before
        assert main(["hand-in", str(folder), "-o", str(path), "--anyway"]) == 0
        assert main(["hand-in", str(folder), "-o", str(path)]) == 0
        capsys.readouterr()


def test_the_zip_of_a_folder_with_a_dot_keeps_its_whole_name(folder):
    dotted = folder.rename(folder.with_name("tiny.v2"))
    assert hand_in(dotted).name == "tiny.v2.zip"
