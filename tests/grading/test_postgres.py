"""The gradebook in PostgreSQL: the same rows as in SQLite, also after runs that were killed or cut off."""

import csv
import io

import pytest
import sqlalchemy
from class_of import COMMENTS, ROWS, hand_in, killed_run, rows, start_over

from kvcourse.cli import main
from kvcourse.grading.assignment import open_course
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.gradebook import GradebookError

pytestmark = pytest.mark.full  # about a minute: it starts a server


def asked(url, query):
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as database:
        got = [tuple(row) for row in database.execute(sqlalchemy.text(query))]
    engine.dispose()
    return [(*row[:4], int(row[4])) if len(row) == 5 else row for row in got]  # SQLite has 0 and 1


@pytest.fixture
def run(zygote, level):
    def run(course, url, **more):
        return grade_assignment(open_course(course, url), "tiny", Settings(level, **more), zygote=zygote)

    return run


@pytest.fixture
def class_of_six(course, tiny):
    for n in range(6):
        hand_in(course, tiny, f"s{n}", **({} if n % 2 else {"q1": "def pages(t, s): return t // s"}))
    return course


def test_the_rows_are_those_of_sqlite_and_the_commands_take_the_address(
    class_of_six,
    run,
    grade,
    server,
    capsys,
):
    grade(class_of_six)
    wanted, comments = rows(class_of_six), rows(class_of_six, COMMENTS)
    sqlite = (class_of_six / "gradebook.db").read_bytes()
    url = server.database("same")
    assert [entry.points for entry in run(class_of_six, url, force=True).submissions] == [5, 10] * 3
    assert asked(url, ROWS) == wanted and asked(url, COMMENTS) == comments
    assert all(entry.unchanged for entry in run(class_of_six, url).submissions)
    with sqlalchemy.create_engine(url).begin() as database:
        database.execute(
            sqlalchemy.text(
                "update grade set manual_score = 1.5, needs_manual_grade = false where auto_score is null"
            )
        )
    where = ["--root", str(class_of_six), "--db", url]
    assert main(["feedback", *where]) == 0 and main(["export", *where]) == 0
    table = capsys.readouterr().out.partition("assignment,")
    got = {row["student"]: row["score"] for row in csv.DictReader(io.StringIO("".join(table[1:])))}
    assert got == {"s0": "6.5", "s1": "11.5", "s2": "6.5", "s3": "11.5", "s4": "6.5", "s5": "11.5"}
    assert "11.5 of 12" in (class_of_six / "feedback" / "s1" / "tiny" / "tiny.html").read_text()
    assert (class_of_six / "gradebook.db").read_bytes() == sqlite


def test_a_failing_write_leaves_the_submission_out_whole(class_of_six, run, server, monkeypatch):
    url = server.database("whole")
    run(class_of_six, url, students=("s0",))
    before = asked(url, ROWS)
    from kvcourse.grading.recording import Writer

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "_write_autograded", full)
        with pytest.raises(ValueError, match="No space left"):
            run(class_of_six, url)
    assert asked(url, ROWS) == before
    assert len(run(class_of_six, url).submissions) == 6 and len(asked(url, ROWS)) > len(before)


def test_a_server_that_goes_away_is_one_sentence_and_the_run_goes_on_later(class_of_six, run, server):
    url = server.database("gone")
    stopped = []

    def stop(student, done, total):
        if done == 2:
            server.stop()
            stopped.append(student)

    try:
        with pytest.raises(GradebookError) as caught:
            grade_assignment(open_course(class_of_six, url), "tiny", Settings("basic"), stop)
        assert stopped and "\n" not in str(caught.value) and "cannot be used" in str(caught.value)
        with pytest.raises(GradebookError):
            run(class_of_six, url)
    finally:
        server.start()
    again = run(class_of_six, url)
    assert [entry.points for entry in again.submissions] == [5, 10] * 3


def test_killed_runs_end_at_the_same_rows(class_of_six, run, level, server):
    url = server.database("once")
    run(class_of_six, url)
    wanted, comments = asked(url, ROWS), asked(url, COMMENTS)
    start_over(class_of_six)
    url, killed = server.database("killed"), 0
    for lines in (0, 1, 3, 4):
        killed += killed_run(class_of_six, level, lines, 0.05 if lines else 5.0, "--db", url)
    run(class_of_six, url)
    assert killed >= 2 and (asked(url, ROWS), asked(url, COMMENTS)) == (wanted, comments)
