# ruff: noqa: E501  (an answer and its test are one entry of a table)
"""Test cells against answers, each in its process: what passes, what fails, and what can never be
swallowed.
"""

import time

import pytest

from kvcourse.grading.outcome import score

F = "def f(*args):\n    "


def errors(outcome):
    return [output["ename"] for output in outcome.outputs if output["output_type"] == "error"]


# ---- shapes of exercises that must work (answer, test) -------------------------------------------------

WORKS = {
    "number": ("def f(a, b): return a + b", "assert f(2, 3) == 5"),
    "tensor": ("def f(x): return x.T * 2", "x = torch.randn(2, 3)\nassert torch.equal(f(x), x.T * 2)"),
    "bfloat16": ("def f(x): return x.bfloat16()", "assert f(torch.ones(3)).dtype == torch.bfloat16"),
    "nested": ("def f(x): return {'a': [x, (x, None)]}", "assert f(1.5) == {'a': [1.5, (1.5, None)]}"),
    "object": (
        "class C:\n    def __init__(self, n): self.n = n\n    def step(self): self.n += 1; return self.n",
        "c = C(3)\nassert c.step() == 4 and c.n == 4\nc.n = 9\nassert c.step() == 10",
    ),
    "container": (
        "class C:\n    def __len__(self): return 2\n    def __getitem__(self, i): return i * 2\n"
        "    def __contains__(self, x): return x == 7\n    def __iter__(self): return iter([1, 2])",
        "c = C()\nassert len(c) == 2 and c[4] == 8 and 7 in c and list(c) == [1, 2]",
    ),
    "generator": ("def f(n):\n    for i in range(n): yield i", "assert [x for x in f(3)] == [0, 1, 2]"),
    "infinite": ("def f():\n    n = 0\n    while True: yield n; n += 1", "assert [x for x, _ in zip(f(), range(3))] == [0, 1, 2]"),
    "send": ("def f():\n    got = yield 1\n    yield got", "g = f()\nassert next(g) == 1 and g.send(7) == 7"),
    "context": (
        "import contextlib\nlog = []\n@contextlib.contextmanager\ndef f():\n    log.append(1); yield 5; log.append(2)",
        "with f() as x:\n    assert x == 5\nassert list(f.__name__) and True",
    ),
    "callback": ("def f(g): return [g(i) for i in range(3)]", "assert f(lambda i: i * 10) == [0, 10, 20]"),
    "re-entry": ("def f(g): return g(f2)\ndef f2(x): return x + 1", "assert f(lambda h: h(1)) == 2"),
    "function returned": ("def f(n): return lambda x: x + n", "add = f(3)\nassert add(4) == 7"),
    "memory error": ("def f(x): raise MemoryError('out of blocks')", "try:\n    f(1)\nexcept MemoryError as e:\n    assert e.args == ('out of blocks',)\nelse:\n    raise AssertionError"),
    "builtin error": ("def f(x): raise KeyError('a')", "try:\n    f(1)\nexcept KeyError as e:\n    assert e.args == ('a',)\nelse:\n    raise AssertionError"),
    "course error": (
        "from kvcourse.errors import CacheError\ndef f(): raise CacheError('full')",
        "from kvcourse.errors import CacheError\ntry:\n    f()\nexcept CacheError as e:\n    assert str(e) == 'full'\nelse:\n    raise AssertionError",
    ),
    "own error": (
        "class Full(ValueError): pass\ndef f(): raise Full('x')",
        "try:\n    f()\nexcept Full as e:\n    assert isinstance(e, ValueError)\nelse:\n    raise AssertionError",
    ),
    "in place": ("def f(x): x.zero_()", "x = torch.ones(3)\nf(inout(x))\nassert float(x.abs().max()) <= 0"),
    "list in place": ("def f(l): l.append(4); l[0] = 9", "l = [1]\nf(inout(l))\nassert l == [9, 4]"),
    "dict in place": ("def f(d): d.update(b=2)", "d = {'a': 1}\nf(inout(d))\nassert d == {'a': 1, 'b': 2}"),
    "view of a cache": (
        "class C:\n    def __init__(self): self.k = torch.zeros(4)\n    def view(self): return self.k[:2]\nimport torch",
        "c = C()\nv = hold(c.view)()\nv[...] = 5.0\nassert c.k.tolist() == [5, 5, 0, 0]",
    ),
    "not an alias": (
        "class C:\n    def add(self, k): self.k = k.clone()\n    def get(self): return self.k",
        "c, k = C(), put(torch.ones(3))\nc.add(k)\nk[...] = 0.0\nassert value(k).tolist() == [0, 0, 0] and c.get().tolist() == [1, 1, 1]",
    ),
    "operator": (
        "class V:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n    def __add__(self, o): return V(self.x + o.x)",
        "assert op('eq', V(1), V(1)) is True\nassert op('add', V(1), V(2)).x == 3",
    ),
    "autograd": ("def f(x): return (x ** 2).sum()", "y, (g,) = vjp(f, [torch.tensor([1.0, 2.0], requires_grad=True)])\nassert g.tolist() == [2, 4]"),
    "source": ("def f(x):\n    return x + 1", "import ast\nassert not any(isinstance(n, ast.For) for n in ast.walk(ast.parse(source('f'))))\nassert 'x + 1' in source('f')"),
    "counted model": (
        "def f(model): return model.forward([1]) + model.forward([2])",
        "class M:\n    rows = 0\n    def forward(self, ids):\n        self.rows += len(ids); return ids\nm = M()\nassert f(share(m, ['forward'])) == [1, 2] and m.rows == 2",
    ),
    "attribute lent": ("def f(m): return m.size", "class M:\n    size = 7\nassert f(share(M(), [], ['size'])) == 7"),
    "subclass of the course": (
        "from kvcourse.checks.markers import Plain\nclass Mine(Plain):\n    pass",
        "from kvcourse.checks.markers import Plain\nassert isinstance(Mine(), Plain)",
    ),
    "module": (
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__(); self.w = torch.nn.Linear(2, 1)\n    def forward(self, x): return self.w(x)",
        "n = Net()\nn.load_state_dict({'w.weight': torch.ones(1, 2), 'w.bias': torch.zeros(1)})\nassert n(torch.ones(3, 2)).tolist() == [[2], [2], [2]]",
    ),
    "torch function passed": ("def f(g, x): return g(x)", "assert f(torch.relu, torch.tensor([-1.0, 1.0])).tolist() == [0, 1]"),
    "identity of an object": ("class C: pass\nthe = C()\ndef f(): return the", "assert f() is f()"),
    "threads call back": (
        "from concurrent.futures import ThreadPoolExecutor\ndef f(g):\n    with ThreadPoolExecutor(4) as pool: return list(pool.map(g, range(20)))",
        "assert f(lambda n: n + 1) == list(range(1, 21))",
    ),
    "enum and dataclass": (
        "import enum, dataclasses\nclass E(enum.Enum): A = 1\n@dataclasses.dataclass\nclass D:\n    x: int = 3\ndef f(): return E.A",
        "assert f() is E.A and D(4).x == 4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", WORKS)
def test_a_shape_of_exercise_works(points, shape, run_cells):
    answer, test = WORKS[shape]
    outcome = run_cells(answer, test)["test"]
    assert score(outcome, 2.0)[0] == 2.0, outcome.outputs


# ---- what must fail, and how ---------------------------------------------------------------------------

FAILS = {
    "wrong": ("def f(): return 2", "assert f() == 3"),
    "truth of an object": ("class T:\n    def __bool__(self): return True\ndef f(): return T()", "assert f()"),
    "object equals": ("class T:\n    def __eq__(self, o): return True\ndef f(): return T()", "assert f() == 3"),
    "object differs": ("class T: pass\ndef f(): return T()", "assert f() != 3"),
    "not in": ("class T: pass\ndef f(): return T()", "assert f() not in [1, 2]"),
    "float of an object": ("class T:\n    def __float__(self): return 0.0\ndef f(): return T()", "assert float(f()) <= 1"),
    "array of an object": ("import numpy as np\nclass T:\n    def __array__(self, *a): return np.zeros(3)\ndef f(): return T()", "import numpy as np\nassert np.allclose(f(), 0)"),
    "or": ("class T: pass\ndef f(): return T()", "assert (f() or 3)"),
    "forged length": ("class T:\n    def __len__(self): return 3.0\ndef f(): return T()", "assert len(f())"),
    "handle of another cell's process": ("import os\nclass C:\n    def die(self): os._exit(1)\n    n = 3", "c = C()\ntry:\n    c.die()\nexcept BaseException:\n    pass\nassert c.n == 3"),
    "checker's object": ("def f(x): return 3", "class M: pass\nassert f(M()) == 3"),
    "unlent method": ("def f(m): return m.other()", "class M:\n    def other(self): return 3\nassert f(share(M(), [])) == 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILS)
def test_a_check_that_must_not_pass_fails(points, case):
    assert points(*FAILS[case]) == 0.0


# ---- holes of the prototype, each once open --------------------------------------------------------------


@pytest.mark.parametrize("end", ["os._exit(0)", "ctypes.string_at(0)", "os.close(3)"])
@pytest.mark.parametrize("swallow", ["except:", "except BaseException:", "except Exception:"])
def test_a_bare_except_does_not_swallow_a_student_that_died(points, end, swallow):
    test = f"try:\n    f()\n{swallow}\n    pass\ntry:\n    f()\n{swallow}\n    pass"
    assert points(f"import ctypes, os\ndef f():\n    {end}", test) == 0.0


def test_a_bare_except_does_not_swallow_a_student_that_hangs(run_cells):
    test = "for _ in range(3):\n    try:\n        f()\n    except:\n        pass"
    outcome = run_cells("def f():\n    while True: pass", test, cell_seconds=1.0)["test"]
    assert score(outcome, 2.0)[0] == 0.0 and errors(outcome) == ["CellTimeout"]


def test_a_failed_assertion_in_a_callback_is_not_lost(points):
    test = "def g(n):\n    assert n == 3\nf(g)"
    assert points("def f(g):\n    try: g(4)\n    except BaseException: pass", test) == 0.0
    assert points("def f(g): g(3)", test) == 2.0


def test_the_text_of_an_assertion_in_a_callback_does_not_reach_the_student(points):
    answer = "def f(g):\n    try: g()\n    except AssertionError as e: return str(e)"
    test = "def g():\n    raise AssertionError('expected 42')\ngot = f(g)\nassert '42' in str(got)"
    assert points(answer, test) == 0.0


def test_arguments_are_copied_back_only_where_they_are_marked(points):
    assert (
        points("def f(x): x.zero_(); return x", "x = torch.ones(3)\nassert torch.allclose(f(x), 2 * x)")
        == 0.0
    )
    assert points("def f(l): l.clear(); return []", "l = [3, 1]\nassert f(l) == sorted(l)") == 0.0


def test_random_numbers_of_the_test_are_not_the_student_s(points):
    answer = "import torch, random\ndef f(): return torch.rand(4)\ndef g(): return random.random()"
    test = "import random\nassert not torch.equal(torch.rand(4), f())\nassert random.random() - g()"
    assert points(answer, test) == 2.0


def test_a_proxy_in_an_argument_costs_no_remote_call_that_it_answers(points):
    answer = "class C:\n    def __getattr__(self, name): raise SystemExit(name)\nc = C()\ndef f(x=None): return c if x is None else x is c"
    assert points(answer, "assert f(f()) is True") == 2.0


def test_an_error_that_cannot_say_what_it_is(run_cells):
    answer = "class Bad(Exception):\n    def __str__(self): raise SystemExit\ndef f(): raise Bad"
    outcome = run_cells(answer, "f()")["test"]
    assert errors(outcome) == ["Bad"] and score(outcome, 2.0)[0] == 0.0


# ---- what happens to a run -----------------------------------------------------------------------------


def test_points_before_and_after_a_death_stay(run_cells):
    answer = "import os\ndef f(): return 3\ndef g(): os._exit(1)"
    tests = {"one": "assert f() == 3", "two": "g()", "three": "assert f() == 3"}
    got = {key: score(outcome, 2.0)[0] for key, outcome in run_cells(answer, tests).items() if key in tests}
    assert got == {"one": 2.0, "two": 0.0, "three": 2.0}


def test_a_hanging_test_cell_costs_its_own_points_only(run_cells):
    tests = {"one": "assert f() == 3", "two": "sum(range(10**14))", "three": "assert f() == 3"}
    began = time.monotonic()
    outcomes = run_cells("def f(): return 3", tests, cell_seconds=1.0)
    assert [score(outcomes[key], 2.0)[0] for key in tests] == [2.0, 0.0, 2.0]
    assert outcomes["two"].fault_kind == "NotRun" and time.monotonic() - began < 40


def test_the_total_limit_ends_the_run(run_cells):
    tests = {f"t{n}": "f()" for n in range(20)}
    outcomes = run_cells("import time\ndef f(): time.sleep(0.8)", tests, total_seconds=3.0)
    assert outcomes["t19"].fault_kind == "NotRun" and outcomes["t0"].passed


def test_names_that_the_instructor_does_not_define_are_not_taken(points):
    answer = "def f(): return 3\nexpected = 3\ntorch = None"
    assert points(answer, "expected = 4\nassert f() == expected", reference="def f(): ...") == 0.0
    assert points(answer, "assert torch.ones(1).item() == f() - 2", reference="def f(): ...") == 2.0


def test_student_output_of_test_calls_is_carried_in_order(run_cells):
    answer = "import sys\ndef f(n):\n    print('in f', n)\n    print('warn', file=sys.stderr)\n    return n"
    outcome = run_cells(answer, "print('before')\nf(1)\nprint('after')")["test"]
    assert [(o["name"], o["text"]) for o in outcome.outputs] == [
        ("stdout", "before\nin f 1\n"), ("stderr", "warn\n"), ("stdout", "after\n"),
    ]  # fmt: skip
    assert score(outcome, 2.0)[0] == 2.0


def test_output_of_hidden_lines_is_marked(run_cells):
    test = (
        "print('seen')\n### BEGIN HIDDEN TESTS\nprint('unseen')\nf(42)\n### END HIDDEN TESTS\n"
        "print('seen again')\n### BEGIN HIDDEN TESTS\nassert f(43) == 1\n### END HIDDEN TESTS"
    )
    outcome = run_cells("def f(n):\n    print('argument', n)", test)["test"]
    shown = "".join(str(o) for o, flag in zip(outcome.outputs, outcome.hidden, strict=True) if not flag)
    assert "seen again" in shown and not any(word in shown for word in ("unseen", "42", "43", "assert"))


def test_rich_outputs_of_student_cells_are_carried(run_cells):
    answer = "from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))\n1 + 1"
    outputs = run_cells(answer, "pass")["q1"].outputs
    assert [o["output_type"] for o in outputs] == ["display_data", "display_data"]
    assert outputs[0]["data"]["text/html"] == "<b>x</b>" and outputs[1]["data"]["text/plain"] == "2"


def test_a_figure_is_drawn_as_in_a_notebook(run_cells):
    pytest.importorskip("matplotlib", reason="install: matplotlib")
    answer = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
    outputs = run_cells(answer, "pass", cell_seconds=60.0, total_seconds=120.0)["q1"].outputs
    assert any(output.get("data", {}).get("image/png", "").startswith("iVBOR") for output in outputs), outputs


@pytest.mark.parametrize(
    ("last", "points_", "person"),
    [("2", 2.0, False), ("1.5", 1.5, False), ("0", 0.0, False), ("None", 2.0, False), ("1.5;", 2.0, False),
     ("-1", 0.0, True), ("3", 0.0, True), ("float('nan')", 0.0, True), ("'x'", 0.0, True), ("True", 0.0, True),
     ("torch.tensor(0.)", 0.0, True), ("[1]", 0.0, True), ("10 ** 400", 0.0, True)],
)  # fmt: skip
def test_the_last_value_is_the_score_only_if_it_is_a_number_in_range(run_cells, last, points_, person):
    got, problem = score(run_cells("def f(): ...", last)["test"], 2.0)
    assert got == points_ and (problem is not None) == person
