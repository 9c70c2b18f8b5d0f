"""The code of a test cell: its last expression apart, and which of its lines are running."""

import ast
import functools
import marshal
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

QUIETLY = threading.Lock()  # filters of warnings are the process's, not a thread's


def file_of(key: str) -> str:
    """The name that a cell's code has for tracebacks."""
    return f"<{key}>"


@functools.lru_cache(maxsize=1000)
def packed(source: str, file: str) -> bytes:
    """What `split_last` gives, as bytes for `unpacked`: every submission brings the same cells.

    Raise SyntaxError for what is no Python.
    """
    with QUIETLY, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a compiler thinks of a test is its author's business
        return marshal.dumps(split_last(source, file))


def unpacked(data: bytes | bytearray) -> tuple[Any, Any, int, set[str]]:
    """What `packed` packed, of the same Python; from a process that is trusted."""
    return marshal.loads(data)


def split_last(source: str, file: str) -> tuple[Any, Any, int, set[str]]:
    """A cell's code, and its last expression (and line) apart: notebooks show it unless a semicolon
    follows. Also all names that the cell uses.
    """
    tree = ast.parse(source, file)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    last, line = None, 0
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        line = tree.body[-1].lineno
        last = compile(ast.Expression(tree.body.pop().value), file, "eval")
    return compile(tree, file, "exec"), last, line, names


def lines_on_stack(file: str) -> Iterator[int]:
    """The lines of the code with the file name `file` that are running, the innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == file:
            yield frame.f_lineno
        frame = frame.f_back
