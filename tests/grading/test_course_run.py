# ruff: noqa: E501  (queries and expectations on one line)
"""Whole runs over a small class: what is written, what a second run does, and what a failure leaves behind."""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from class_of import COMMENTS, files, hand_in, killed_run, rows, start_over

from kvcourse.course.files import CourseError
from kvcourse.errors import UserError
from kvcourse.grading import course_run
from kvcourse.grading.assignment import open_course
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.gradebook import GradebookError
from permissions import run_held_back


def test_a_class_is_graded_recorded_and_answered(course, tiny, grade):
    hand_in(course, tiny, "ada")
    hand_in(course, tiny, "ben", untouched="yes")
    hand_in(course, tiny, "cleo", q1="def pages(t, s):\n    print('dividing')\n    return t // s")
    (course / "submitted" / "dan" / "tiny").mkdir(parents=True)
    (course / "submitted" / "dan" / "tiny" / "tiny.ipynb").write_text("no notebook")
    summary = grade(course)
    got = {entry.student: (entry.status, entry.points) for entry in summary.submissions}
    assert got == {
        "ada": ("graded", 10),
        "ben": ("graded", 0),
        "cleo": ("graded", 5),
        "dan": ("not-graded", 0),
    }
    assert summary.needs_person and not summary.submissions[0].needs_person
    scores = {(student, cell): score for student, cell, score, _, _ in rows(course)}
    assert (
        scores["ada", "q2-test"] == 4
        and scores["cleo", "q1-hidden"] == 0
        and scores["ben", "q1-visible"] == 0
    )
    waiting = {student for student, cell, _, _, waits in rows(course) if cell == "q3-sentence" and waits}
    assert waiting == {"ada", "cleo", "dan"}  # ben wrote nothing; nobody has seen what dan wrote
    notebook = nbformat.read(course / "autograded" / "cleo" / "tiny" / "tiny.ipynb", as_version=4)
    nbformat.validate(notebook)
    text = json.dumps(notebook)
    assert "dividing" in text and "BEGIN HIDDEN TESTS" in text
    page = (course / "feedback" / "cleo" / "tiny" / "tiny.html").read_text()
    assert (
        "Often caused by rounding down" in page
        and "tokens_of_hidden_test" not in page
        and "<script" not in page
    )
    report = json.loads((course / "grading" / "tiny.report.json").read_text())
    assert report["level"] in ("hardened", "basic") and report["submissions"][0]["student"] == "dan"
    assert report["submissions"][0]["problems"][0]["code"] == "bad-json"


def test_a_second_run_grades_what_is_new_or_changed(course, tiny, grade):
    hand_in(course, tiny, "ada")
    hand_in(course, tiny, "ben")
    grade(course)
    before = rows(course)
    again = grade(course)
    assert [entry.unchanged for entry in again.submissions] == [True, True] and rows(course) == before
    hand_in(course, tiny, "ben", q1="def pages(t, s): return 0")
    hand_in(course, tiny, "cleo")
    again = grade(course)
    assert [entry.unchanged for entry in again.submissions] == [True, False, False]
    assert [entry.points for entry in again.submissions] == [10, 5, 10]
    shutil.rmtree(course / "autograded" / "ada")
    assert [entry.unchanged for entry in grade(course).submissions] == [False, True, True]
    assert not any(entry.unchanged for entry in grade(course, force=True).submissions)
    only = grade(course, force=True, students=("ben",))
    assert [entry.student for entry in only.submissions] == ["ben"]


def test_a_person_s_score_survives_grading_again_and_is_asked_about(course, tiny, grade):
    hand_in(course, tiny, "ada")
    grade(course)
    with sqlite3.connect(course / "gradebook.db") as database:
        database.execute(
            "update grade set manual_score = 1.5, needs_manual_grade = 0 where auto_score is null"
        )
    (unchanged,) = grade(course).submissions
    assert (unchanged.unchanged, unchanged.points, unchanged.waits) == (True, 11.5, False)
    again = grade(course, force=True)
    assert again.submissions[0].points == 11.5 and again.submissions[0].waits


def test_a_submission_of_an_older_version_is_graded_with_its_own_tests(course, tiny, grade):
    hand_in(course, tiny, "old")
    grade(course)
    text = course / "solutions" / "tiny" / "tiny.md"
    text.write_text(text.read_text().replace("version: 1", "version: 2").replace("pages(33, 16) == 3", "pages(33, 16) == 4")
                    .replace("assert got == 3", "assert got == 99"))  # fmt: skip
    summary = grade(course)
    assert summary.submissions[0].points == 10
    assert [problem.code for problem in summary.submissions[0].problems] == ["old-version"]
    shutil.rmtree(course / "grading" / "versions")
    summary = grade(course)
    assert (
        summary.submissions[0].status == "not-graded"
        and summary.submissions[0].problems[0].code == "unknown-version"
    )


def snapshot(course: Path) -> dict[str, bytes]:
    kept = files(course)
    return {name: data for name, data in kept.items() if not name.startswith("grading/")}


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_gradebook_is_one_sentence_and_nothing_changes(course, tiny, grade, content):
    hand_in(course, tiny, "ada")
    (course / "gradebook.db").write_bytes(content)
    before = snapshot(course)
    with pytest.raises(GradebookError) as caught:
        grade(course)
    assert "cannot be used" in str(caught.value) and "\n" not in str(caught.value)
    assert snapshot(course) == before


def test_a_locked_gradebook_is_one_sentence_and_nothing_changes(course, tiny, grade):
    hand_in(course, tiny, "ada")
    grade(course)
    hand_in(course, tiny, "ben")
    before = snapshot(course)
    holder = sqlite3.connect(course / "gradebook.db", isolation_level=None)
    holder.execute("begin exclusive")
    try:
        with pytest.raises(GradebookError, match="another program holds it"):
            grade(course)
    finally:
        holder.rollback()
        holder.close()
    assert snapshot(course) == before
    assert grade(course).submissions[1].points == 10


def test_two_runs_at_once_are_refused(course, tiny, grade):
    import fcntl

    hand_in(course, tiny, "ada")
    (course / "grading").mkdir(exist_ok=True)
    with (course / "grading" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(CourseError, match="another grading"):
            grade(course)


def test_a_full_disk_is_one_sentence_and_the_submission_is_not_half_recorded(course, tiny, grade):
    """A limit on the size of files stands in for a full disk: the write fails in the middle."""
    hand_in(course, tiny, "ada")
    grade(course)
    hand_in(course, tiny, "ben", q1="def pages(t, s):\n    print('x' * 90000)\n    return -(-t // s)")
    before, size = rows(course), (course / "gradebook.db").stat().st_size
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096 if size < 80_000 else 80_000, old[1]))
        with pytest.raises(UserError) as caught:
            grade(course)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert "\n" not in str(caught.value)
    assert rows(course) == before and not (course / "autograded" / "ben" / "tiny").exists()
    assert grade(course).submissions[1].points == 10


def command(course: Path, *arguments: str) -> subprocess.CompletedProcess:
    words = [sys.executable, "-m", "kvcourse.cli", "grade", "--root", str(course), *arguments]
    return run_held_back(words)


@pytest.mark.parametrize("locked", [".", "grading", "autograded", "gradebook.db"])
def test_a_read_only_folder_is_one_sentence_and_nothing_changes(course, tiny, locked):
    hand_in(course, tiny, "ada")
    for name in ("grading", "autograded", "feedback"):
        (course / name).mkdir(exist_ok=True)
    (course / locked).chmod(0o444 if locked.endswith("db") else 0o555)
    before = files(course)
    done = command(course, "--level", "basic", "--quiet")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("kvcourse grade: ") and done.stderr.count("\n") == 1
    kept = {name: data for name, data in files(course).items() if not name.startswith("grading/")}
    assert kept == {name: data for name, data in before.items() if not name.startswith("grading/")}
    (course / locked).chmod(0o755)
    assert command(course, "--level", "basic", "--quiet").returncode == 0


def test_no_submissions_and_no_source_are_one_sentence(course, grade, level):
    with pytest.raises(CourseError, match="found no such folder"):
        grade(course)
    with pytest.raises(CourseError, match="expected the source"):
        grade_assignment(open_course(course), "a9", Settings(level))


def test_a_student_s_files_do_not_stand_in_the_way_of_the_instructor_s(course, tiny, grade):
    (course / "solutions" / "tiny" / "data").mkdir()
    (course / "solutions" / "tiny" / "data" / "t.txt").write_text("the instructor's")
    place = hand_in(course, tiny, "ada", q3="unused = 15\nprint(open('data/t.txt').read())").parent
    (place / "data").write_text("the student's")
    (place / "mine.txt").write_text("kept")
    assert grade(course).submissions[0].points == 10
    kept = files(course / "autograded" / "ada" / "tiny")
    assert kept["data/t.txt"] == b"the instructor's" and kept["mine.txt"] == b"kept"
    assert b"the instructor's" in kept["tiny.ipynb"]


def kill_and_compare(course: Path, tiny, grade, level: str, times: int) -> int:
    """Kill runs at moments spread over a run, grade to the end, and compare.

    Return how many were really killed.
    """
    for n in range(6):
        hand_in(course, tiny, f"s{n}", **({} if n % 2 else {"q1": "def pages(t, s): return t // s"}))
    whole = course.with_name("whole")
    shutil.copytree(course, whole)
    grade(whole)
    wanted, comments, made = rows(whole), rows(whole, COMMENTS), files(whole / "autograded")
    rng, killed = random.Random(1), 0
    for n in range(times):
        lines = n % 6  # how far the run has come; each run goes on where the one before was killed
        killed += killed_run(course, level, lines, rng.uniform(0, 0.3) if lines else rng.uniform(0, 8))
        if lines == 5 or n == times - 1:
            grade(course)
            assert (rows(course), rows(course, COMMENTS)) == (wanted, comments)
            assert files(course / "autograded") == made
            assert sorted(files(course / "feedback")) == [f"s{n}/tiny/tiny.html" for n in range(6)]
            start_over(course)
    return killed


def test_runs_killed_at_any_moment_end_at_the_same_gradebook(course, tiny, grade, level):
    assert kill_and_compare(course, tiny, grade, level, 3) >= 1


@pytest.mark.full
def test_fifty_killed_runs_end_at_the_same_gradebook(course, tiny, grade, level):
    assert kill_and_compare(course, tiny, grade, level, 50) >= 25


@pytest.fixture
def nested():
    """Make a folder with `depth` folders in each other, deeper than a path may be long; they are removed."""
    made = []

    def nested(folder: Path, depth: int) -> None:
        made.append(folder)
        place = os.open(folder, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("d", dir_fd=place)
            below = os.open("d", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
        os.close(place)

    yield nested
    for folder in made:
        subprocess.run(["rm", "-rf", folder / "d"], check=True)


def test_folders_without_end_in_one_submission_cost_the_class_nothing(course, tiny, grade, nested):
    nested(hand_in(course, tiny, "ada").parent, 1500)
    hand_in(course, tiny, "ben")
    ada, ben = grade(course).submissions
    assert ada.points == ben.points == 10 and not ben.problems
    assert [problem.code for problem in ada.problems] == ["file-left-out"]
    assert all(entry.unchanged for entry in grade(course).submissions)


def test_a_hand_in_that_cannot_even_be_listed_costs_the_class_nothing(course, tiny, grade, monkeypatch):
    hand_in(course, tiny, "ada")
    hand_in(course, tiny, "ben")
    real = course_run.folder_digest

    def fails(folder):
        if folder.parent.name == "ada":
            raise RecursionError("too deep")
        return real(folder)

    monkeypatch.setattr(course_run, "folder_digest", fails)
    ada, ben = grade(course).submissions
    assert (ada.status, ben.status, ben.points) == ("not-graded", "graded", 10)
