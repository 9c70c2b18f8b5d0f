"""Which statements of a notebook's cells make a name, and which names a statement reads.

A notebook asks this of the same cells in each of its problems, so what was found of a cell is kept.
"""

import ast
import functools
import re
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvcourse.checks.changes import Change, changed_inside, changes, parameters
from kvcourse.checks.nodes import KEPT, every, walk, without_annotations

RUNNING = "run|rerun|recall|store|macro|edit"  # magics that may bind names
ANY = "*"  # stands for every name: what a star import binds


@dataclass(frozen=True)
class Binding:
    """A statement, or the head of one, that binds `names`; `sure` if it runs once and replaces what was.

    `change`: the statement is a call, which may only have put something into what the name stands for.
    """

    node: ast.AST
    names: frozenset[str]
    sure: bool
    cell: ast.Module
    change: Change | None = None


def program(cells: Sequence[str]) -> list[ast.Module]:
    """The cells that are Python, parsed; shell lines and magics, but those that run code, are left out."""
    return [tree for tree in map(_parsed, cells) if tree is not None]


@functools.lru_cache(maxsize=KEPT)
def _parsed(cell: str) -> ast.Module | None:
    magic = re.sub(rf"(?m)^(\s*)%({RUNNING})\b.*$", r"\1get_ipython().run_line_magic('\2', '')", cell)
    for text in (cell, re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", magic)):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
    return None


def bindings(trees: Sequence[ast.Module]) -> list[Binding]:
    """Every binding at the top level, in order, those inside `if`, `try`, `for`, `with`, `match` too."""
    return [binding for tree in trees for binding in _of_cell(tree)]


@functools.lru_cache(maxsize=KEPT)
def _of_cell(tree: ast.Module) -> tuple[Binding, ...]:
    made = []
    for node, names, sure in _in_block(tree.body, True):
        if isinstance(names, Change):
            made.append(Binding(names.reads, frozenset({names.name}), sure, tree, names))
        else:
            made.append(Binding(node, frozenset(names), sure, tree))
    return tuple(made)


def making(name: str, found: Sequence[Binding]) -> list[Binding]:
    """What `name` may stand for at the end: its last sure binding and the unsure ones around it.

    A star import counts where it may have replaced the name, or where nothing else makes it.
    """
    made = []
    for binding in reversed(found):
        if name in binding.names or ANY in binding.names:
            made.append(binding)
        if name in binding.names and binding.sure:
            break
    return [binding for binding in made if binding.change is None or _counts(binding.change, made, found)]


def _counts(change: Change, made: Sequence[Binding], found: Sequence[Binding]) -> bool:
    """Whether a call may have changed its object: not by a module's function, and as its definition says."""
    if change.method:
        return not all(isinstance(b.node, (ast.Import, ast.ImportFrom)) for b in made if b.change is None)
    if not change.through:
        return True
    for binding in found:
        node = binding.node.value if isinstance(binding.node, ast.Assign) else binding.node
        if change.through in binding.names and isinstance(node, (ast.FunctionDef, ast.Lambda)):
            names = parameters(node)
            number = min(change.place, len(names) - 1) if isinstance(change.place, int) else -1
            name = names[number] if number >= 0 else change.place
            if name in changed_inside(node):
                return True
    return False


@functools.lru_cache(maxsize=KEPT)
def used(node: ast.AST) -> frozenset[str]:
    """Global names that a statement reads, at once or when what it defines is called. No annotations."""
    bare = without_annotations(node)
    try:
        table = symtable.symtable(ast.unparse(bare), "<cell>", "exec")
    except SyntaxError:  # such as an `await` at the top level
        return frozenset(part.id for part in walk(bare) if isinstance(part, ast.Name))
    return frozenset(_globals(table))


def _in_block(body: Sequence[ast.stmt], sure: bool) -> Iterator[tuple[ast.AST, set[str] | Change, bool]]:
    for node in body:
        yield from ((node, change, False) for change in changes(node))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node, {node.name}, sure
            told = [part.names for part in every(node) if isinstance(part, ast.Global)]
            declared = set().union(*told)
            changed = changed_inside(node)
            declared |= changed & used(node) if changed else set()
            if declared:
                yield node, declared, False
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            yield node, names, sure and ANY not in names
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            plain = {target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)}
            if isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
                plain = {node.target.id}
            yield node, plain, sure
            yield node, _stored(node) - plain, False
        else:
            yield from _compound(node)


def _compound(node: ast.stmt) -> Iterator[tuple[ast.AST, set[str] | Change, bool]]:
    """The head of a statement that has blocks, then its blocks."""
    inner: list[ast.stmt] = []
    heads: list[ast.AST] = []
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            inner.append(part)
        elif isinstance(part, (ast.ExceptHandler, ast.match_case)):
            inner += part.body
            heads += [child for child in ast.iter_child_nodes(part) if not isinstance(child, ast.stmt)]
            heads += [ast.Name(part.name, ast.Store())] if getattr(part, "name", None) else []
        else:
            heads.append(part)
    names = set().union(*(_stored(head) for head in heads))
    if names:
        reads = [part for head in heads for part in _read(head)]
        yield ast.Expr(ast.List(reads, ast.Load())), names, False
    yield from _in_block(inner, False)


def _read(node: ast.AST) -> Iterator[ast.expr]:
    """The outermost expressions in the head of a statement that are read."""
    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield node
    else:
        for part in ast.iter_child_nodes(node):
            yield from _read(part)


def _stored(node: ast.AST) -> set[str]:
    """Names bound in an expression, a target or a pattern; for `x[0] = y` and `x.a = y` it is `x`."""
    names = set()
    for part in every(node):
        if isinstance(getattr(part, "ctx", None), ast.Store):
            while isinstance(part, (ast.Attribute, ast.Subscript, ast.Starred)):
                part = part.value
            names |= {part.id} if isinstance(part, ast.Name) else set()
        elif isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            names.add(part.rest)
    return names


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)
