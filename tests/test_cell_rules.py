"""The lint of test cells: the assignments keep every rule, and each rule fires on a small bad example."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import lint_cells
from kvcourse.course.source import read_source
from lint_cell_rules import CELL_RULES
from lint_cells import lint
from lint_model import GradedCell
from lint_problem_rules import NOTEBOOK_RULES

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(ROOT.glob("solutions/*/*.md"))
RULES = {rule.__name__: rule for rule in CELL_RULES}

GOOD = """
from kvcourse.checks import check, hidden

for n, want in [(3, 6), (1, 2)]:
    check.integer(f(n), want, f"f({n})", quantity="rows_projected", prompt=1, new=n, cached=True)
### BEGIN HIDDEN TESTS
import torch
from kvcourse.checks.seed import class_rng

rng = class_rng("q2-test")
generator = torch.Generator().manual_seed(rng.getrandbits(63))
x = torch.randn(3, generator=generator)
want = 2 * x
got = f(x)
hidden.tensor(got, want, "f")
inside = bool((got >= -9).all())
hidden.that(inside, "f", "Too small.")
assert type(got) is torch.Tensor and got.shape == want.shape
err = float((got - want).abs().max())
assert err <= 1e-6
### END HIDDEN TESTS
check.passed("q2-test")
"""


def findings(name, source, points=1):
    return list(RULES[name](GradedCell("q2-test", source, points, {"f"})))


@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_assignments_keep_every_rule(path):
    assert [str(finding) for finding in lint(read_source(path))] == []


@pytest.mark.parametrize("name", RULES)
def test_good_cell_breaks_no_rule(name):
    assert findings(name, GOOD) == []


BAD = {
    "reads_as_python": ["%timeit f(1)", "!ls", "f(1"],
    "catches_by_name": [
        "try:\n    f(1)\nexcept:\n    pass",
        "try:\n    f(1)\nexcept Exception:\n    pass",
        "try:\n    f(1)\nexcept (ValueError, BaseException):\n    pass",
    ],
    "runs_nothing_of_the_answer": [
        "x = f(1)\neval(x)",
        "exec('1')",
        "import pickle\npickle.loads(b'')",
        "import torch\ntorch.load(f(1))",
        "open(f(1))",
        "getattr(f(1), 'length')",
        "x = f(1)\nassert isinstance(x, int)",
        "y = f(1).format(3)",
        "import re\nre.match('a', f(1))",
        "x = f(1)\ntext = f'{x}'",
        "get_ipython()",
    ],
    "asserts_what_must_hold": [
        "assert f(1)",
        "x = f(1)\nassert x",
        "x = f(1)\nassert not x",
        "assert f(1) != f(2)",
        "x = f(1)\nassert x is not None",
        "assert 3 not in f(1)",
        "a, b = f(1), f(2)\nassert a == b",
        "assert 1 <= 2 and f(1) != 2",
    ],
    "lets_nan_fail": ["err = f(1) - 2\nif err > 1e-6:\n    raise AssertionError"],
    "checks_type_first": [
        "x = f(1)\nassert x == 2",
        "from kvcourse.checks import check\nx = f(1)\nassert x <= 2\ncheck.integer(x, 2, 'f')",
    ],
    "counts_before_it_loops": [
        "for a, b in zip(f(1), [1]):\n    assert 1 <= 2",
        "x = f(1)\nfor item in x:\n    pass",
        "ok = all(item for item in f(1))",
        "x = f(1)\nok = any(x)",
    ],
    "expects_before_it_calls": [
        "from kvcourse.checks import check\ncheck.integer(f(1), f(1), 'f')",
        "from kvcourse.checks import check\ngot = f(1)\nwant = got + 1\ncheck.integer(f(2), want, 'f')",
        "from kvcourse.checks import check\nwant = 3\ncheck.integer(f(want), want, 'f')",
        "### BEGIN HIDDEN TESTS\nwant = 3\nassert 1 <= 2, f'expected {want}'\n### END HIDDEN TESTS",
    ],
    "ends_quietly": ["f(1)", "x = 3\nx", "True", "score = 2.0\nscore", "f(1) <= 2"],
    "draws_from_the_class_seed": [
        "### BEGIN HIDDEN TESTS\nimport torch\ntorch.manual_seed(0)\n### END HIDDEN TESTS",
        "### BEGIN HIDDEN TESTS\nimport torch\nx = torch.randn(3)\n### END HIDDEN TESTS",
        "### BEGIN HIDDEN TESTS\nimport random\nx = random.randint(1, 2)\n### END HIDDEN TESTS",
        "### BEGIN HIDDEN TESTS\nimport random\nx = random.Random(3)\n### END HIDDEN TESTS",
        "### BEGIN HIDDEN TESTS\nimport numpy as np\nx = np.random.default_rng()\n### END HIDDEN TESTS",
        "### BEGIN HIDDEN TESTS\nrng = class_rng('q2')\n### END HIDDEN TESTS",
    ],
    "shows_and_hides": [
        "assert 1 <= f(1)",
        "### BEGIN HIDDEN TESTS\nassert 1 <= f(1)\n### END HIDDEN TESTS",
        "assert 1 <= f(1)\n### BEGIN HIDDEN TESTS\n# nothing yet\n### END HIDDEN TESTS",
    ],
    "says_what_was_checked": [
        "check.one_of(f(), 'abcd', 'f()')\ncheck.passed('q2-test')",
        "check.own_work('f')\nx = check.choices(f(), 'abcd', 'f()')\ncheck.passed('q2-test')",
        "x, y = check.record(f(), ['a', 'b'], 'f()')\ncheck.one_of(x, 'ab', 'f()')\ncheck.passed('q2-test')",
        "x = check.one_of(f(1), 'ab', 'f(1)')\ncheck.that(x == 'a', 'f(1)', 'No.')\ncheck.formed('q2-test')",
        "x = f()\ncheck.integer(x, 3, 'f()')\ncheck.formed('q2-test')",
        "x = f()\nassert type(x) is str and x == 'a'\ncheck.one_of(x, 'ab', 'f()')\ncheck.formed('q2-test')",
    ],
    "raises_and_does_not": [
        "from kvcourse.checks import check\ncheck.raises(ValueError, f, -1, case='f(-1)')",
        "import pytest\nwith pytest.raises(ValueError):\n    f(-1)",
    ],
    "stands_alone": ["check.integer(f(1), 1, 'f')", "y = torch.zeros(1)"],
    "is_worth_something": [],
}


@pytest.mark.parametrize(("name", "source"), [(name, source) for name in BAD for source in BAD[name]])
def test_rule_fires_on_a_bad_cell(name, source):
    assert findings(name, source)


@pytest.mark.parametrize("points", [0, -1, None, True, "2"])
def test_points_are_above_zero(points):
    assert findings("is_worth_something", GOOD, points)


def test_a_score_may_come_from_a_size():
    source = "from kvcourse.checks import blind\nscore = blind.size(f(), 3, 'f()', 2, 1)\nscore"
    assert findings("ends_quietly", source) == []


CHOICE = """
from kvcourse.checks import check, hidden

letter = check.one_of(f(), "abcd", "f()")
### BEGIN HIDDEN TESTS
hidden.that(letter == "c", "f()", "Look again.")
assert letter == "c"
### END HIDDEN TESTS
check.formed("q2-test")
"""


@pytest.mark.parametrize("name", RULES)
def test_a_choice_that_only_the_hidden_part_judges_is_fine(name):
    assert findings(name, CHOICE) == []


def test_must_raise_beside_must_not_raise_is_fine():
    source = """
from kvcourse.checks import check
check.raises(ValueError, f, -1, case="f(-1)")
check.integer(f(1), 1, "f(1)")
"""
    assert findings("raises_and_does_not", source) == []


# ---- problems ------------------------------------------------------------------------------------

TEXT = """## Problem 2: rows

**3 points (1 of them by hand) · 5 minutes · ★★ · needs: chapter 1 · CPU**

**Deliver** `f(n)`. **Example.** `f(3) == 6`.

<details><summary>Nudge</summary></details>
<details><summary>Pseudocode</summary></details>
<details><summary>"I get 7"</summary></details>
"""
SOLUTION = 'def f(n):\n    """Twice n."""\n    ### BEGIN SOLUTION\n    return 2 * n\n    ### END SOLUTION'
RUBRIC = GOOD.replace("import torch\n", "# Rubric for q2-sentence: 1 point.\nimport torch\n", 1)


def cell(kind, source, grade_id=None, points=None, tags=(), **flags):
    made = nbformat.v4.new_code_cell(source) if kind == "code" else nbformat.v4.new_markdown_cell(source)
    if grade_id:
        made.metadata["nbgrader"] = {
            "grade_id": grade_id, "grade": points is not None, "points": points, "solution": False, **flags,
        }  # fmt: skip
    if tags:
        made.metadata["tags"] = list(tags)
    return made


def notebook(**changes):
    parts = {
        "text": cell("markdown", TEXT, "q2-text"),
        "written": cell(
            "markdown", "### BEGIN SOLUTION\nTwice.\n### END SOLUTION", "q2-sentence", 1, solution=True
        ),
        "solution": cell("code", SOLUTION, "q2", solution=True),
        "first": cell("code", RUBRIC, "q2-test", 1),
        "second": cell("code", GOOD.replace('class_rng("q2-test")', 'class_rng("q2-more")'), "q2-more", 1),
        "why": cell("markdown", "Because.", tags=["why"]),
    }
    return nbformat.v4.new_notebook(cells=[part for part in (parts | changes).values() if part is not None])


def test_good_problem_breaks_no_rule():
    assert [str(finding) for finding in lint(notebook())] == []


NO_HINTS = GOOD.replace(', quantity="rows_projected", prompt=1, new=n, cached=True', "")
BAD_PROBLEMS = {
    "has_unique_ids": [{"second": cell("code", GOOD, "q2-test", 1)}],
    "has_a_header_line": [
        {"text": cell("markdown", TEXT.replace("★★", "hard"), "q2-text")},
        {"text": cell("markdown", TEXT.replace("3 points", "4 points"), "q2-text")},
        {"text": cell("markdown", TEXT.replace(" (1 of them by hand)", ""), "q2-text")},
        {"text": None},
    ],
    "has_help": [
        {"text": cell("markdown", TEXT.replace(word, "x"), "q2-text")}
        for word in ("Nudge", "Pseudocode", '"I get 7"', "**Deliver**", "**Example")
    ],
    "says_why": [{"why": None}],
    "names_mistakes": [
        {
            "first": cell(
                "code",
                NO_HINTS.replace("import torch", "# Rubric for q2-sentence\nimport torch"),
                "q2-test",
                1,
            )
        },
    ],
    "grades_by_behavior": [{"second": None}],
    "has_a_rubric": [
        {"first": cell("code", GOOD, "q2-test", 1)},
        {"written": cell("markdown", "Twice.", "q2-sentence", 1, solution=True)},
    ],
    "states_contracts": [
        {"solution": cell("code", "def f(n):\n    return 2 * n", "q2", solution=True)},
        {"solution": cell("code", SOLUTION.replace('    """Twice n."""\n', ""), "q2", solution=True)},
    ],
}


@pytest.mark.parametrize(
    ("rule", "changes"), [(r, c) for r in BAD_PROBLEMS for c in BAD_PROBLEMS[r]], ids=str
)
def test_rule_fires_on_a_bad_problem(rule, changes):
    assert rule in {finding.rule for finding in lint(notebook(**changes))}


def test_every_rule_has_a_bad_example_and_says_what_it_asks():
    assert set(BAD) == set(RULES)
    assert set(BAD_PROBLEMS) == {rule.__name__ for rule in NOTEBOOK_RULES}
    assert all(rule.__doc__ for rule in (*CELL_RULES, *NOTEBOOK_RULES))


def test_command_says_what_and_exits_so(tmp_path, capsys):
    assert lint_cells.main([]) == 0
    assert "no findings" in capsys.readouterr().out
    assert lint_cells.main([str(tmp_path / "missing.md")]) == 2
    err = capsys.readouterr().err
    assert "missing.md" in err and "Traceback" not in err
    text = SOURCES[0].read_text().replace("class_rng(", "class_rng('x' or ")
    (tmp_path / SOURCES[0].name).write_text(text)
    assert lint_cells.main([str(tmp_path / SOURCES[0].name)]) == 1
    assert "[draws_from_the_class_seed]" in capsys.readouterr().out


def test_command_runs_as_a_program():
    done = subprocess.run([sys.executable, ROOT / "tests" / "lint_cells.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
