"""The markers in plain Jupyter, and that a grader's own take their place and leave again."""

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from kvcourse.checks import markers
from kvcourse.checks.markers import definition, hold, inout, op, put, share, source, use, value, vjp


def test_inout_and_share_pass_the_object_itself():
    numbers = [1, 2]

    def clear(items):
        items.clear()

    clear(inout(numbers))
    assert numbers == []
    assert share(numbers, methods=["append"], attrs=[]) is numbers


def test_put_is_a_copy_that_the_callee_gets_as_it_is():
    original = torch.ones(3)
    handle = put(original)
    handle[...] = 0
    assert original.tolist() == [1, 1, 1]
    kept = []
    kept.append(handle)
    handle[0] = 5
    assert kept[0].tolist() == [5, 0, 0]


def test_value_is_a_copy_of_what_the_handle_holds_now():
    made = hold(lambda: {"k": torch.zeros(2)})()
    before = value(made)
    made["k"][0] = 7
    assert before["k"].tolist() == [0, 0]
    assert value(made)["k"].tolist() == [7, 0]


def test_a_test_can_tell_a_view_from_a_copy():
    """The pattern of the module's docstring fails a cache that keeps its argument, not one that copies."""

    def kept_after_change(keep):
        k = put(torch.ones(2))
        handle = hold(keep)(k)
        k[...] = 0
        return value(handle).tolist()

    assert kept_after_change(lambda k: k) == [0, 0]
    assert kept_after_change(lambda k: k.clone()) == [1, 1]


def test_op_is_the_learners_operator():
    class Odd:
        def __eq__(self, other):
            return "odd"

        __hash__ = None

    assert op("eq", Odd(), 1) == "odd"
    assert op("add", 2, 3) == 5


def test_vjp_gives_value_and_gradients():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    got, gradients = vjp(lambda a, scale: a * scale, [x, 3.0], torch.tensor([1.0, 10.0]))
    assert got.tolist() == [3, 6] and not got.requires_grad
    assert gradients[0].tolist() == [3, 30] and gradients[1] is None


def test_definition_is_the_last_one_with_its_decorators():
    text = "def f():\n    return 1\n\n@cache\ndef f(x):\n    # note\n    return 2\n\nf(1)\n"
    assert definition(text, "f") == "@cache\ndef f(x):\n    # note\n    return 2"
    assert definition("class C:\n    def f(self): ...\n", "f") == ""
    assert definition("f = lambda: 0", "f") == "f = lambda: 0"
    assert definition("from m import g as f\nimport a.b\n", "f") == "from m import g as f"
    assert definition("from m import g as f\nimport a.b\n", "a") == "import a.b"
    assert definition("def f(): ...\nf, g = g, f\n", "f") == "f, g = g, f"
    assert definition("from m import *", "f") == ""
    assert definition("def f(:", "f") == ""
    assert definition("x = '\0'", "f") == ""


def test_source_is_the_newest_cell_that_defines_the_name(monkeypatch):
    shell = InteractiveShell()
    shell.user_ns["In"] = ["", "def f(): return 1", "%matplotlib inline\ndef f(): return 2", "f()"]
    monkeypatch.setattr(markers, "_ipython", lambda: shell)
    assert source("f") == "def f(): return 2"
    assert source("g") == ""


def test_source_outside_ipython_is_empty(monkeypatch):
    monkeypatch.setattr(markers, "_ipython", lambda: None)
    assert source("f") == ""


def test_a_grader_replaces_every_marker_and_only_inside_the_block():
    class Recorder:
        def __getattr__(self, name):
            return lambda *args: (name, args)

    with pytest.raises(KeyError), use(Recorder()):
        for name in markers.NAMES:
            count = {"share": 1, "vjp": 2, "cells": 0}.get(name, 1)
            assert getattr(markers, name)(*["x"] * count)[0] == name
        raise KeyError
    assert inout("x") == "x"


def test_plain_has_every_marker():
    assert set(markers.NAMES) == {name for name in vars(markers.Plain) if not name.startswith("_")}
