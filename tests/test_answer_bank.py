"""The gate must pass what is right and catch what is not: a tiny bank here, the course's in full."""

import shutil
from pathlib import Path

import nbformat
import pytest

import answer_bank
from kvcourse.course.bank import read_bank
from kvcourse.course.source import read_source, source_text
from kvcourse.course.stock import CellScore, Graded, grade, output_text

REPO = Path(__file__).resolve().parent.parent
FIXTURES = REPO / "tests" / "course" / "fixtures"


@pytest.fixture
def course(tmp_path):
    shutil.copytree(FIXTURES / "tiny", tmp_path / "solutions" / "tiny")
    shutil.copytree(FIXTURES / "answers" / "tiny", tmp_path / "tests" / "answers" / "tiny")
    shutil.copy(REPO / "nbgrader_config.py", tmp_path)
    return tmp_path


def run_in_python(root, assignment, source, submissions, folder, seed, progress):
    """A grader of a few lines that stands in for nbgrader where a test asks about the gate."""
    tests = {c.metadata.nbgrader["grade_id"]: c.source for c in source.cells if "nbgrader" in c.metadata}
    release = answer_bank.released_notebook(root, assignment)
    stubs = {c.metadata.nbgrader["grade_id"]: c.source for c in release.cells if "nbgrader" in c.metadata}
    graded = {}
    for student, data in submissions.items():
        names, cells = {}, {}
        for cell in nbformat.reads(data.decode(), as_version=4).cells:
            meta = cell.metadata.get("nbgrader", {})
            grade_id, worth = meta.get("grade_id"), meta.get("points")
            code = tests[grade_id] if meta.get("locked") else cell.source
            said, points = "", worth
            if cell.cell_type == "code":
                body, _, last = code.rpartition("\n")
                try:
                    if last.isidentifier():
                        exec(body, names)
                        points = eval(last, names)
                    else:
                        exec(code, names)
                except Exception as error:
                    said, points = f"{type(error).__name__}: {error}", 0.0
            if meta.get("grade"):
                by_hand = meta["solution"]
                untouched = cell.source == stubs[grade_id]
                auto = (0.0 if untouched else None) if by_hand else float(points)
                cells[grade_id] = CellScore(auto, worth, by_hand and not untouched, said)
        graded[student] = Graded(cells)
        progress(student)
    return graded


def check(course, engine=run_in_python):
    return answer_bank.check_bank(
        course, "tiny", course / "tests" / "answers" / "tiny", engine, say=lambda line: None
    )


@pytest.fixture
def rewrite(course):
    """Replace text in a file of the bank: rewrite(problem, old, new)."""

    def apply(problem, old, new):
        path = course / "tests" / "answers" / "tiny" / f"{problem}.py"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return apply


def test_stock_nbgrader_passes_the_tiny_bank_and_agrees_with_the_stand_in(course):
    seen = {}

    def both(*arguments):
        seen["python"] = run_in_python(*arguments)
        seen["stock"] = grade(*arguments)
        return seen["stock"]

    report = check(course, both)
    assert report.faults == []
    assert (report.answers, report.gradings, report.compared) == (11, 5, 25)
    for student, stock in seen["stock"].items():
        for name, cell in stock.cells.items():
            other = seen["python"][student].cells[name]
            assert (cell.points, cell.worth, cell.needs_manual) == (
                other.points,
                other.worth,
                other.needs_manual,
            ), name
    assert not (course / "gradebook.db").exists()


def test_good_bank_has_no_faults(course):
    assert check(course).faults == []


WRONG = {
    "a wrong answer that keeps its points": (
        "q1",
        "return tokens // size\n",
        "return -(-tokens // size)\n",
        [
            "q1 wrong 'rounds down': q1-visible got 2, must get 0 of 2",
            "q1-hidden got 3, must get 0 of 3",
            "no visible check",
        ],
    ),
    "a listed point that is off": (
        "q2",
        "q2-test=1",
        "q2-test=2",
        ["q2 wrong 'last is first': q2-test got 1, must get 2 of 4"],
    ),
    "a point not listed": ("q1", "# points: q1-visible=2\n", "", ["q1-visible got 2, must get 0 of 2"]),
    "a right answer that loses": (
        "q1",
        "(tokens + size - 1) // size",
        "(tokens + size) // size",
        ["larger number': q1-hidden got 0, must get 3 of 3; it says AssertionError: "],
    ),
    "a wrong answer listed with every point": (
        "q3",
        "# hint: unused: expected 15, got 33\nunused = 33",
        "# points: q3-visible=1\nunused = 15.0",
        ["a wrong answer is listed with every point of its problem"],
    ),
    "a hint that no check gives": (
        "q3",
        "got 33",
        "got 34",
        ["no visible check says 'unused: expected 15, got 34'"],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_not_as_must_be_is_caught(course, rewrite, case):
    problem, old, new, sentences = WRONG[case]
    rewrite(problem, old, new)
    faults = check(course).faults
    assert len(faults) == len(sentences), faults
    for sentence in sentences:
        assert any(sentence in fault for fault in faults), faults


def spoil(change):
    """Return an engine whose results are changed: change(results)."""

    def engine(*arguments):
        graded = run_in_python(*arguments)
        change(graded)
        return graded

    return engine


def set_cell(student, name, **values):
    def change(graded):
        cell = graded[student].cells[name]
        graded[student].cells[name] = CellScore(**{**vars(cell), **values})

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (set_cell("untouched", "q1-visible", points=2.0), "q1 untouched: q1-visible got 2, must get 0 of 2"),
        (set_cell("reference", "q1-hidden", points=2.5), "q1 reference: q1-hidden got 2.5, must get 3 of 3"),
        (set_cell("reference", "q3-sentence", needs_manual=False), "q3-sentence does not wait for a person"),
        (set_cell("reference", "q3-visible", points=None), "q3-visible got nothing, must get 1 of 1"),
        (lambda graded: graded["answer-01"].cells.pop("q2-test"), "q2-test got nothing"),
        (
            lambda graded: graded.update({"answer-02": Graded({}, failed=True)}),
            "answer-02: the grader could not process it",
        ),
        (lambda graded: graded.pop("reference"), "reference: the grader could not process it"),
    ],
)
def test_a_grader_that_errs_is_caught(course, change, sentence):
    faults = check(course, spoil(change)).faults
    assert len(faults) == 1 and sentence in faults[0], faults


@pytest.mark.parametrize(
    ("problem", "old", "new", "sentence"),
    [
        (
            "q1",
            "# %% wrong: rounds down",
            "# %% maybe: rounds down",
            "expected 'reference', 'right: TITLE' or",
        ),
        ("q1", "# %% wrong: rounds down", "# %% wrong:", "expected 'reference', 'right: TITLE' or"),
        ("q1", "always one page more", "rounds down", "expected each title once"),
        ("q1", "q1-visible=2", "q1-visible=two", "expected points as GRADE_ID=NUMBER"),
        (
            "q1",
            "q1-visible=2",
            "q2-test=2",
            "'q2-test' is no autograded cell of q1 (they are: q1-visible, q1-hidden)",
        ),
        ("q1", "q1-visible=2", "q1-visible=5", "q1-visible is worth 2, got 5 points"),
        ("q1", "# %% right", "x = 1\n# %% right", "before any code"),
        (
            "q2",
            "# cell: q2-first\n",
            "",
            "expected '# cell: GRADE_ID' before the code (of q2-first, q2-last)",
        ),
        ("q2", "# cell: q2-first\n", "# cell: q2-middle\n", "got q2-middle"),
        (
            "q2",
            "# %% right: by a loop",
            "# %% right: by a loop\n# points: q2-test=4",
            "listed for wrong answers only",
        ),
        ("q3", "unused = 33", "", "expected an answer, found none"),
    ],
)
def test_input_that_cannot_be_read_is_one_sentence_and_status_2(
    course, rewrite, capsys, problem, old, new, sentence
):
    rewrite(problem, old, new)
    assert answer_bank.main(["--root", str(course)]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.startswith("answer_bank: ") and said.count("\n") == 1


def test_other_unreadable_input(course, capsys):
    answers = course / "tests" / "answers" / "tiny"
    (answers / "q1.py").rename(answers / "q7.py")
    assert answer_bank.main([str(answers), "--root", str(course)]) == 2
    assert "expected the name of a problem (q1, q2, q3), got q7" in capsys.readouterr().err
    (answers / "q7.py").unlink()
    assert answer_bank.main([str(answers), "--root", str(course)]) == 2
    assert "expected answers to problem q1 in q1.py" in capsys.readouterr().err
    answers.rename(answers.with_name("other"))
    assert answer_bank.main(["--root", str(course)]) == 2
    assert "solutions/other/other.md" in capsys.readouterr().err
    assert answer_bank.main([str(course / "nowhere"), "--assignment", "tiny", "--root", str(course)]) == 2
    assert "found no folder" in capsys.readouterr().err


def test_command_ends_with_one_line_of_totals(course, rewrite, capsys):
    assert answer_bank.main(["--root", str(course)], run_in_python) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("1 bank, 11 answers, 5 gradings, 25 cell scores compared: all as must be (")
    )
    rewrite("q2", "q2-test=1", "q2-test=2")
    assert (
        answer_bank.main([str(course / "tests" / "answers" / "tiny"), "--root", str(course)], run_in_python)
        == 1
    )
    assert ": 1 not as must be (" in capsys.readouterr().out.splitlines()[-1]


def test_graders_that_differ_are_caught():
    one = {"a": Graded({"q1": CellScore(2, 2, False)}), "b": Graded({}, failed=True)}
    assert answer_bank.differences(one, one) == []
    for other in (
        {**one, "a": Graded({"q1": CellScore(1, 2, False)})},
        {**one, "a": Graded({"q1": CellScore(2, 2, True)})},
        {**one, "a": Graded({})},
        {"a": one["a"]},
        {**one, "b": Graded({})},
    ):
        assert len(answer_bank.differences(one, other)) == 1


def test_a_problem_answered_less_often_repeats_its_reference(course):
    bank = read_bank(course / "tests" / "answers" / "tiny", read_source(source_text(course, "tiny")))
    plan = answer_bank.make_plan(bank)
    assert list(plan) == ["untouched", "reference", "answer-01", "answer-02", "answer-03"]
    assert [plan["answer-03"][name].kind for name in ("q1", "q2", "q3")] == ["wrong", "wrong", "reference"]
    assert {id(a) for chosen in plan.values() for a in chosen.values()} == {
        id(a) for b in bank.answers.values() for a in b
    }


def test_outputs_are_read_as_plain_text():
    cell = nbformat.v4.new_code_cell(
        outputs=[
            nbformat.v4.new_output("stream", text="printed\n"),
            nbformat.v4.new_output(
                "error", ename="AssertionError", evalue="\x1b[31mred\x1b[0m", traceback=["tb"]
            ),
            nbformat.v4.new_output("execute_result", data={"text/html": "<b>x</b>", "image/png": "AAAA"}),
        ]
    )
    assert output_text(cell) == "printed\n\nAssertionError: red\ntb\n<b>x</b>"


@pytest.mark.full
def test_the_courses_own_bank(capsys):
    """Reference 100 %, untouched release 0, every answer exactly its points, under stock nbgrader."""
    status = answer_bank.main([])
    assert status == 0, capsys.readouterr().out


def test_the_courses_own_bank_is_large_enough():
    """Each problem with a machine's points: at least two other right answers, at least five wrong ones."""
    for folder in sorted(p for p in (REPO / "tests" / "answers").glob("[!._]*") if p.is_dir()):
        bank = read_bank(folder, read_source(source_text(REPO, folder.name)))
        for name, problem in bank.problems.items():
            if problem.by_machine:
                kinds = [answer.kind for answer in bank.answers[name]]
                assert kinds.count("right") >= 2 and kinds.count("wrong") >= 5, (
                    f"{folder.name} {name}: {kinds}"
                )
