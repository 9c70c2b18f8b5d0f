"""The class of attackers and accidents, graded whole (long), and a few of each kind (short)."""

import sys
from pathlib import Path

import pytest

from kvcourse.grading import sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import hostile_class

FEW = (
    "^(skip-tags|overwrite-score|run-code|lying-(eq|int)|forged-names|answers-ahead|bad-magic|own-(memory|data)|"
    "scan-files|exception-text|collected-(printed|shown|file|visible-call)|argument-returned|script-output|fork-bomb|copied-answer|bad-json|linked-notebook|stderr-noise)$"
)


@pytest.fixture
def hardened():
    if sandbox.missing():
        pytest.skip(f"no hardened isolation here: {sandbox.missing()[0]}")


def test_a_few_attacks_win_nothing(hardened):
    said = []
    count, faults = hostile_class.run([], "hardened", FEW, workers=2, say=said.append)
    assert not faults, "\n".join(said)
    assert count == 25


@pytest.mark.full
def test_no_attack_wins_and_no_honest_student_loses(hardened):
    said = []
    count, faults = hostile_class.run([], "hardened", None, workers=2, say=said.append)
    assert not faults, "\n".join(said)
    assert count > 180


def test_further_cases_are_read_from_folders_and_a_point_that_is_won_is_seen(hardened, tmp_path, capsys):
    for name, points in (("honest", 3.0), ("attacker", 0.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "expected.toml").write_text(f"points = {points}\n")
        (tmp_path / name / "answers.txt").write_text("# cell: q1\ndef pages(t, s):\n    return -(-t // s)\n")
    assert hostile_class.main([str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "attacker: got 3 points, must get 0" in said and "\nhonest: " not in said
    assert said.endswith("4 submissions: 1 things not as must be\n")


@pytest.mark.parametrize("text", [None, "points = 'many'", "points ="])
def test_what_cannot_be_read_is_exit_2(tmp_path, text, capsys):
    (tmp_path / "one").mkdir()
    if text is not None:
        (tmp_path / "one" / "expected.toml").write_text(text)
    assert hostile_class.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("hostile_class: ")
    assert hostile_class.main([str(tmp_path / "nowhere")]) == 2
