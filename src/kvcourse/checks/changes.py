"""What a call may put into the object of a name: `t.append(x)`, `setattr(Box, "p", x)`, `put(t, x)`.

A guess from the text alone, made so that comparing two functions in a scratch cell changes neither of them.
"""

import ast
import builtins
import functools
from collections.abc import Iterator
from typing import NamedTuple

from kvcourse.checks.nodes import KEPT, every, walk

CHANGING = {  # methods that put an argument into their object
    "append", "appendleft", "extend", "extendleft", "insert", "update", "add", "setdefault", "push", "put",
    "register", "__setitem__", "__setattr__", "__init__", "__setstate__", "__ior__", "__iadd__",
}  # fmt: skip
INTO_FIRST = {  # functions that change their first argument
    "setattr", "setitem", "iadd", "iconcat", "ior", "heappush", "heappushpop", "heapreplace", "insort",
    "insort_left", "insort_right", "update_wrapper",
}  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Change(NamedTuple):
    """A call that may put what `reads` has into `name`; `through`, `place`: as that function's argument."""

    name: str
    reads: ast.expr
    method: bool = False
    through: str = ""
    place: int | str = 0


def changes(node: ast.AST) -> Iterator[Change]:
    """What the calls in a statement may change when it runs: those in bodies of functions do not run yet."""
    for call in _running(node):
        reads = ast.List([*call.args, *(word.value for word in call.keywords)], ast.Load())
        if not any(isinstance(part, ast.Name) for part in walk(reads)):
            continue
        reads.elts.append(call.func)
        name = root(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if name and not hasattr(builtins, name):
            plain = not any(isinstance(part, ast.Call) for part in every(call.func))
            yield Change(name, reads, method=plain and "__dict__" not in ast.unparse(call.func))
        yield from (Change(name, reads) for name in _first(call) | _lent(call))
        if isinstance(call.func, ast.Name):
            places = [*enumerate(call.args), *((word.arg or "", word.value) for word in call.keywords)]
            for place, value in places:
                if root(value):
                    yield Change(root(value), reads, through=call.func.id, place=place)
    for part in getattr(node, "decorator_list", []):
        if isinstance(part, ast.Attribute) and root(part):
            yield Change(root(part), ast.List([part, ast.Name(node.name, ast.Load())], ast.Load()))


@functools.lru_cache(maxsize=KEPT)
def changed_inside(function: ast.AST) -> frozenset[str]:
    """Names that the body of a function changes when it is called: its parameters and those from outside."""
    found = set()
    for part in every(function):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            found.add(root(part))
        elif isinstance(part, ast.Call):
            if isinstance(part.func, ast.Attribute) and part.func.attr in CHANGING:
                found.add(root(part.func.value))
            found |= _first(part) | _lent(part)
    return frozenset(found - {""})


def parameters(function: ast.AST) -> list[str]:
    """Names of a function's parameters, in order."""
    known = function.args
    rest = [part for part in (known.vararg, known.kwarg) if part]
    return [part.arg for part in (*known.posonlyargs, *known.args, *known.kwonlyargs, *rest)]


def root(node: ast.AST) -> str:
    """The name that `x`, `x.a[0]` or `vars(x)` begins with; "" for anything else."""
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("vars", "getattr") and node.args:
            node = node.args[0]
        else:
            return ""
    return node.id


def _first(call: ast.Call) -> set[str]:
    """The first argument, where a function such as `setattr` or `list.append` changes it."""
    named = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    of_type = isinstance(call.func, ast.Attribute) and hasattr(builtins, root(call.func) or "-")
    if call.args and (named in INTO_FIRST or (of_type and named in CHANGING)):
        return {root(call.args[0])} - {""}
    return set()


def _lent(call: ast.Call) -> set[str]:
    """`t`, where `t.append` is an argument, as in `map(t.append, [x])`."""
    lent = [part for part in call.args if isinstance(part, ast.Attribute) and part.attr in CHANGING]
    return {root(part) for part in lent} - {""}


def _running(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that a statement makes itself: not those of its blocks, nor of functions that it defines."""
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, FUNCTIONS):
            todo += [part for part in (*node.args.defaults, *node.args.kw_defaults) if part]
            todo += getattr(node, "decorator_list", [])
            continue
        inside = isinstance(node, ast.ClassDef)
        todo += [part for part in ast.iter_child_nodes(node) if inside or not isinstance(part, ast.stmt)]
        if isinstance(node, ast.Call):
            yield node
            if isinstance(node.func, ast.Lambda):  # called where it stands
                todo.append(node.func.body)
