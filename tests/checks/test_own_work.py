"""Own work: what a handed-in function reaches among the cells, by name."""

import pytest

from kvcourse.checks import CheckFailed, check, markers
from kvcourse.checks.own_work import borrowed


class Cells(markers.Plain):
    def __init__(self, *cells):
        self.cells = cells

    def source(self, name):
        return next((text for cell in reversed(self.cells) if (text := markers.definition(cell, name))), "")


def sentence(*cells, name="f", given=()):
    with markers.use(Cells(*cells)):
        return borrowed(name, given=given)


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
        "def f(a):\n    match a:\n        case [one, *rest]:\n            return one, rest",
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


@pytest.mark.parametrize(
    ("cell", "passes"),
    [
        ("from kvcourse.caches import GrowingCache\ndef f(a):\n    return GrowingCache(a)", True),
        ("def f(a):\n    from kvcourse.caches import GrowingCache as C\n    return C(a)", True),
        ("from kvcourse.caches import GrowingCache\nclass f(GrowingCache):\n    pass", True),
        ("from kvcourse.caches import GrowingCache, PagedCache\ndef f(a):\n    return PagedCache(a)", False),
        ("def f(a):\n    from kvcourse.decoder import a as GrowingCache\n    return GrowingCache", False),
        ("import kvcourse as GrowingCache\ndef f(a):\n    return GrowingCache.memory", False),
    ],
)  # fmt: skip
def test_what_is_given_may_be_used(cell, passes):
    assert (sentence(cell, given=("GrowingCache",)) == "") == passes


@pytest.mark.parametrize("cell", ["from kvcourse.memory import f", "def f():\n    return eval", "x = 1"])
def test_refusal_is_one_sentence(cell):
    said = sentence(cell)
    assert "\n" not in said and said.endswith(".") and said.count(". ") == 0
