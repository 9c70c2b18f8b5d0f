"""Whether a function that was handed in is its author's own: what it reaches among the cells handed in.

For problems whose point is to build what the package already has. It follows names, not behavior: a function
that spells out the same formula is its author's own work, whoever it was learned from.
"""

import ast
import builtins
from collections import deque
from collections.abc import Collection

from kvcourse.checks.markers import source

INDIRECT = {"__import__", "importlib", "exec", "eval", "globals", "sys"}  # ways to a module without naming it


def borrowed(name: str, package: str = "kvcourse", given: Collection[str] = ()) -> str:
    """What makes `name` not its author's own work, as a sentence; "" if nothing does.

    Follows the names that its definition uses to their own definitions: functions, assignments and imports at
    the top level of the cells handed in. Annotations do not count. What a `from ... import` takes under a
    name in `given` is allowed, whatever it is called here; `import package` is not, for it leads anywhere.
    """
    todo, seen = deque([name]), {name}
    while todo:
        here = todo.popleft()
        text = source(here)
        if not text:
            return f"`{here}` is not defined in the notebook: expected a `def`, an assignment or its import."
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and _takes(node, package, given):
                line = ast.unparse(node)[:80]
                return f"`{line}` is ready-made: here you build it yourself, without {package}."
        used = _used(tree)
        if used & INDIRECT:
            return f"`{min(used & INDIRECT)}` has no place in `{here}`, for it can reach {package} unnamed."
        for other in sorted(used - seen - set(dir(builtins))):
            seen.add(other)
            todo.append(other)
    return ""


def _takes(node: ast.Import | ast.ImportFrom, package: str, given: Collection[str]) -> bool:
    """Whether an import statement takes something from `package` that is not given."""
    if isinstance(node, ast.ImportFrom):
        inside = (node.module or "").partition(".")[0] == package
        return inside and any(alias.name not in given for alias in node.names)
    return any(alias.name.partition(".")[0] == package for alias in node.names)


def _used(tree: ast.Module) -> set[str]:
    """Names that a definition reads and does not bind anywhere itself."""
    read, bound = set(), set()
    for node in _without_annotations(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bound.add(node.name)
    return read - bound | (bound | read) & INDIRECT


def _without_annotations(node: ast.AST) -> list[ast.AST]:
    found = [node]
    for field, child in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.AST):
                found += _without_annotations(part)
    return found
