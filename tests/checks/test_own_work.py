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
    "scratch",
    [
        "t = []\nt.append(r)\nprint(f(1), r(1))",
        "assert f(3) == r(3)\nnp.testing.assert_allclose(f(3), r(3))\nprint(f, r)\nf(r(3))",
        "def same(a, b):\n    told = []\n    told.append(a(1) == b(1))\n    return told\nsame(f, r)",
        "seen = {}\ndef note(g):\n    seen[g] = g(2)\nfor g in (f, r):\n    note(g)",
        "for n in range(3):\n    print(n, f(n) - r(n))",
        "import timeit\nprint(timeit.timeit(lambda: f(1)), timeit.timeit(lambda: r(1)))",
        "import gc, subprocess\ngc.collect()\nx = sorted(vars(r))\ndef g():\n    return locals()",
        "if __name__ == '__main__':\n    print(f(1) == r(1))",
    ],
)
def test_comparing_with_the_package_in_a_scratch_cell_is_free(scratch):
    own = "import numpy as np\nSIZES = {'a': 1}\ndef f(a):\n    return np.prod(a) + SIZES['a']"
    assert sentence(own, "from kvcourse.memory import r", scratch) == ""


@pytest.mark.parametrize(
    "cell",
    [
        "import code_of_mine as code\ndef f(a):\n    return [code for code in a]",
        "def f(config, kind):\n    return getattr(config, 'num_' + kind) + getattr(config, f'{kind}_heads')",
        "import numpy as np\ndef f(a, how='ceil'):\n    return getattr(np, 'ceil')(getattr(a, how))",
        "import re\nfrom operator import attrgetter\ndef f(a):\n    return re.compile(a), attrgetter('x')",
        "import timeit\ndef f(a):\n    t = timeit.default_timer()\n    return '{a} {t}'.format(**locals())",
        "def f(a):\n    t = []\n    t.append(a)\n    return t\nt = f(1)\nt.append(f(2))",
        "class f:\n    def g(self):\n        return vars(self) == self.__dict__ and __name__",
        "import numpy as np\ndef f(a):\n    return np.load(a, allow_pickle=False)",
    ],
)
def test_honest_code_near_a_way_around_passes(cell):
    assert sentence(cell) == ""


TAKES = "from kvcourse.memory import kv as r\n"


@pytest.mark.parametrize(
    "cell",
    [
        "t = []\nt.append(r)\ndef f(a):\n    return t[0](a)",
        "t = [[]]\nt[0].append(r)\ndef f(a):\n    return t[0][0](a)",
        "t = {}\nt.update(r=r)\ndef f(a):\n    return t['r'](a)",
        "t = []\nlist.append(t, r)\ndef f(a):\n    return t[0](a)",
        "t = []\nassert t.append(r) is None\ndef f(a):\n    return t[0](a)",
        "t = []\nlist(map(t.append, [r]))\ndef f(a):\n    return t[0](a)",
        "t = []\ndef put(where, what):\n    where.append(what)\nput(t, r)\ndef f(a):\n    return t[0](a)",
        "t = []\nput = lambda where, what: where.append(what)\nput(t, what=r)\ndef f(a):\n    return t[0](a)",
        "t = []\ndef put():\n    t.append(r)\nput()\ndef f(a):\n    return t[0](a)",
        "t = []\n@t.append\ndef g(a):\n    return r(a)\ndef f(a):\n    return t[0](a)",
        "class Box:\n    pass\nsetattr(Box, 'p', r)\ndef f(a):\n    return Box.p(a)",
        "class f:\n    pass\nsetattr(f, 'g', r)",
        "class f:\n    pass\ntype.__setattr__(f, 'g', r)",
        "import operator\nt = {}\noperator.setitem(t, 0, r)\ndef f(a):\n    return t[0](a)",
        "import math\nsetattr(math, 'r', r)\ndef f(a):\n    return math.r(a)",
        "class Box:\n    t = []\n    t.append(r)\ndef f(a):\n    return Box.t[0](a)",
    ],
)
def test_what_a_call_puts_into_an_object_is_followed(cell):
    assert "`from kvcourse.memory import kv as r` is ready-made" in sentence(TAKES + cell)


@pytest.mark.parametrize(
    ("cell", "way"),
    [
        ("def f(a):\n    return a\nlocals()['f'] = r", "locals"),
        ("def f(a):\n    return a\nvars()['f'] = r", "vars"),
        ("def f(a):\n    return a\nv = vars\nv()['f'] = r", "vars"),
        ("def f(a):\n    return a\nimport __main__ as m\nm.f = r", "__main__"),
        ("def f(a):\n    return a\ng.__globals__['f'] = r", "g.__globals__"),
        ("def f(a):\n    return a\nget_ipython().user_ns['f'] = r", "user_ns"),
        ("%run -m kvcourse.memory\ndef f(a):\n    return a", "%run"),
        ("get_ipython().run_line_magic('run', 'x')\ndef f(a):\n    return a", "%run"),
        ("from os import sys as s\ndef f(a):\n    return s.modules[a]", "sys.modules"),
        ("from inspect import builtins as b\ndef f(a):\n    return b", "builtins"),
        ("import inspect\ndef f(a):\n    return inspect.builtins", "inspect.builtins"),
        ("import pydoc\ndef f(a):\n    return pydoc.locate(a)", "pydoc"),
        ("import timeit\ndef f(a):\n    timeit.timeit('x', 'y')", "timeit"),
        ("from timeit import timeit as t\ndef f(a):\n    t(stmt='x')", "t"),
        ("import code\ndef f(a):\n    return code.InteractiveInterpreter(a)", "code"),
        ("import _pickle\ndef f(a):\n    return _pickle.loads(a)", "_pickle"),
        ("import numpy as np\ndef f(a):\n    return np.load(a, allow_pickle=True)", "load(allow_pickle)"),
        ("from unittest import mock\ndef f(a):\n    return mock._importer(a)", "unittest.mock"),
        ("import unittest.mock\ndef f(a):\n    return unittest.mock._importer(a)", "unittest.mock._importer"),
        ("import operator as o\ndef f(a):\n    return o.attrgetter('s' + 'ys.modules')(a)", "attrgetter"),
        ("import operator as o\ndef f(a):\n    return o.attrgetter('sys.modules')(a)", "attrgetter"),
        ("def f(a, g={}):\n    type(f)(compile(a, 'x', 'exec'), g)()", "compile"),
        ("import gc\ndef f(a):\n    return gc.get_objects()", "gc"),
        ("def f(a):\n    return object.__subclasses__()", "object.__subclasses__"),
        ("import subprocess as s\ndef f(a):\n    return s.run(a)", "subprocess"),
        ("def f(a):\n    return print.__self__", "print.__self__"),
        ("import warnings as w\ndef f(a):\n    return w.__dict__['sys']", "w.__dict__"),
        ("def f(a):\n    return getattr(f, '__glo' + 'bals__')", "getattr"),
        ("def f(a):\n    return getattr(f, '__globals__')", "getattr"),
        ("def f(a):\n    return getattr(f, '__' + a)", "getattr"),
        ("def f(a):\n    return getattr(f, f'__{a}')", "getattr"),
        ("def f(a):\n    return getattr(f, '__slabolg__'[::-1])", "getattr"),
        ("def f(a):\n    return getattr(f, ''.join(a))", "getattr"),
        ("def f(a):\n    n = '__glo' + 'bals__'\n    return getattr(f, n)", "__globals__"),
    ],
)  # fmt: skip
def test_a_way_around_is_named(cell, way):
    assert f"`{way}` has no place" in sentence(cell)


@pytest.mark.parametrize("scratch", ["vars(m).update(r=r)", "m.__dict__.update(r=r)", "setattr(m, 'r', r)"])
def test_what_a_scratch_cell_puts_into_a_module_is_followed(scratch):
    assert "without kvcourse" in sentence("import math as m\ndef f(a):\n    return m.r(a)", TAKES + scratch)


@pytest.mark.parametrize("way", ["g.__globals__['f'] = 3", "g.__globals__.update(f=3)"])
def test_another_cell_may_not_replace_a_name_by_its_text(way):
    assert "has no place in the notebook" in sentence("def f(a):\n    return a", way)
    assert sentence("def f(a):\n    return a", "print(g.__globals__['f'])") == ""


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


@pytest.mark.parametrize(
    "cell",
    [
        "def f(q, _x: ca = None):\n    return f.__annotations__['_x'](q)",
        "import typing\ndef f(q, _x: ca = None):\n    return typing.get_type_hints(f)['_x'](q)",
        "from typing import get_type_hints as h\ndef f(q, _x: ca = None):\n    return h(f)['_x'](q)",
        "import inspect\ndef f(q, _x: ca):\n    return inspect.signature(f).parameters['_x'].annotation(q)",
        "import dataclasses as d\n@d.dataclass\nclass H:\n    x: ca\ndef f(q): return d.fields(H)[0].type(q)",
        "from dataclasses import fields\nclass H:\n    x: ca = None\ndef f(q): return fields(H)[0].type(q)",
        "class H:\n    x: ca\ndef f(q): return getattr(H, '__annotations__')['x'](q)",
    ],
)  # fmt: skip
def test_a_name_in_an_annotation_may_not_be_read_from_there(cell):
    first = "from kvcourse.attention import causal_attention as ca"
    assert "can reach kvcourse unnamed" in sentence(first, cell)


def test_annotations_that_nobody_reads_are_free():
    first = "from kvcourse.attention import causal_attention as ca"
    assert not sentence(first, "def f(q: ca, *, k: 'ca' = 1) -> ca:\n    x: ca = q\n    return x * k")
