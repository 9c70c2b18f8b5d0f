"""Assignment 2 under any class seed: the reference passes, no score depends on the seed; the bank is rich.

Cells run here in one process and without a kernel; `tests/answer_bank.py` runs them under nbgrader.
"""

from pathlib import Path

import pytest

from cell_runner import run
from kvcourse.course.bank import filled_in, read_bank, reference_sources
from kvcourse.course.source import read_source

ROOT = Path(__file__).resolve().parent.parent
SOURCE = read_source(ROOT / "solutions" / "a2-memory" / "a2-memory.md")
BANK = read_bank(ROOT / "tests" / "answers" / "a2-memory", SOURCE)


@pytest.mark.parametrize("seed", ["answer bank", "spring", pytest.param("autumn", marks=pytest.mark.full)])
def test_reference_gets_every_point(monkeypatch, seed):
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", seed)
    points, said = run(SOURCE)
    assert sum(points.values()) == 46, {name: said[name] for name in points if "pass" not in said[name]}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_wrong_answers_get_their_points_under_other_seeds(monkeypatch, seed):
    """Nobody is lucky or unlucky: a class's seed changes no score. Each seed tries a quarter of the bank."""
    monkeypatch.setenv("KVCOURSE_CLASS_SEED", f"class {seed}")
    for name, answers in BANK.answers.items():
        for answer in answers[seed % 4 :: 4]:
            points, said = run(filled_in(SOURCE, answer.sources), name)
            worth = BANK.problems[name].by_machine
            wanted = {cell: answer.points.get(cell, 0) for cell in worth} if answer.kind == "wrong" else worth
            assert points == wanted, (str(answer), said)


def test_bank_has_enough_of_each_kind():
    assert len(BANK.problems) == 11 and sum(sum(p.by_machine.values()) for p in BANK.problems.values()) == 46
    for name, answers in BANK.answers.items():
        kinds = [answer.kind for answer in answers]
        wrong = [answer for answer in answers if answer.kind == "wrong"]
        assert kinds.count("right") >= 3 and len(wrong) >= 7, name
        assert any(answer.title.startswith("cheat") for answer in wrong), name
        assert all(answer.hints for answer in wrong), [str(answer) for answer in wrong if not answer.hints]


def test_no_cheat_wins_a_point():
    for answers in BANK.answers.values():
        for answer in answers:
            if answer.title.startswith("cheat"):
                assert not any(answer.points.values()), str(answer)


def test_reference_cells_are_those_of_the_source():
    assert set(reference_sources(SOURCE)) == {f"q{n}" for n in range(1, 12)}
