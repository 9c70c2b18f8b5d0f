"""Own work: what a handed-in function reaches among the cells, by name."""

import pytest

from kvcourse.checks import CheckFailed, check, markers
from kvcourse.checks.own_work import borrowed


class Cells(markers.Plain):
    def __init__(self, *texts):
        self.texts = texts

    def cells(self):
        return list(self.texts)


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
        "def f(a):\n    match a:\n        case {'x': one, **rest}:\n            return one, rest",
        "match 3:\n    case n:\n        pass\ndef f(a):\n    return n * a",
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\ndef f(a):\n    return np.prod(a)",
        "from math import *\ndef f(a):\n    return prod(a)",
        "import sys\ndef f(a):\n    return min(a, sys.maxsize)",
        "import sys as s\ndef f(a):\n    return min(a, s.maxsize)",
        "if True:\n    SIZE = 2\nelse:\n    SIZE = 4\ndef f(a):\n    return SIZE * a",
        "TABLE = {}\nfor i, unit in enumerate('KMG'):\n    TABLE[unit] = i\ndef f(a):\n  return TABLE[a]",
        "while True:\n    x: int = 3\n    break\ndef f(a):\n    return x",
        "import contextlib\nwith contextlib.nullcontext(3) as x:\n    y = x\ndef f(a):\n    return x + y",
        "for f in [lambda c: [d for d in c]]:\n    pass",
        "x = 0\nx += 1\ndef f(a):\n    return a + x",
        "def f(config):\n    return getattr(config, 'head_dim')",
        "%matplotlib inline\ndef f(a):\n    display(a)\n    return [b for b in a]",
        "n: int\nn = 3\ndef f(a, *, b: int = n) -> int:\n    c: Any = b\n    return c",
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
        (["from kvcourse.memory import *\ndef f(a):\n    return kv_bytes(a)"], "without kvcourse"),
        (["if True:\n    from kvcourse.memory import k\ndef f(a):\n    return k(a)"], "without kvcourse"),
        (["def f(a):\n    return a", "if True:\n    from kvcourse.memory import kv_bytes as f"], "without"),
        (["from kvcourse.memory import kv_bytes as f", "if False:\n    f = 3"], "without kvcourse"),
        (["from kvcourse import memory\ndef f(a):\n    return a", "for f in [memory.kv_bytes]:\n    pass"],
         "without kvcourse"),
        (["from kvcourse import memory as m\ndef f(a):\n    return a\nwith m.x as f:\n    pass"], "without"),
        (["def f(a):\n    return a", "from kvcourse import m\nwhile (f := m.kv) is None: pass"],
         "without kvcourse"),
        (["def f(a):\n    return a", "from kvcourse.memory import *"], "without kvcourse"),
        (["def f(a):\n    return a", "def g():\n    global f\n    from kvcourse.memory import kv as f\ng()"],
         "without kvcourse"),
        (["def f(a):\n    return a", "from kvcourse import m as m\nf.__code__ = m.kv.__code__"], "without"),
        (["T = {}\ndef f(a):\n    return T[0](a)", "from kvcourse.memory import k\nT[0] = k"], "without"),
        (["from kvcourse.memory import k\ndef f(a):\n    def g(k): return k\n    return k(a)"], "without"),
        (["def f(a):\n    return a", "globals()['f'] = 3"], "`globals` has no place"),
        (["def f(a):\n    return a", "exec('f = 3')"], "`exec` has no place"),
        (["def f(a):\n    return a\nimport importlib\nm = importlib.import_module('x')"], "`importlib`"),
        (["def f(a):\n    return a\nfrom importlib import import_module as m"], "`importlib` has no place"),
        (["import pkgutil as p\ndef f(a):\n    return p.resolve_name(a)"], "`pkgutil` has no place"),
        (["import pickle\ndef f(a):\n    return pickle.loads(a)"], "`pickle` has no place"),
        (["def f(a):\n    return a\nx = eval('f')"], "`eval` has no place"),
        (["import sys\ndef f(a):\n    return sys.modules['kvcourse'].x(a)"], "`sys.modules` has no place"),
        (["import sys as s\ndef f(a):\n    return s.modules['kvcourse'].x(a)"], "`s.modules` has no place"),
        (["from sys import modules as m\ndef f(a):\n    return m"], "`sys.modules` has no place"),
        (["import sys\ndef f(a):\n    return getattr(sys, 'mod' + 'ules')"], "`getattr(sys)` has no place"),
        (["import sys\ndef f(a):\n    s = sys\n    return s.modules"], "`sys` has no place"),
        (["import os\ndef f(a):\n    return os.sys.modules"], "`os.sys` has no place"),
        (["import os\ndef f(a):\n    return getattr(os, 'sys')"], "`getattr(os)` has no place"),
        (["def f(a):\n    return f.__globals__[a]"], "`f.__globals__` has no place"),
        (["def f(a):\n    return get_ipython().run_cell(a)"], "`get_ipython` has no place"),
        (["def f(a):\n    return __import__('kvcourse.memory')"], "`__import__` has no place"),
        (["def f(a):\n    import importlib\n    return importlib"], "`importlib` has no place"),
        (["from importlib import *\ndef f(a):\n    return import_module(a)"], "`importlib` has no place"),
        (["def f(a):\n    return heads * a"], "`heads` is not defined"),
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


def test_plain_jupyter_leaves_check_cells_out(monkeypatch):
    class Shell:
        def __init__(self):
            self.user_ns = {"In": ["", "def f(a):\n    return a", "f = 3\ncheck.own_work('f')"]}

        transform_cell = staticmethod(str)

    monkeypatch.setattr(markers, "_ipython", Shell)
    assert markers.cells() == ["", "def f(a):\n    return a"]
    assert markers.source("f") == "def f(a):\n    return a"


@pytest.mark.parametrize("cell", ["from kvcourse.memory import f", "def f():\n    return eval", "x = 1"])
def test_refusal_is_one_sentence(cell):
    said = sentence(cell)
    assert "\n" not in said and said.endswith(".") and said.count(". ") == 0
