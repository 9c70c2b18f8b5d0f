"""The sample class: who gets what under kvcourse grade, the broken one, the idle second run."""

import shutil

import pytest
from course_files import FIXTURES, REPO, snapshot
from nbgrader.api import Gradebook

from kvcourse.course.__main__ import main
from kvcourse.course.files import CourseError
from kvcourse.course.sample_class import fingerprint, read_roster, run_sample_class

ROSTER = "tests/answers/sample_class.toml"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course whose sample class has been graded once, and what that printed."""
    import contextlib
    import io

    root = tmp_path_factory.mktemp("graded") / "course"
    shutil.copytree(FIXTURES / "tiny", root / "solutions" / "tiny")
    shutil.copytree(FIXTURES / "answers", root / "tests" / "answers")
    shutil.copy(REPO / "nbgrader_config.py", root)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run_sample_class(root) == 0
    return root, printed.getvalue()


def test_scores_status_and_the_broken_one(graded):
    _, printed = graded
    table = printed.split("\n\n")[1].splitlines()[1:6]
    rows = {line.split()[0]: line.split() for line in table}
    assert rows["student"][:9] == ["student", "q1", "/5", "q2", "/4", "q3", "/3", "total", "/12"]
    assert rows["ada"][1:] == ["5", "4", "1", "10", "1", "to", "do", "graded", "all", "right"]
    assert rows["ben"][1:] == ["0", "0", "0", "0", "graded", "left", "untouched"]
    assert rows["cleo"][1:6] == ["0", "4", "0", "4", "graded"]
    assert rows["dan"][1:] == ["-", "-", "-", "-", "not", "graded", "a", "text"]
    assert "dan handed in a file that is no notebook: kvcourse grade leaves it out" in printed
    assert "graded 3 of 4: cleo" in printed


def test_it_lives_in_its_own_folder(graded):
    root, _ = graded
    sample = root / "build" / "sample-class"
    assert sorted(p.parent.parent.name for p in sample.glob("feedback/*/tiny/tiny.html")) == [
        "ada",
        "ben",
        "cleo",
    ]
    assert (sample / "gradebook.db").is_file() and not (root / "gradebook.db").exists()
    assert sorted(p.name for p in root.iterdir()) == ["build", "nbgrader_config.py", "solutions", "tests"]
    assert sorted(p.name for p in (root / "build").iterdir()) == ["sample-class"]


def test_a_second_run_grades_nothing_and_changes_no_file(graded, capsys, monkeypatch):
    root, printed = graded
    before = snapshot(root)
    monkeypatch.setattr("kvcourse.grading.course_run.grade_assignment", None)  # calling it would fail
    assert main(["sample-class", "--root", str(root)]) == 0
    again = capsys.readouterr().out
    assert "nothing has changed since it was graded" in again
    assert again.split("\n\n", 1)[1] == printed.split("\n\n", 1)[1]
    assert snapshot(root) == before


def test_a_grade_given_by_hand_shows(graded, tmp_path, capsys):
    root = tmp_path / "course"
    shutil.copytree(graded[0], root)
    with Gradebook(f"sqlite:///{root / 'build' / 'sample-class' / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("q3-sentence", "tiny", "tiny", "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False  # what Formgrader writes
        gradebook.db.commit()
    assert run_sample_class(root) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("ada"))
    assert line.split()[1:6] == ["5", "4", "2.5", "11.5", "graded"]


@pytest.mark.parametrize(
    "name",
    [
        "src/kvcourse/units.py",
        "solutions/tiny/tiny.md",
        "tests/answers/tiny/q1.py",
        ROSTER,
        "nbgrader_config.py",
    ],
)
def test_whatever_the_scores_follow_from_counts(course, name):
    (course / "src" / "kvcourse").mkdir(parents=True)
    (course / "src" / "kvcourse" / "units.py").touch()
    before = fingerprint(course, ["tiny"])
    assert fingerprint(course, ["tiny"]) == before
    with (course / name).open("a") as stream:
        stream.write("\n# more\n")
    assert fingerprint(course, ["tiny"]) != before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected a table"),
        ("[tiny", "not TOML"),
        ("tiny = 1", "expected [tiny.STUDENT]"),
        ("[tiny.ada]\nq1 = 1", "expected [tiny.STUDENT]"),
        ("[tiny]\nada = 1", "expected [tiny.STUDENT]"),
    ],
)
def test_a_roster_that_says_nothing_is_one_sentence(course, text, sentence):
    (course / ROSTER).write_text(text)
    with pytest.raises(CourseError) as caught:
        read_roster(course / ROSTER)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ('q1 = "rounds sideways"', "expected an answer of the bank to problem q1, got 'rounds sideways'"),
        ('q9 = "reference"', "tiny.ada: expected a problem of the assignment, got 'q9'"),
    ],
)
def test_a_roster_that_fits_no_answer_grades_nothing(course, entry, sentence):
    (course / ROSTER).write_text(f"[tiny.ada]\n{entry}\n")
    with pytest.raises(CourseError) as caught:
        run_sample_class(course)
    assert sentence in str(caught.value)
    assert not (course / "build" / "sample-class").exists()


def test_the_courses_own_roster_fits_its_bank():
    """Every student of the real roster hands in something that exists, and no two the same."""
    from kvcourse.course.authoring import released_notebook
    from kvcourse.course.bank import read_bank
    from kvcourse.course.sample_class import submission
    from kvcourse.course.source import read_source, source_text

    for assignment, students in read_roster(REPO / ROSTER).items():
        bank = read_bank(REPO / "tests" / "answers" / assignment, read_source(source_text(REPO, assignment)))
        release = released_notebook(REPO, assignment)
        made = {student: submission(entry, bank, release, student) for student, entry in students.items()}
        assert len(made) >= 8 and len(set(made.values())) == len(made)
        assert sum("broken" in entry for entry in students.values()) == 1
