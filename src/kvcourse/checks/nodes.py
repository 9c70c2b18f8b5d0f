"""The nodes of parsed code, many times over: the rules on handed-in text ask each cell several questions.

What was found of a node is kept, so nobody may change it afterwards. Only fields are followed: Python has one
`Load()` and one `Lt()` for all trees, and IPython's tracebacks hang a parent onto what they find.
"""

import ast
import functools

KEPT = 1000


@functools.lru_cache(maxsize=KEPT)
def every(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree that have parts, itself first: no `Load`, no `+`, no `pass`."""
    return tuple(walk(tree))


def walk(tree: ast.AST) -> list[ast.AST]:
    """The same of a tree that may yet be changed."""
    found = [tree]
    for node in found:  # it grows as it is read
        for name in node._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                found += [part for part in value if isinstance(part, ast.AST) and part._fields]
            elif isinstance(value, ast.AST) and value._fields:
                found.append(value)
    return found


def without_annotations(node: ast.AST) -> ast.AST:
    """A copy whose functions, parameters and assignments have lost their annotations, which nobody reads."""
    if isinstance(node, ast.AnnAssign):
        if node.value is None:
            return ast.Pass()
        return ast.Assign([without_annotations(node.target)], without_annotations(node.value), lineno=0)
    made = node.__class__()
    for name in (*node._fields, *node._attributes):
        value = getattr(node, name, None)
        if name in ("annotation", "returns", "type_comment"):
            value = None
        elif isinstance(value, ast.AST):
            value = without_annotations(value) if value._fields else value
        elif value.__class__ is list:
            value = [without_annotations(part) if isinstance(part, ast.AST) else part for part in value]
        setattr(made, name, value)
    return made
