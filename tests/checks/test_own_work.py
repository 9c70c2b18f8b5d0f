"""Own work: what a handed-in function reaches among the cells, by name."""

import pytest

from kvcourse.checks import CheckFailed, check, markers
from kvcourse.checks.own_work import borrowed


class Cells(markers.Plain):
    def __init__(self, *cells):
        self.cells = cells

    def source(self, name):
        return next((text for cell in reversed(self.cells) if (text := markers.definition(cell, name))), "")


def sentence(*cells, name="f"):
    with markers.use(Cells(*cells)):
        return borrowed(name)


@pytest.mark.parametrize(
    "cell",
    [
        "def f(a, b=2):\n    return a * b",
        "import numpy as np\ndef f(a):\n    return np.prod(a)",
        "from math import prod\ndef f(a):\n    import re\n    return prod(a)",
        "TABLE = {'GiB': 2**30}\ndef f(a):\n    return [TABLE[x] for x in a]",
        "def f(config: ModelConfig, n: int) -> ModelConfig:\n    return n",
        "def g(n):\n    return f(n - 1) if n else 0\ndef f(n):\n    return g(n)",
        "f = lambda a: a + 1",
        "class Table:\n    size = 2\ndef f(a):\n    return Table.size * a",
        "def f(a):\n    try:\n        return a[0]\n    except IndexError as e:\n        raise ValueError(e)",
        "from kvcourse.memory import kv_bytes\ndef f(a):\n    return 2 * a",  # imported and not used
    ],
)
def test_own_work_passes(cell):
    assert sentence(cell) == ""


@pytest.mark.parametrize(
    ("cells", "part"),
    [
        (["def f(a):\n    from kvcourse.memory import kv_bytes\n    return kv_bytes(a)"], "without kvcourse"),
        (["import kvcourse.memory as np\ndef f(a):\n    return np.kv_bytes(a)"], "without kvcourse"),
        (["from kvcourse import memory", "def f(a):\n    return memory.kv_bytes(a)"], "without kvcourse"),
        (["from kvcourse.memory import kv_bytes as f"], "without kvcourse"),
        (["from kvcourse.memory import kv_bytes\nf = kv_bytes"], "without kvcourse"),
        (["from kvcourse.memory import units as k\ng = k\ndef f(a):\n    return g(a)"], "without kvcourse"),
        (["from kvcourse.memory import *\ndef f(a):\n    return kv_bytes(a)"], "`kv_bytes` is not defined"),
        (["if True:\n    from kvcourse.memory import k\ndef f(a):\n    return k(a)"], "not defined"),
        (["def f(a):\n    return __import__('kvcourse.memory')"], "`__import__` has no place"),
        (["def f(a):\n    import importlib\n    return importlib"], "`importlib` has no place"),
        (["x = 1"], "`f` is not defined"),
    ],
)  # fmt: skip
def test_borrowed_work_is_named(cells, part):
    assert part in sentence(*cells)
    with markers.use(Cells(*cells)), pytest.raises(CheckFailed, match="f\n"):
        check.own_work("f")
