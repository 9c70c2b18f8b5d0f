"""`python -m kvcourse.course`: exit statuses, and sentences where others have tracebacks."""

import sys

import pytest

from kvcourse.course.__main__ import main, missing_tools


def test_release_work_and_their_sentences(course, capsys):
    assert main(["--root", str(course), "release"]) == 0
    assert main(["release", "tiny", "--root", str(course)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "exercises/tiny: released (version 1, 3 problems, 12 points (2 by hand))",
        "exercises/tiny: unchanged (version 1, 3 problems, 12 points (2 by hand))",
    ]
    assert main(["work", "--root", str(course)]) == 0
    assert main(["work", "--root", str(course)]) == 0
    assert capsys.readouterr().out.splitlines() == ["work/tiny/tiny.ipynb: copied.", "work/: nothing new."]


def test_what_was_released_before_a_fault_is_said(course, capsys):
    (course / "solutions" / "empty").mkdir()
    (course / "solutions" / "unfinished").mkdir()
    (course / "solutions" / "unfinished" / "notes.txt").write_text("soon")
    assert main(["release", "--root", str(course)]) == 2
    said = capsys.readouterr()
    assert (
        said.out.startswith("exercises/tiny: released") and "solutions/unfinished/unfinished.md" in said.err
    )


def test_the_root_is_found_from_below(course, monkeypatch):
    monkeypatch.chdir(course / "solutions" / "tiny")
    assert main(["release"]) == 0
    assert (course / "exercises" / "tiny" / "tiny.ipynb").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["release", "big"],
            "release: expected the assignment's text in solutions/big/big.md, found no such file.",
        ),
        (["to-text", "tiny"], "to-text: tiny.ipynb: cannot be read (No such file or directory)."),
        (["work"], "work: expected releases in "),
        (["bundle"], "bundle: the students' zip needs Makefile"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(course, capsys, arguments, sentence):
    assert main([*arguments, "--root", str(course)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kvcourse.course {sentence}") and said.count("\n") == 1


def test_a_folder_that_is_no_course(tmp_path, capsys):
    assert main(["release", "--root", str(tmp_path)]) == 2
    assert "expected the course's folder (the one with nbgrader_config.py)" in capsys.readouterr().err


def test_what_a_machine_lacks_is_one_sentence(monkeypatch, capsys):
    assert missing_tools((3, 11, 0), lambda name: object()) is None
    assert missing_tools((3, 10, 9), lambda name: object()) == "this is Python 3.10; expected 3.11 or newer."
    lacks = missing_tools((3, 14), lambda name: None if name == "jupytext" else object())
    assert lacks.startswith("jupytext is not installed here") and "pip install -e '.[lab]'" in lacks
    monkeypatch.setattr("kvcourse.course.__main__.OLDEST", (99, 0))
    assert main(["release"]) == 2
    assert capsys.readouterr().err.startswith(
        f"kvcourse.course: this is Python 3.{sys.version_info[1]}; expected 99.0"
    )
