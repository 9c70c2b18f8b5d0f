"""Each assignment under any class seed: the reference passes, no score depends on the seed; the bank is rich.

Cells run here in one process and without a kernel; `tests/answer_bank.py` runs them under nbgrader.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from cell_runner import run
from kvcourse.course.bank import filled_in, read_bank, reference_sources
from kvcourse.course.source import assignments, read_source

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Facts:
    """What an assignment must be: machine points, solution cells, answers a problem at least."""

    points: int
    problems: int
    cells: frozenset[str]
    right: int
    wrong: int


FACTS = {
    "a1-decoding": Facts(
        points=38,
        problems=9,
        cells=frozenset(
            [
                "q1-sentence",
                "q1",
                "q2",
                "q3",
                "q4",
                "q5",
                "q6",
                "q7-attend",
                "q7-class",
                "q8",
                "q9-positions",
                "q9-last",
            ]
        ),
        right=2,
        wrong=5,
    ),
    "a2-memory": Facts(
        points=37, problems=9, cells=frozenset(f"q{n}" for n in range(1, 10)), right=3, wrong=7
    ),
    "a3-contiguous": Facts(
        points=42,
        problems=10,
        cells=frozenset(
            [
                "q1-sentence",
                "q1",
                "q2",
                "q3",
                "q4-room",
                "q4-holes",
                "q5-up",
                "q5-halves",
                "q5-other",
                "q6",
                "q7-pool",
                "q7-tokens",
                "q8-policy",
                "q8-run",
                "q9-read",
                "q9-waste",
                "q9-audit",
                "q10-fit",
                "q10-step",
                "q10-why",
            ]
        ),
        right=3,
        wrong=7,
    ),
    "a4-paged": Facts(
        points=46, problems=10, cells=frozenset(f"q{n}" for n in range(1, 11)), right=3, wrong=7
    ),
    "field-guide": Facts(
        points=35,
        problems=9,
        cells=frozenset(["q9-risk", *(f"q{n}" for n in range(1, 10))]),
        right=3,
        wrong=7,
    ),
}
each_assignment = pytest.mark.parametrize("name", FACTS)


@cache
def source(name: str):
    return read_source(ROOT / "solutions" / name / f"{name}.md")


@cache
def bank(name: str):
    return read_bank(ROOT / "tests" / "answers" / name, source(name))


def test_every_assignment_is_here():
    assert set(FACTS) == set(assignments(ROOT))


@each_assignment
@pytest.mark.parametrize("seed", ["answer bank", "spring", pytest.param("autumn", marks=pytest.mark.full)])
def test_reference_gets_every_point(monkeypatch, name, seed):
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", seed)
    points, said = run(source(name))
    missed = {cell: text for cell, text in said.items() if not ("pass" in text or "has the form" in text)}
    assert sum(points.values()) == FACTS[name].points, missed


@pytest.mark.full
@each_assignment
@pytest.mark.parametrize("seed", range(20))
def test_wrong_answers_get_their_points_under_other_seeds(monkeypatch, name, seed):
    """Nobody is lucky or unlucky: a class's seed changes no score. Each seed tries a quarter of the bank."""
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", f"class {seed}")
    for problem, answers in bank(name).answers.items():
        for answer in answers[seed % 4 :: 4]:
            points, said = run(filled_in(source(name), answer.sources), problem)
            worth = bank(name).problems[problem].by_machine
            wanted = {cell: answer.points.get(cell, 0) for cell in worth} if answer.kind == "wrong" else worth
            assert points == wanted, (str(answer), said)


@each_assignment
def test_bank_has_enough_of_each_kind(name):
    facts, problems = FACTS[name], bank(name).problems
    assert len(problems) == facts.problems
    assert sum(sum(problem.by_machine.values()) for problem in problems.values()) == facts.points
    for problem, answers in bank(name).answers.items():
        wrong = [answer for answer in answers if answer.kind == "wrong"]
        right = [answer for answer in answers if answer.kind == "right"]
        assert len(right) >= facts.right and len(wrong) >= facts.wrong, problem
        assert any(answer.title.startswith("cheat") for answer in wrong), problem
        assert all(answer.hints for answer in wrong), [str(answer) for answer in wrong if not answer.hints]


@each_assignment
def test_no_cheat_wins_a_point(name):
    for answers in bank(name).answers.values():
        for answer in answers:
            if answer.title.startswith("cheat"):
                assert not any(answer.points.values()), str(answer)


@each_assignment
def test_reference_cells_are_those_of_the_source(name):
    assert set(reference_sources(source(name))) == FACTS[name].cells
