"""`kvcourse grade` and `kvcourse doctor` as a person meets them: sentences, exit status, no traceback."""

import json
import shutil
from pathlib import Path

import pytest

from kvcourse.cli import main
from kvcourse.commands.grade import table
from kvcourse.course.authoring import released_notebook
from kvcourse.course.bank import filled_in
from kvcourse.course.files import CONFIG
from kvcourse.course.source import notebook_bytes
from kvcourse.grading import doctor, sandbox
from kvcourse.grading.course_run import Summary
from kvcourse.grading.report import Problem, SubmissionReport

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def class_of_two(tmp_path_factory):
    """A course folder with one submission as released and one that is no notebook."""
    course = tmp_path_factory.mktemp("course")
    shutil.copy(ROOT / CONFIG, course)
    shutil.copytree(ROOT / "tests" / "course" / "fixtures" / "tiny", course / "solutions" / "tiny")
    release = notebook_bytes(filled_in(released_notebook(course, "tiny"), {}))
    for student, data in (("ada", release), ("ben", b"nothing")):
        place = course / "submitted" / student / "tiny"
        place.mkdir(parents=True)
        (place / "tiny.ipynb").write_bytes(data)
    return course


def test_grade_says_its_level_and_exits_1_where_somebody_has_to_look(class_of_two, level, capsys):
    assert main(["grade", "--root", str(class_of_two), "--level", level]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"level: {level} (") and "ben" in said and "not graded" in said
    assert "tiny: 2 submissions, 2 graded now, 1 with a problem for a person to look at" in said
    shutil.rmtree(class_of_two / "submitted" / "ben")
    assert main(["grade", "--root", str(class_of_two), "--level", level]) == 0
    assert "1 submission, 0 graded now" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["--root", "/nowhere"], ["a9"], ["--student", "zoe"], ["--workers", "-1"],
     *[[f"--{limit}-seconds={n}"] for limit in ("cell", "total") for n in ("0", "-1", "nan", "inf", "1e9")],
     ["--db", "postgresql://127.0.0.1:1/y"], ["--db", "postgresql+nosuchdriver://x/y"], ["--db", "nonsense"],
     ["--db", "sqlite:////nowhere/at/all.db"]],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_2(class_of_two, level, arguments, capsys):
    given = [*arguments, "--root", str(class_of_two)] if "--root" not in arguments else arguments
    assert main(["grade", "--level", level, *given]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kvcourse grade: ") and said.count("\n") == 1


def test_without_isolation_nothing_is_graded_unless_basic_is_asked_for(class_of_two, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "missing", lambda: ["this kernel has no Landlock."])
    assert main(["grade", "--root", str(class_of_two), "--force"]) == 2
    assert "--level basic" in capsys.readouterr().err
    monkeypatch.setattr(doctor.sandbox, "missing", lambda: ["this kernel has no Landlock."])
    assert main(["doctor"]) == 1
    assert "missing for hardened: this kernel has no Landlock." in capsys.readouterr().err


def test_a_large_class_is_shown_by_those_that_need_a_person():
    entries = [SubmissionReport(f"s{n}", "graded", 1, 2) for n in range(500)]
    entries[7].problems.append(Problem("x", "Look here."))
    assert table(Summary("a", "basic", entries)) == ["  s7        1 of 2  Look here."]


@pytest.mark.full
def test_doctor_tries_what_must_be_refused(level, capsys):
    if level != "hardened":
        pytest.skip(f"no hardened isolation here: {sandbox.missing()[0]}")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert said.count("refused ") == len(doctor.ATTEMPTS) and "NOT REFUSED" not in said


def test_the_report_is_json_with_the_oddest_first(class_of_two, level):
    main(["grade", "--root", str(class_of_two), "--level", level, "--quiet"])
    report = json.loads((class_of_two / "grading" / "tiny.report.json").read_text())
    assert report["assignment"] == "tiny" and level in report["isolation"]


def test_a_zip_that_nobody_unpacked_and_a_notebook_of_another_assignment_are_named(
    course, tiny, level, capsys
):
    release = tiny[1]
    (course / "submitted" / "max").mkdir(parents=True)
    (course / "submitted" / "max" / "tiny.zip").write_bytes(b"PK")
    shutil.copytree(course / "solutions" / "tiny", course / "solutions" / "other")
    other = filled_in(release, {})
    other.metadata["kvcourse"]["assignment"] = "other"
    place = course / "submitted" / "kim" / "tiny"
    place.mkdir(parents=True)
    (place / "tiny.ipynb").write_bytes(notebook_bytes(other))
    assert main(["grade", "tiny", "--root", str(course), "--level", level]) == 1
    said = capsys.readouterr().out
    assert "expected a folder tiny, found tiny.zip. Unpack the zip there." in said
    assert "this is the notebook of other; expected that of tiny." in said


def test_grading_one_student_keeps_the_others_in_the_report(course, tiny, level, capsys):
    for student in ("ada", "ben"):
        place = course / "submitted" / student / "tiny"
        place.mkdir(parents=True)
        (place / "tiny.ipynb").write_bytes(notebook_bytes(tiny[1]) if student == "ada" else b"nothing")
    command = ["grade", "tiny", "--root", str(course), "--level", level]
    assert main(command) == 1
    report = course / "grading" / "tiny.report.json"
    before = json.loads(report.read_text())["submissions"]
    assert [entry["student"] for entry in before] == ["ben", "ada"]
    assert main([*command, "--student", "ada"]) == 0
    after = json.loads(report.read_text())["submissions"]
    assert after == [before[0], {**before[1], "unchanged": True}]
    report.write_text("{broken")
    assert main([*command, "--student", "ada"]) == 0
    assert [entry["student"] for entry in json.loads(report.read_text())["submissions"]] == ["ada"]
    capsys.readouterr()


def test_long_gradings_tell_a_log_how_far_they_are(monkeypatch, capsys):
    from kvcourse.commands import grade

    clock = iter([0.0, 1.0, 6.0, 6.0, 7.0, 12.0, 12.0])
    monkeypatch.setattr(grade.time, "monotonic", lambda: next(clock))
    progress = grade._lines("tiny")
    for number in range(1, 5):
        progress(f"s{number}", number, 4)
    assert capsys.readouterr().err.splitlines() == ["tiny: graded 2 of 4: s2", "tiny: graded 4 of 4: s4"]
