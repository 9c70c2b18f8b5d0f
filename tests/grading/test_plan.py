# ruff: noqa: E501  (tables of one-line entries)
"""Plans: structure and tests are the instructor's, whatever the submission says."""

import copy

import pytest
from made_masters import make_master
from nbformat.v4 import new_code_cell, new_markdown_cell

from kvcourse.grading.plan import bound_names, hidden_lines, imported_modules, make_plan
from kvcourse.grading.submission import SubmittedCell, cells_of

TESTS = {"t1": "assert f() == 3\n### BEGIN HIDDEN TESTS\nassert f() == 4\n### END HIDDEN TESTS", "t2": "f()"}
MASTER = make_master(TESTS, "def f():\n    return 3")


def planned(cells):
    return make_plan(MASTER, cells)


def submitted(**changes):
    return [
        SubmittedCell(c.cell_type, changes.get(c.metadata.nbgrader.grade_id, c.source), c.metadata.nbgrader.grade_id)
        for c in MASTER.cells
    ]  # fmt: skip


def test_answers_are_taken_and_tests_are_not():
    plan = planned(submitted(q1="def f(): return 9", t1="pass", setup="evil()"))
    sources = {cell.key: cell.source for cell in plan.cells}
    assert sources["q1"] == "def f(): return 9"
    assert sources["t1"] == TESTS["t1"] and "evil" not in sources["setup"]
    assert [job["kind"] for job in plan.jobs()] == ["setup", "student", "test", "test"]
    assert {problem.code for problem in plan.problems} == {"locked-cell-changed"}


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]])
def test_the_order_is_the_instructor_s(order):
    cells = submitted()
    assert [c.key for c in planned([cells[i] for i in order]).cells] == ["setup", "q1", "t1", "t2"]


def test_copies_of_an_answer_run_in_order_and_the_last_one_counts():
    cells = submitted(q1="second")
    plan = planned([SubmittedCell("code", "first", "q1"), *cells])
    assert [(c.key, c.source) for c in plan.cells if c.runs == "student"] == [
        ("q1-copy1", "first"),
        ("q1", "second"),
    ]
    assert [problem.code for problem in plan.problems] == ["copied-cell"]


def test_missing_cells_are_reported_and_tests_still_run():
    plan = planned([])
    assert [c.key for c in plan.cells] == ["setup", "q1", "t1", "t2"] and plan.cells[1].source == ""
    assert [(p.code, p.cell, p.needs_person) for p in plan.problems] == [
        ("missing-cell", "setup", False), ("missing-cell", "q1", True), ("missing-cell", "t1", False),
        ("missing-cell", "t2", False),
    ]  # fmt: skip


def test_own_cells_stay_behind_the_cell_that_they_followed():
    cells = submitted()
    own = SubmittedCell("code", "x = 1")
    plan = planned([own, cells[0], cells[1], own, SubmittedCell("markdown", "note"), *cells[2:]])
    assert [c.key for c in plan.cells] == ["top-own1", "setup", "q1", "q1-own1", "q1-own2", "t1", "t2"]
    assert len(plan.jobs()) == 6


def test_an_unlocked_cell_of_the_release_is_taken_by_id_or_text_and_never_twice():
    master = copy.deepcopy(MASTER)
    master.cells.insert(2, new_code_cell("demo = 1", id="demo"))
    master.cells.insert(2, new_markdown_cell("Some text.", id="text"))
    by_text = [SubmittedCell("markdown", "Some text."), SubmittedCell("code", "demo = 1")]
    assert [c.key for c in make_plan(master, by_text).cells] == ["setup", "q1", "text", "demo", "t1", "t2"]
    by_id = make_plan(master, [SubmittedCell("code", "demo = 2", id="demo")])
    assert {c.key: c.source for c in by_id.cells}["demo"] == "demo = 2" and "demo" in by_id.exports


def test_tests_may_use_the_names_of_the_instructor_s_own_solution():
    assert planned(submitted(q1="expected = score = f = 1")).exports == ["f"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = b, (c, *d) = 1\ne: int = 2\nf += 1", {"a", "b", "c", "d", "e", "f"}),
        ("def f(x):\n    y = 1\nclass C:\n    z = 1\nasync def g(): pass", {"f", "C", "g"}),
        ("if x:\n    a = 1\nelse:\n    b = 2\nfor i in x:\n    c = 1\nwith x as d: pass", {"a", "b", "i", "c", "d"}),
        ("try:\n    a = 1\nexcept E:\n    b = 2\nimport x.y, z as w\nfrom p import q", {"a", "b", "x", "w", "q"}),
        ("[i for i in x]\n(lambda k: k)\nif (n := 3): pass", {"n"}),
        ("%matplotlib inline\na = 1", {"a"}),
        ("def broken(:", set()),
    ],
)  # fmt: skip
def test_bound_names(source, names):
    assert bound_names(source) == names


def test_hidden_lines_are_those_between_the_markers():
    assert hidden_lines("a\n# BEGIN HIDDEN TESTS\nb\n# END HIDDEN TESTS\nc") == ((2, 4),)
    assert hidden_lines("a") == ()


def test_modules_are_found_in_every_cell():
    master = make_master(
        {"t": "from a.b import c\nimport d.e as f, g"}, "if x:\n    import h", setup="import torch"
    )
    assert imported_modules(master) == ["torch", "h", "a.b", "d.e", "g"]


def test_cells_of_a_submitted_notebook_keep_what_grading_uses():
    document = {
        "cells": [
            {
                "cell_type": "code",
                "source": ["a\n", "b"],
                "id": "i",
                "metadata": {"nbgrader": {"grade_id": "q1"}, "tags": ["t"]},
            }
        ]
    }
    assert cells_of(document) == [SubmittedCell("code", "a\nb", "q1", "i", ("t",))]
