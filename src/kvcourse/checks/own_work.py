"""Whether a function that was handed in is its author's own: what it reaches among the cells handed in.

For problems whose point is to build what the package already has. It follows names, not behavior: a function
that spells out the same formula is its author's own work, whoever it was learned from.
"""

import ast
import builtins
import functools
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from kvcourse.checks import bindings as names
from kvcourse.checks.markers import cells

LOADERS = {"importlib", "pkgutil", "pickle", "runpy", "builtins", "__main__"}  # modules that load others
INDIRECT = {"__import__", "__builtins__", "exec", "eval", "globals"} | LOADERS
REBINDING = {"__builtins__", "exec", "globals"}  # may replace a name from any cell
INSIDE = {"__globals__", "__builtins__", "__import__", "__loader__", "__spec__", "import_module"}
OF_SYS = {"modules", "meta_path", "path_hooks", "path_importer_cache", "_getframe", "_current_frames"}
NOTEBOOK = {"display"}  # what IPython adds to the built-in names


def borrowed(name: str, package: str = "kvcourse", given: Collection[str] = ()) -> str:
    """What makes `name` not its author's own work, as a sentence; "" if nothing does.

    Follows the names that its definition uses to their own definitions: functions, assignments and imports at
    the top level of the cells handed in, inside `if`, `try` and the like too. Annotations do not count. What
    a `from ... import` takes under a name in `given` is allowed, whatever it is called here; `import package`
    is not, for it leads anywhere.
    """
    trees = names.program(cells())
    found = names.bindings(trees)
    todo, seen, scanned = deque([name]), {name}, set()
    while todo:
        here = todo.popleft()
        made = names.making(here, found)
        if not made:
            return f"`{here}` is not defined in the notebook: expected a `def`, an assignment or its import."
        for binding in made:
            line = next(_taken(binding.node, package, given), "")
            if line:
                return f"`{line}` is ready-made: here you build it yourself, without {package}."
            way = "" if id(binding.cell) in scanned else _way_around(binding.cell)
            scanned.add(id(binding.cell))
            reads = names.used(binding.node)
            way = way or ("get_ipython" if "get_ipython" in reads else "")
            if way:
                return f"`{way}` has no place in the cell of `{here}`, for it can reach {package} unnamed."
            new = reads - seen - set(dir(builtins)) - NOTEBOOK
            seen |= new
            todo.extend(sorted(new))
    return _rebinding(trees, package)


def _taken(node: ast.AST, package: str, given: Collection[str]) -> Iterator[str]:
    """The import statements in `node` that take something from `package` that is not given."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Import, ast.ImportFrom)) and _takes(part, package, given):
            yield ast.unparse(part)[:80]


def _takes(node: ast.Import | ast.ImportFrom, package: str, given: Collection[str]) -> bool:
    if isinstance(node, ast.ImportFrom):
        inside = (node.module or "").partition(".")[0] == package
        return inside and any(alias.name not in given for alias in node.names)
    return any(alias.name.partition(".")[0] == package for alias in node.names)


@functools.lru_cache(maxsize=names.KEPT)
def _way_around(cell: ast.Module) -> str:
    """A way to a module without naming it, anywhere in a cell: its name, or ""."""
    modules = {}
    for node in ast.walk(cell):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
            loaders = {alias.name.partition(".")[0] for alias in node.names} & LOADERS
            if loaders:
                return min(loaders)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] in LOADERS:
                return (node.module or "").partition(".")[0]
            if node.module == "sys" and {alias.name for alias in node.names} & (OF_SYS | {names.ANY}):
                return "sys.modules"
    read_off = {id(node.value) for node in ast.walk(cell) if isinstance(node, ast.Attribute)}
    for node in ast.walk(cell):
        if isinstance(node, ast.Name):
            if node.id in INDIRECT:
                return node.id
            if modules.get(node.id) == "sys" and id(node) not in read_off:
                return node.id
        elif isinstance(node, ast.Attribute):
            root = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in INSIDE or (modules.get(root, root) == "sys" and node.attr in OF_SYS):
                return ast.unparse(node)[:40]
            if node.attr == "sys":
                return ast.unparse(node)[:40]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            of = node.args[0].id if isinstance(node.args[0], ast.Name) else ""
            if node.func.id in ("getattr", "vars") and of in modules:
                return f"{node.func.id}({of})"
    return ""


def _rebinding(trees: Sequence[ast.Module], package: str) -> str:
    name = next(filter(None, map(_rebinds, trees)), "")
    return f"`{name}` has no place in the notebook, for it can put {package} under any name." if name else ""


@functools.lru_cache(maxsize=names.KEPT)
def _rebinds(cell: ast.Module) -> str:
    """What in a cell may replace a name of another cell, or ""."""
    found = (node.id for node in ast.walk(cell) if isinstance(node, ast.Name) and node.id in REBINDING)
    return next(found, "")
