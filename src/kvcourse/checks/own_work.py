"""Whether a function that was handed in is its author's own: what it reaches among the cells handed in.

For problems whose point is to build what the package already has. It follows names, not behavior: a function
that spells out the same formula is its author's own work, whoever it was learned from.
"""

import ast
import builtins
import functools
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from kvcourse.checks import bindings as names
from kvcourse.checks.changes import CHANGING, FUNCTIONS, root
from kvcourse.checks.markers import cells
from kvcourse.checks.nodes import every

PLAIN_LOADERS = {"importlib", "pkgutil", "pickle", "runpy", "builtins", "__main__"}
LOADERS = PLAIN_LOADERS | {  # modules that load others, run text or find others' objects
    "_pickle", "dill", "cloudpickle", "joblib", "shelve", "imp", "_imp", "zipimport", "pydoc", "code",
    "codeop", "gc", "ctypes", "subprocess",
}  # fmt: skip
RUNNERS = {"timeit", "cProfile", "profile", "trace"}  # modules that run a text, or a function
CALLS = {"__import__", "__builtins__", "__loader__", "__spec__", "exec", "eval", "compile", "globals"}
ANNOTATIONS = {  # whose names are not followed, for nobody reads them: these do
    "__annotations__", "get_type_hints", "get_annotations", "signature", "__signature__", "getfullargspec",
    "__dataclass_fields__", "__metadata__", "get_args",
}  # fmt: skip
INDIRECT = CALLS | PLAIN_LOADERS | {"__annotations__"}
REBINDING = {"__builtins__", "exec", "globals"}  # may replace a name from any cell
OF_PLACE = {"locals", "vars"}  # so may these, outside a function and without an argument
FRAMES = {"__globals__", "f_globals", "f_locals"}
SHELL = {"user_ns", "user_global_ns", "run_cell", "run_code", "ex", "ev"}  # of IPython's: may do so, too
INSIDE = {
    "__globals__", "__builtins__", "__import__", "__loader__", "__spec__", "import_module", "__subclasses__",
    "__self__", "f_globals", "f_locals", "f_builtins", "f_back", "gi_frame", "tb_frame", "_importer",
    "popen", *ANNOTATIONS,
}  # fmt: skip
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
            if binding.change:  # a call in a cell that may else be a scratch cell
                way = _way_around(ast.Module([ast.Expr(binding.node)], []))
            else:
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
    for part in every(node):
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
    modules, taken = {}, set()
    for node in every(cell):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
            loaders = {alias.name.partition(".")[0] for alias in node.names} & LOADERS
            if loaders:
                return min(loaders)
        elif isinstance(node, ast.ImportFrom):
            source, taking = node.module or "", {alias.name for alias in node.names}
            loaders = {source.partition(".")[0]} & LOADERS | taking & (PLAIN_LOADERS | ANNOTATIONS)
            loaders |= taking & {"fields"} if source == "dataclasses" else set()
            if loaders:
                return min(loaders)
            if source == "unittest.mock" or (source == "unittest" and "mock" in taking):
                return "unittest.mock"
            if "sys" in taking or (source == "sys" and taking & (OF_SYS | {names.ANY})):
                return "sys.modules"
            taken |= taking
            modules |= {alias.asname or alias.name: source for alias in node.names if source in RUNNERS}
    read_off = {id(node.value) for node in every(cell) if isinstance(node, ast.Attribute)}
    for node in every(cell):
        if isinstance(node, ast.Name):
            if node.id in INDIRECT - taken:
                return node.id
            if modules.get(node.id) == "sys" and id(node) not in read_off:
                return node.id
        elif isinstance(node, ast.Attribute):
            root = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in INSIDE or (modules.get(root, root) == "sys" and node.attr in OF_SYS):
                return ast.unparse(node)[:40]
            if node.attr in {"sys", "mock"} | PLAIN_LOADERS and (node.attr != "mock" or root == "unittest"):
                return ast.unparse(node)[:40]
            if node.attr == "fields" and modules.get(root) == "dataclasses":
                return ast.unparse(node)[:40]
            if node.attr == "__dict__" and root in modules:
                return ast.unparse(node)[:40]
        elif isinstance(node, (ast.Constant, ast.BinOp)):
            text = _text(node)
            if text in INSIDE or (isinstance(node, ast.BinOp) and text in OF_SYS | INDIRECT | {"sys"}):
                return text
        elif isinstance(node, ast.Call):
            way = _call_around(node, modules)
            if way:
                return way
    return ""


def _call_around(call: ast.Call, modules: dict[str, str]) -> str:
    """How a call may reach a module unnamed: by an attribute's name put together, or a text that is run."""
    called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    first = call.args[0] if call.args else None
    of = first.id if isinstance(first, ast.Name) else ""
    asked = call.args[1:2] if called in ("getattr", "__getattribute__") else []
    if called in ("attrgetter", "methodcaller"):
        asked = call.args
    plain = all(_plainly_named(part) for part in asked)
    if of in modules and (called == "vars" or (called == "getattr" and not (plain and _text(asked[0])))):
        return f"{called}({of})"
    if not plain:
        return called
    beginning = root(call.func)
    if modules.get(beginning) in RUNNERS and (first or call.keywords) and not isinstance(first, ast.Lambda):
        return beginning
    pickled = {word.arg: word.value for word in call.keywords}
    if getattr(pickled.get("allow_pickle"), "value", False) is not False:
        return f"{called}(allow_pickle)"
    if getattr(pickled.get("weights_only"), "value", True) is not True:
        return f"{called}(weights_only)"
    return ""


def _plainly_named(name: ast.AST) -> bool:
    """Whether the name of an attribute is what honest code has: a text, a variable, or `"num_" + kind`."""
    begins = name
    while isinstance(begins, ast.BinOp):
        begins = begins.left
    if isinstance(begins, ast.JoinedStr) and begins.values:
        begins = begins.values[0]
    if isinstance(begins, (ast.Call, ast.Subscript)):  # "".join(...), "..."[::-1], bytes.fromhex(...)
        of = getattr(begins, "func", begins)
        return isinstance(
            getattr(of, "value", None), (ast.Name, ast.Attribute, ast.Subscript)
        ) and not isinstance(getattr(begins, "slice", None), ast.Slice)
    if name is begins:
        return not ({"sys", *INSIDE, *OF_SYS, *PLAIN_LOADERS} & set(_text(name).split(".")))
    return not _text(name) and not _text(begins).startswith("_")


def _text(node: ast.AST) -> str:
    """The text that a constant is, or a sum of constants; "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left = _text(node.left)
        right = _text(node.right) if left else ""
        return left + right if left and right else ""
    return ""


def _rebinding(trees: Sequence[ast.Module], package: str) -> str:
    name = next(filter(None, map(_rebinds, trees)), "")
    return f"`{name}` has no place in the notebook, for it can put {package} under any name." if name else ""


@functools.lru_cache(maxsize=names.KEPT)
def _rebinds(cell: ast.Module) -> str:
    """What in a cell may replace a name of another cell, or ""."""
    harmless = set()
    for node in every(cell):
        if isinstance(node, FUNCTIONS):  # its own names
            harmless |= {id(part) for part in every(node) if getattr(part, "id", "") in OF_PLACE}
        elif isinstance(node, ast.Call) and node.args:  # vars(x)
            harmless |= {id(node.func)} if getattr(node.func, "id", "") in OF_PLACE else set()
        elif isinstance(node, ast.Compare):  # __name__ == "__main__"
            harmless |= {id(part) for part in node.comparators}
    ways = (_replacing(node) for node in every(cell) if id(node) not in harmless)
    return next(filter(None, ways), "")


def _replacing(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id if node.id in REBINDING | OF_PLACE else ""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        origins = {getattr(node, "module", ""), *(alias.name for alias in node.names)}
        return "__main__" if "__main__" in origins else ""
    if isinstance(node, ast.Constant):
        return "__main__" if node.value == "__main__" else ""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value.attr if getattr(node.value, "attr", "") in FRAMES else ""
    if isinstance(node, ast.Attribute):
        if node.attr in CHANGING and getattr(node.value, "attr", "") in FRAMES:
            return node.value.attr
        return node.attr if node.attr in SHELL and "ipython" in ast.unparse(node).lower() else ""
    magic = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "run_line_magic" and node.args
    named = _text(node.args[0]) if magic else ""
    return f"%{named}" if re.fullmatch(names.RUNNING, named) else ""
