# ruff: noqa: E501  (tables of one-line entries)
"""What the parent believes of a checker's message: only what has the right form."""

import pytest

from kvcourse.grading.outcome import fault_problem, read_outcome, score
from kvcourse.grading.outputs import MAX_TEXT, Room, Sink, checked

TEXT = {"output_type": "stream", "name": "stdout", "text": "a"}


@pytest.mark.parametrize(
    ("message", "points"),
    [
        ({"passed": True}, 3.0),
        ({"passed": True, "value": "1.5"}, 1.5),
        ({"passed": 1}, 0.0),
        ({"passed": "True"}, 0.0),
        ({}, 0.0),
        ({"passed": True, "value": "nan"}, 0.0),
        ({"passed": True, "value": "inf"}, 0.0),
        ({"passed": True, "value": "-0.5"}, 0.0),
        ({"passed": True, "value": "3.01"}, 0.0),
        ({"passed": True, "value": 2}, 3.0),  # a value that is no text is no value
        ({"passed": True, "fault": "died", "kind": "PeerDied"}, 0.0),
        ({"passed": True, "kind": "PeerDied"}, 0.0),
        ({"passed": True, "problem": "odd"}, 0.0),
        ({"passed": True, "outputs": "x", "hidden": 3}, 3.0),
    ],
)
def test_points_follow_from_well_formed_parts(message, points):
    assert score(read_outcome("t", "test", message), 3.0)[0] == points


def test_outputs_without_marks_are_dropped():
    assert read_outcome("t", "test", {"outputs": [TEXT], "hidden": []}).outputs == []
    assert read_outcome("t", "test", {"outputs": [TEXT], "hidden": [0]}).hidden == [True]


@pytest.mark.parametrize("kind", ["CellTimeout", "PeerDied", "ProtocolError", "NotRun", "other"])
def test_every_fault_has_a_sentence(kind):
    problem = fault_problem(read_outcome("t", "test", {"fault": "f", "kind": kind}))
    assert problem.cell == "t" and problem.sentence.endswith(".")
    assert problem.needs_person == (kind not in ("CellTimeout", "PeerDied"))


@pytest.mark.parametrize(
    "output",
    [None, 3, [], {}, {"output_type": "clear_output"}, {"output_type": "stream", "text": 3},
     {"output_type": "display_data", "data": {"application/javascript": "alert(1)"}},
     {"output_type": "display_data", "data": {"text/html": 3}}, {"output_type": "display_data", "data": None}],
)  # fmt: skip
def test_what_is_no_output_does_not_pass(output):
    assert checked(output, Room()) is None


def test_a_result_of_a_student_is_never_an_execute_result():
    got = checked(
        {"output_type": "execute_result", "data": {"text/plain": "3"}, "metadata": {"x": 1}}, Room()
    )
    assert got == {"output_type": "display_data", "data": {"text/plain": "3"}, "metadata": {}}


def test_text_is_cut_once_and_pictures_that_do_not_fit_are_left_out():
    room = Room()
    texts = [checked({**TEXT, "text": "x" * 1000 + "\n"}, room) for _ in range(200)]
    total = sum(len(output["text"]) for output in texts if output)
    assert MAX_TEXT <= total < MAX_TEXT + 200 and sum("cut" in o["text"] for o in texts if o) == 1
    picture = {"output_type": "display_data", "data": {"image/png": "A" * 1_000_000}}
    assert [checked(picture, room) is None for _ in range(3)] == [False, True, True]


def test_text_that_no_file_can_hold_is_replaced():
    assert checked({**TEXT, "text": "a\0b\ud800"}, Room())["text"] == "a\ufffdb?"


def test_a_sink_joins_streams_of_one_part_only():
    sink = Sink()
    for hidden in (False, False, True, True, False):
        sink.place = lambda hidden=hidden: hidden
        sink.add(dict(TEXT))
    assert [output["text"] for output in sink.outputs] == ["aa", "aa", "a"]
    assert sink.hidden == [False, True, False]
