"""Where kvcourse grade and stock nbgrader agree, and the list of where stock is unjust and ours is not.

The banks' own comparison is `tests/answer_bank.py`; here every difference that is meant stands in a table.
"""

import shutil
from pathlib import Path

import pytest
from nbformat.v4 import writes

from kvcourse.course.files import CONFIG
from kvcourse.course.stock import grade as stock
from kvcourse.grading.engine import grade as ours

ROOT = Path(__file__).resolve().parents[2]
# answer to q1 of the tiny assignment: (what it does, points by stock, points by ours) of q1's 5
DIFFERENCES = {
    "warns": ("import warnings\ndef pages(t, s):\n    warnings.warn('x')\n    return -(-t // s)", 0, 5),
    "stderr": ("import sys\ndef pages(t, s):\n    print('x', file=sys.stderr)\n    return -(-t // s)", 0, 5),
    "shows-0": ("def pages(t, s):\n    get_ipython().displayhook(0.0)\n    return -(-t // s)", 0, 5),
    "exits": ("import os\ndef pages(t, s):\n    if t > 33: os._exit(0)\n    return -(-t // s)", 0, 2),
    "equals": ("class Y:\n    def __eq__(self, o): return True\ndef pages(t, s): return Y()", 3, 0),
}  # fmt: skip
SAME = {
    "right": ("def pages(t, s): return -(-t // s)", 5, 5),
    "wrong": ("def pages(t, s): return t // s", 0, 0),
    "raises": ("def pages(t, s): raise ValueError('x')", 0, 0),
    "stdout": ("def pages(t, s):\n    print('x')\n    return -(-t // s)", 5, 5),
    "syntax": ("def pages(t, s:", 0, 0),
}


@pytest.mark.full
def test_points_by_stock_and_by_ours(tmp_path):
    from kvcourse.course.authoring import released_notebook
    from kvcourse.course.bank import filled_in
    from kvcourse.course.source import read_source

    root = tmp_path / "root"
    shutil.copytree(ROOT / "tests" / "course" / "fixtures" / "tiny", root / "solutions" / "tiny")
    shutil.copy(ROOT / CONFIG, root)
    source, release = read_source(root / "solutions" / "tiny" / "tiny.md"), released_notebook(root, "tiny")
    table = {**DIFFERENCES, **SAME}
    handed_in = {name: writes(filled_in(release, {"q1": entry[0]})).encode() for name, entry in table.items()}
    got = [
        grader(root, "tiny", source, handed_in, tmp_path / str(number), "seed")
        for number, grader in enumerate((stock, ours))
    ]

    def points(graded):
        return sum(c.points or 0 for name, c in graded.cells.items() if name.startswith("q1"))

    assert {name: (points(got[0][name]), points(got[1][name])) for name in table} == {
        name: entry[1:] for name, entry in table.items()
    }
