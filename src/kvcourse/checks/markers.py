"""Markers for test cells: they say what crosses between the learner's work and the check.

Graded work may run in two processes. The learner's process holds the learner's functions and objects; the
checker's process runs the test cell and reaches them by message. Numbers, strings, containers, arrays and
tensors cross as copies. Three things are lost in a copy: a change made in place, the identity of an object,
and what an operator of the learner's own class does. A marker names the exception:

| marker | the test says | in plain Jupyter |
|---|---|---|
| `inout(x)` | the function may change this argument, and I want to see the change | `x` itself |
| `share(obj, methods, attrs)` | the learner may use these methods and attributes of mine | `obj` itself |
| `hold(f)` | call `f`, but leave the result where it was made: I get a handle | `f` itself |
| `put(x)` | make this value on the learner's side: I get a handle | a copy of `x` |
| `value(h)` | a copy of what the handle's object holds now | a copy of it |
| `op(name, *args)` | the learner's classes do this operator (`"eq"`, `"add"`, ...) | `operator.name(*args)` |
| `vjp(f, args, grad)` | run `f` forward and backward on the learner's side | the same, here |
| `source(name)` | the text of the statement that makes `name`, as handed in | found among the cells run |
| `cells()` | the texts of all cells handed in | the cells run |

A handle stands for the object itself: passed to a learner's function it arrives as that object, not as a
copy, and `h[...] = 0` changes it in place. What it holds is read only through `value`, so that a test works
in two processes as in one:

    k = put(torch.ones(1, 2, 3, 4))
    cache.update(0, k, v)
    k[...] = 0                                   # the cache must have kept its own copy
    K = hold(cache.keys)(0)
    assert (value(K) - ones).abs().max() <= 0

The functions below hand over to the `Plain` object, or to what a grader puts in its place with `use`.
"""

import ast
import contextlib
import copy
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

CHECKING = re.compile(r"\b(check|hidden|blind)\.\w+\(")  # a check cell's names are not the learner's


def inout(argument: Any) -> Any:
    """Mark an argument that the called function may change in place; the caller's object shows the change.

    Take the expected value from a copy made before the call. Lists, dicts, sets, arrays and tensors.
    """
    return _active.inout(argument)


def share(obj: Any, methods: Sequence[str] = (), attrs: Sequence[str] = ()) -> Any:
    """Lend the learner an object of the test: only `methods` can be called, `attrs` are read as values.

    Calls come back to the checker, so what the object counted can be trusted after the call.
    """
    return _active.share(obj, methods, attrs)


def hold(function: Callable) -> Callable:
    """`hold(f)(x)` calls `f(x)` and returns a handle to the result, which stays where `f` made it."""
    return _active.hold(function)


def put(content: Any) -> Any:
    """Make a copy of `content` on the learner's side and return a handle to that copy."""
    return _active.put(content)


def value(handle: Any) -> Any:
    """A copy of what a handle from `hold` or `put` holds now; later changes do not reach the copy."""
    return _active.value(handle)


def op(name: str, *args: Any) -> Any:
    """`operator.name(*args)` done on the learner's side: the learner's own `__eq__`, `__add__`, ... runs.

    Compare the result with `is`: `assert op("eq", a, b) is True`.
    """
    return _active.op(name, *args)


def vjp(function: Callable, args: Sequence[Any], grad: Any = None) -> tuple[Any, list[Any]]:
    """Value of `function(*args)` and the gradient for each argument (None where it has none).

    `grad` has the shape of the value; None stands for 1 and wants a value of one element.
    """
    return _active.vjp(function, args, grad)


def source(name: str) -> str:
    """Text of the `def`, `class`, assignment or import of `name` as handed in, for rules such as "no loop".

    "" if there is none.
    """
    return _active.source(name)


def cells() -> list[str]:
    """Texts of the cells handed in so far, in order, for rules on what a name stands for in the end."""
    return _active.cells()


class Plain:
    """The markers of one process: objects pass as they are."""

    def inout(self, argument: Any) -> Any:
        return argument

    def share(self, obj: Any, methods: Sequence[str], attrs: Sequence[str]) -> Any:
        return obj

    def hold(self, function: Callable) -> Callable:
        return function

    def put(self, content: Any) -> Any:
        return copy.deepcopy(content)

    def value(self, handle: Any) -> Any:
        return copy.deepcopy(handle)

    def op(self, name: str, *args: Any) -> Any:
        return getattr(operator, name)(*args)

    def vjp(self, function: Callable, args: Sequence[Any], grad: Any) -> tuple[Any, list[Any]]:
        result = function(*args)
        result.backward(grad)
        return result.detach(), [getattr(argument, "grad", None) for argument in args]

    def source(self, name: str) -> str:
        found = (definition(cell, name) for cell in reversed(self.cells()))
        return next((text for text in found if text), "")

    def cells(self) -> list[str]:
        shell = _ipython()
        run = shell.user_ns.get("In", []) if shell else []
        return [shell.transform_cell(cell) for cell in run if not CHECKING.search(cell)]


def definition(text: str, name: str) -> str:
    """The last top-level statement that binds `name` in a program's text, decorators included, or "".

    A `def`, a `class`, an assignment or an import; `from module import *` does not say what it binds.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    for node in reversed(body):
        if name in _bound_by(node):
            first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return ""


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return set()


@contextlib.contextmanager
def use(markers: Any) -> Iterator[None]:
    """Put a grader's markers (an object with the methods of `Plain`) in place while the block runs."""
    global _active
    before, _active = _active, markers
    try:
        yield
    finally:
        _active = before


def _ipython() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


_active: Any = Plain()

NAMES = ("inout", "share", "hold", "put", "value", "op", "vjp", "source", "cells")
