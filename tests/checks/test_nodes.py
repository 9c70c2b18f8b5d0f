"""The nodes of a tree, read quickly, and copies without annotations."""

import ast
from pathlib import Path

from kvcourse.checks import nodes
from kvcourse.checks.nodes import every, without_annotations

TREES = [ast.parse(path.read_text()) for path in sorted(Path(nodes.__file__).parent.glob("*.py"))]


def test_every_node_with_parts_is_found():
    for tree in TREES:
        expected = {id(node) for node in ast.walk(tree) if node._fields}
        found = every(tree)
        assert {id(node) for node in found} == expected
        assert len(found) == len(expected)


def test_what_tracebacks_hang_onto_shared_nodes_is_not_followed():
    tree = ast.parse("a < b")
    shared = tree.body[0].value.ops[0]
    assert shared is ast.parse("c < d").body[0].value.ops[0]  # Python has one such node for all trees
    shared.parent = tree
    try:
        assert [type(node).__name__ for node in every(tree)] == ["Module", "Expr", "Compare", "Name", "Name"]
        assert ast.unparse(without_annotations(tree)) == "a < b"
    finally:
        del shared.parent


def test_annotations_go_and_all_else_stays():
    text = (
        "def f(a: int, *b: str, c: float=1.5) -> list[int]:\n    n: int = 3\n    m: int\n    return [a, n]\n"
    )
    bare = without_annotations(ast.parse(text))
    assert ast.unparse(bare) == "def f(a, *b, c=1.5):\n    n = 3\n    pass\n    return [a, n]"
    for tree in TREES:
        assert "->" not in ast.unparse(without_annotations(tree)).replace('"->"', "").replace("'->'", "")


def test_the_original_keeps_its_annotations():
    tree = ast.parse("def f(a: int) -> int:\n    return a")
    without_annotations(tree)
    assert ast.unparse(tree) == "def f(a: int) -> int:\n    return a"
