"""`kvcourse feedback` and `kvcourse export`: what a person changed reaches the page and the table."""

import csv
import io
import sqlite3

import pytest
from class_of import files, hand_in, rows

from kvcourse.cli import main

MANUAL = "update grade set manual_score = 1.5, needs_manual_grade = 0 where auto_score is null"


@pytest.fixture
def graded(course, tiny, grade):
    """ada, right; ben, who wrote nothing; cleo, who rounds down; dan handed in no notebook."""
    hand_in(course, tiny, "ada")
    hand_in(course, tiny, "ben", untouched="yes")
    hand_in(course, tiny, "cleo", q1="def pages(t, s): return t // s")
    place = course / "submitted" / "dan" / "tiny"
    place.mkdir(parents=True)
    (place / "tiny.ipynb").write_text("no notebook")
    grade(course)
    return course


def change(course, *statements):
    with sqlite3.connect(course / "gradebook.db") as database:
        for statement in statements:
            database.execute(statement)


def table(text):
    return {row["student"]: row for row in csv.DictReader(io.StringIO(text))}


def page(course, student):
    return (course / "feedback" / student / "tiny" / "tiny.html").read_text()


def test_a_person_s_scores_and_comments_reach_the_page(graded, capsys):
    before = files(graded / "feedback")
    assert "wait for a person" in page(graded, "ada")
    change(graded, MANUAL, "update comment set manual_comment = '**Clear.** <script>x</script>'")
    assert main(["feedback", "tiny", "--root", str(graded), "--student", "ada"]) == 0
    assert "1 pages written, 0 unchanged" in capsys.readouterr().out
    text = page(graded, "ada")
    assert "11.5 of 12 points" in text and "<strong>Clear.</strong>" in text and "<script" not in text
    assert "wait for a person" not in text
    after = files(graded / "feedback")
    assert {name for name in after if after[name] != before[name]} == {"ada/tiny/tiny.html"}


def test_pages_of_a_whole_class_are_written_once(graded, capsys):
    assert main(["feedback", "--root", str(graded)]) == 1
    said = capsys.readouterr().out
    assert "0 pages written, 3 unchanged" in said and "not graded: dan" in said
    assert "wait for a person: ada, cleo" in said


def test_grading_again_keeps_a_person_s_comment_on_the_page(graded, grade):
    change(graded, MANUAL, "update comment set manual_comment = 'Seen by a person'")
    grade(graded, force=True)
    assert "Seen by a person" in page(graded, "ada") and "11.5 of 12" in page(graded, "ada")


def test_a_late_penalty_is_on_the_page_and_in_the_table(graded, capsys):
    change(graded, "update submitted_notebook set late_submission_penalty = 3")
    main(["feedback", "--root", str(graded)])
    assert "7 of 12 points" in page(graded, "ada") and "late: 3 points less" in page(graded, "ada")
    assert "0 of 12 points" in page(graded, "ben")  # not below nothing
    capsys.readouterr()
    assert main(["export", "--root", str(graded)]) == 0
    got = table(capsys.readouterr().out)
    ada, ben = got["ada"], got["ben"]
    assert (ada["points"], ada["late_penalty"], ada["score"]) == ("10", "3", "7")
    assert (ben["points"], ben["late_penalty"], ben["score"]) == ("0", "3", "0")


def test_the_table_has_totals_problems_and_what_waits(graded, capsys):
    change(graded, "insert into student (id) values ('=absent')")
    assert main(["export", "tiny", "--root", str(graded)]) == 0
    captured = capsys.readouterr()
    got = table(captured.out)
    assert list(got) == ["'=absent", "ada", "ben", "cleo", "dan"]
    ada = got["ada"]
    assert (ada["q1"], ada["q2"], ada["q3"], ada["score"], ada["max_score"]) == ("5", "4", "1", "10", "12")
    class_ = ("ada", "ben", "cleo", "dan")
    assert [got[name]["needs_manual"] for name in class_] == ["yes", "no", "yes", ""]
    assert [got[name]["graded"] for name in class_] == ["yes", "yes", "yes", "no"]
    assert got["cleo"]["q1"] == "0" and got["'=absent"]["score"] == "" == got["'=absent"]["q1"]
    assert "2 submissions have written answers that wait" in captured.err
    scores = dict.fromkeys(("ada", "ben", "cleo", "dan"), 0.0)
    for student, _, auto, manual, _ in rows(graded):
        scores[student] += (auto if manual is None else manual) or 0.0
    assert scores.pop("dan") == 0
    assert {name: float(got[name]["points"]) for name in scores} == scores


def exported(course, capsys):
    """Rows by student, and what the command says beside the table."""
    capsys.readouterr()
    assert main(["export", "tiny", "--root", str(course)]) == 0
    captured = capsys.readouterr()
    return table(captured.out), captured.err


def test_who_handed_in_no_notebook_has_no_score_and_a_reason(graded, capsys):
    change(graded, "insert into student (id) values ('eve')")
    got, said = exported(graded, capsys)
    empty = ("points", "late_penalty", "score", "needs_manual", "q1", "q2", "q3")
    for student in ("dan", "eve"):
        assert [got[student][name] for name in empty] == [""] * len(empty)
        assert got[student]["max_score"] == "12"
    assert (got["dan"]["graded"], got["eve"]["graded"], got["eve"]["note"]) == ("no", "", "")
    assert got["dan"]["note"].startswith("the notebook is not JSON")
    assert (got["ben"]["score"], got["ben"]["graded"], got["ben"]["note"]) == ("0", "yes", "")
    assert said.endswith("Handed in, but not graded (see the column note): dan.\n")


def test_points_of_an_earlier_hand_in_stand_and_are_called_so(graded, tiny, grade, capsys):
    (graded / "submitted" / "ada" / "tiny" / "tiny.ipynb").write_text("=no notebook")
    hand_in(graded, tiny, "dan", q1="def pages(t, s): return t // s")
    grade(graded)
    got, said = exported(graded, capsys)
    ada, dan = got["ada"], got["dan"]
    assert (ada["score"], ada["q1"], ada["graded"], ada["needs_manual"]) == ("10", "5", "earlier", "yes")
    assert ada["note"].startswith("the notebook is not JSON")
    assert (dan["graded"], dan["note"], dan["q2"]) == ("yes", "", "4")
    assert "not graded (see the column note): ada." in said
    hand_in(graded, tiny, "ada")
    grade(graded)
    got, said = exported(graded, capsys)
    assert (got["ada"]["graded"], got["ada"]["note"]) == ("yes", "") and "note" not in said


def test_points_that_a_person_gave_for_what_no_program_can_grade_are_there(graded, capsys):
    dan = "select sn.id from submitted_notebook sn join submitted_assignment sa on sa.id = sn.assignment_id"
    dan += " where sa.student_id = 'dan'"
    change(
        graded, f"update grade set manual_score = 0.5, needs_manual_grade = 0 where notebook_id in ({dan})"
    )
    got, _ = exported(graded, capsys)
    assert float(got["dan"]["score"]) > 0 and got["dan"]["graded"] == "earlier" and got["dan"]["note"]


def test_without_its_notes_the_gradebook_alone_tells_who_was_not_graded(graded, capsys):
    notes = graded / "grading" / "tiny.manifest.jsonl"
    lines = notes.read_text()
    notes.write_text("nonsense\n")
    got, said = exported(graded, capsys)
    assert (got["dan"]["score"], got["dan"]["graded"], got["dan"]["note"]) == ("", "no", "")
    assert got["ben"]["score"] == "0" and "note" not in said
    notes.write_text(lines)
    for _ in range(9):  # so many that a run of the grader would rewrite them
        notes.write_text(notes.read_text() * 2)
    before = notes.read_bytes()
    assert exported(graded, capsys)[0]["dan"]["note"] and notes.read_bytes() == before
    notes.unlink()
    notes.mkdir()
    assert main(["export", "--root", str(graded)]) == 2
    assert capsys.readouterr().err == f"kvcourse export: {notes} cannot be read (Is a directory).\n"


def test_nbgrader_s_own_export_has_the_same_totals(graded, tmp_path, capsys):
    from nbgrader.api import Gradebook
    from nbgrader.plugins.export import CsvExportPlugin

    change(graded, MANUAL, "update submitted_notebook set late_submission_penalty = 0.5")
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        CsvExportPlugin(to=str(tmp_path / "stock.csv")).export(gradebook)
    main(["export", "--root", str(graded)])
    ours = table(capsys.readouterr().out)
    for stock in csv.DictReader((tmp_path / "stock.csv").open()):
        mine = ours[stock["student_id"]]
        for stocks, name in (("raw_score", "points"), ("score", "score"), ("max_score", "max_score")):
            assert float(mine[name]) == float(stock[stocks]), (stock, mine)


def test_the_file_is_written_whole_or_not_at_all(graded, tmp_path, capsys):
    target = tmp_path / "scores.csv"
    assert main(["export", "--root", str(graded), "-o", str(target), "--student", "ben"]) == 0
    kept = target.read_bytes()
    assert list(table(kept.decode())) == ["ben"]
    assert main(["export", "--root", str(graded), "-o", str(target), "--student", "zoe"]) == 2
    assert main(["export", "--root", str(graded), "-o", str(tmp_path)]) == 2
    assert target.read_bytes() == kept and list(tmp_path.glob("*scores*")) == [target]


@pytest.mark.parametrize("command", ["feedback", "export"])
def test_without_a_gradebook_nothing_is_made(command, course, capsys):
    (course / "gradebook.db").unlink()
    assert main([command, "--root", str(course)]) == 2
    said = capsys.readouterr().err
    assert "found none; grade first" in said and said.count("\n") == 1
    assert not (course / "gradebook.db").exists()


@pytest.mark.parametrize("command", ["feedback", "export"])
@pytest.mark.parametrize(
    "arguments", [["a9"], ["--student", "zoe"], ["--db", "nonsense"], ["--root", "/nowhere"]]
)
def test_bad_input_is_one_sentence(command, arguments, graded, capsys):
    assert main([command, "--root", str(graded), *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kvcourse {command}: ") and said.count("\n") == 1
