"""The explorer's operations and first state; that the page's module does the same is shown in a browser."""

import json
import re

import pytest
import traitlets

from kvcourse import viz
from kvcourse.blocks import check
from kvcourse.errors import UserError
from kvcourse.widgets import STATIC_ENV, StaticWidget, block_table
from kvcourse.widgets.host import HERE
from kvcourse.widgets.live import BlockTable

SCRIPT = (HERE / "block_table.js").read_text(encoding="utf-8")
SCATTERED = [["start", "A", 6], ["start", "B", 5], ["append", "A", 3]]


def test_two_sequences_that_grow_in_turns_lie_scattered():
    manager = block_table.replay(SCATTERED, 4)
    assert manager.table("A").block_ids == [0, 1, 4] and manager.table("B").block_ids == [2, 3]
    assert manager.table("A").slot(8) == 16, "block 4, offset 0"


def test_the_first_write_to_a_shared_block_copies_it():
    manager = block_table.replay([*SCATTERED, ["fork", "A", "C"], ["append", "C", 1]], 4)
    assert manager.table("A").block_ids == [0, 1, 4] and manager.table("C").block_ids == [0, 1, 5]
    assert manager.pool.ref_counts[:6] == [2, 2, 1, 1, 1, 1] and manager.counters.blocks_copied == 1
    check(manager)


@pytest.mark.parametrize("block_size", block_table.BLOCK_SIZES)
def test_every_block_size_has_the_same_slots(block_size):
    manager = block_table.replay(SCATTERED, block_size)
    assert manager.pool.num_blocks * block_size == block_table.SLOTS and manager.filled_slots() == 14


def test_the_module_has_the_same_bounds():
    numbers = dict(re.findall(r"^const (SLOTS|MOST_TOKENS) = (\d+);", SCRIPT, re.MULTILINE))
    assert numbers == {"SLOTS": str(block_table.SLOTS), "MOST_TOKENS": str(block_table.MOST_TOKENS)}
    sizes = re.search(r"^const BLOCK_SIZES = \[(.+)\];", SCRIPT, re.MULTILINE)[1]
    assert tuple(map(int, sizes.split(", "))) == block_table.BLOCK_SIZES
    assert re.search(r'^const NAMES = "(\w+)";', SCRIPT, re.MULTILINE)[1] == block_table.NAMES


def test_in_a_notebook_and_on_the_site(monkeypatch):
    monkeypatch.delenv(STATIC_ENV, raising=False)
    live = viz.block_table(SCATTERED, sequence="B", position=4)
    assert isinstance(live, BlockTable) and live.operations == SCATTERED and live.position == 4
    assert block_table.replay(live.operations, live.block_size).num_tokens("A") == 9
    with pytest.raises(traitlets.TraitError):
        live.block_size = 5
    monkeypatch.setenv(STATIC_ENV, "1")
    static = viz.block_table(SCATTERED, sequence="B", position=4)
    assert isinstance(static, StaticWidget)
    assert static.state == {name: getattr(live, name) for name in static.state}
    assert json.loads(json.dumps(static.state)) == static.state


def test_without_a_script_the_tables_stand_in_words(monkeypatch):
    monkeypatch.setenv(STATIC_ENV, "1")
    page = viz.block_table(SCATTERED, position=8)._repr_html_()
    assert "A, 9 tokens: 0, 1, 4; B, 5 tokens: 2, 3." in page
    assert "Position 8 of A is in slot 16." in page


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"operations": [["begin", "A", 1]]}, "operation 1: expected .*got \\['begin'"),
        ({"operations": [["start", "F", 1]]}, "operation 1: expected"),
        ({"operations": [["start", "AB", 1]]}, "operation 1: expected"),
        ({"operations": [["start", "A", 17]]}, "operation 1: expected"),
        ({"operations": [["start", "A", True]]}, "operation 1: expected"),
        ({"operations": [["start", "A"]]}, "operation 1: expected"),
        ({"operations": ["start"]}, "operation 1: expected"),
        ({"operations": [["start", "A", 1], ["free", "B"]]}, "operation 2: no sequence 'B'"),
        ({"operations": [["start", "A", 16]] + [["append", "A", 16]] * 3}, "operation 4: .* 64 tokens takes"),
        ({"operations": [["start", n, 16] for n in "ABCD"]}, "operation 4: out of blocks"),
        ({"operations": []}, "expected a running sequence \\(none\\), got 'A'"),
        ({"sequence": "B"}, "expected a running sequence \\(A\\), got 'B'"),
        ({"sequence": ["A"]}, "expected a running sequence"),
        ({"position": 6}, "expected a position from 0 to 5, got 6"),
        ({"position": True}, "expected a position from 0 to 5, got True"),
        ({"block_size": 5}, "expected a block size among 2, 4, 8, 16, got 5"),
        ({"block_size": True}, "expected a block size among"),
    ],
)
def test_what_the_explorer_cannot_show_is_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        viz.block_table(**wrong)
