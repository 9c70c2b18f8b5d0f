"""The lint's rules for one test cell. A rule yields a message for each place that breaks it."""

import ast
import builtins
from collections.abc import Callable, Iterator

from lint_model import GradedCell, bound_in, is_check, names_of

QUIET = {
    "passed", "formed", "that", "integer", "integers", "number", "tensor", "mask", "tokens", "text",
    "own_work", "rows_fed", "raises",
}  # fmt: skip
OF_FORM = {"one_of", "choices", "record", "items", "own_work", "that", "passed", "formed"}
NEVER = {"eval", "exec", "compile", "pickle", "marshal", "__import__", "globals", "locals", "get_ipython"}
NOT_ON_ANSWERS = {
    "getattr", "setattr", "open", "format", "format_map", "isinstance", "issubclass", "vars", "str", "repr",
    "re", "load", "loads", "import_module",
}  # fmt: skip

CELL_RULES: list[Callable[[GradedCell], Iterator[str]]] = []


def cell_rule(function):
    CELL_RULES.append(function)
    return function


@cell_rule
def reads_as_python(cell):
    """A test cell is plain Python: no magics, no shell lines."""
    if cell.error:
        yield f"expected plain Python without magics, got {cell.error}"


@cell_rule
def catches_by_name(cell):
    """`except` names the exact error: a broad one swallows that the answer died, hung or lied."""
    for handler in cell.find(ast.ExceptHandler):
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or getattr(kind, "id", "") in ("Exception", "BaseException") for kind in kinds):
            yield f"line {handler.lineno}: expected the exact error after except, got a broad one"


@cell_rule
def runs_nothing_of_the_answer(cell):
    """No eval, exec, pickle; no open, getattr, isinstance, format, re, str on what an answer gave."""
    for call in cell.find(ast.Call):
        names = names_of(call)
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        method_of = call.func.value if isinstance(call.func, ast.Attribute) else None
        on_answer = any(cell.touches(node) for node in given) or (method_of and cell.touches(method_of))
        if names & NEVER:
            yield f"line {call.lineno}: {min(names & NEVER)} has no place in a test cell"
        elif names & NOT_ON_ANSWERS and on_answer and not is_check(call):
            yield f"line {call.lineno}: {min(names & NOT_ON_ANSWERS)} is called with what the answer gave"
    for text in cell.find(ast.JoinedStr):
        if cell.touches(text):
            yield f"line {text.lineno}: what the answer gave is formatted into a text"


@cell_rule
def asserts_what_must_hold(cell):
    """An assertion on an answer says what must hold: no !=, `is not`, `not in`, `not ...`, bare value."""
    for check in cell.find(ast.Assert):
        if not cell.touches(check.test):
            continue
        loose = isinstance(check.test, (ast.UnaryOp, ast.Name, ast.Call, ast.Attribute, ast.Subscript))
        for compare in (node for node in ast.walk(check.test) if isinstance(node, ast.Compare)):
            if any(isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn)) for op in compare.ops):
                loose = True
            if (
                len(compare.comparators) == 1
                and cell.touches(compare.left)
                and cell.touches(compare.comparators[0])
            ):
                yield f"line {check.lineno}: two values of the answer are compared with each other"
        if loose:
            yield f"line {check.lineno}: expected an assertion such as err <= tol, got a loose one"


@cell_rule
def lets_nan_fail(cell):
    """`assert err <= tol`, never `if err > tol: raise`: a comparison with nan is False."""
    for branch in cell.find(ast.If):
        raises = any(isinstance(node, ast.Raise) for child in branch.body for node in ast.walk(child))
        if raises and cell.touches(branch.test):
            yield f"line {branch.lineno}: expected assert err <= tol, got an if that raises (nan passes it)"


@cell_rule
def checks_type_first(cell):
    """What an answer gave is compared only after a check or `assert type(x) is ...` has seen its type."""
    vetted: set[str] = set()

    def unseen(node: ast.AST) -> set[str]:
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in cell.held} - vetted

    for node in cell.find(ast.Call, ast.Compare, ast.Assign):
        if is_check(node):
            vetted |= {arg.id for arg in node.args if isinstance(arg, ast.Name)}
        elif isinstance(node, ast.Assign) and not unseen(node.value):
            vetted |= {name for target in node.targets for name in bound_in(target)}
        elif isinstance(node, ast.Compare):
            if isinstance(node.left, ast.Call) and names_of(node.left) == {"type"}:
                vetted |= {arg.id for arg in node.left.args if isinstance(arg, ast.Name)}
                continue
            if unseen(node):
                yield f"line {node.lineno}: {min(unseen(node))} is compared before its type was checked"


@cell_rule
def counts_before_it_loops(cell):
    """No zip, all, any or for over an answer's value: an empty one passes. `check.tokens` counts first."""
    for node in cell.find(ast.For):
        if cell.touches(node.iter) and not isinstance(node.iter, ast.List):
            yield f"line {node.lineno}: a loop over what the answer gave passes when that is empty"
    for call in cell.find(ast.Call):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name in ("zip", "any", "all") and any(cell.touches(arg) for arg in call.args):
            yield f"line {call.lineno}: an empty value of the answer passes this; check its length first"


@cell_rule
def expects_before_it_calls(cell):
    """What is expected comes from the test alone, and stands in no argument and no assertion's text."""
    for call in cell.calls(
        "integer", "integers", "number", "tensor", "mask", "tokens", "text", "credit", "size"
    ):
        wants = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "want")]
        for want in wants:
            if cell.touches(want):
                yield f"line {call.lineno}: the expected value is made from what the answer gave"
            expected = {n.id for n in ast.walk(want) if isinstance(n, ast.Name)} - cell.answers
            for inner in ast.walk(call.args[0]):
                if isinstance(inner, ast.Call) and cell.touches(inner.func):
                    passed = {n.id for arg in inner.args for n in ast.walk(arg) if isinstance(n, ast.Name)}
                    if passed & expected and isinstance(want, ast.Name):
                        yield f"line {call.lineno}: the expected value {want.id} is an argument of the call"
    for check in cell.find(ast.Assert):
        if check.lineno in cell.hidden and check.msg is not None and not isinstance(check.msg, ast.Constant):
            yield f"line {check.lineno}: the text of a hidden assertion is no fixed text and may tell values"


@cell_rule
def ends_quietly(cell):
    """The last line is no stray expression: a check, or the name of a score that `credit` or `size` gave."""
    if not cell.tree.body or not isinstance(cell.tree.body[-1], ast.Expr):
        return
    last = cell.tree.body[-1].value
    scores = {
        target.id
        for node in cell.find(ast.Assign)
        if is_check(node.value) and node.value.func.attr in ("credit", "size")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if not (is_check(last) and last.func.attr in QUIET) and not (
        isinstance(last, ast.Name) and last.id in scores
    ):
        yield f"line {last.lineno}: the last expression is neither a check nor a score from credit or size"


@cell_rule
def says_what_was_checked(cell):
    """A choice whose shown part sees only its form ends with `formed`: a wrong one gets there, too.

    Only the form is seen where the answer takes no inputs and no check compares what it gave with a value.
    """
    asked, compared, checks = [], [], []
    for node in cell.find(ast.Call, ast.Assert):
        if node.lineno in cell.hidden:
            continue
        if isinstance(node, ast.Assert):
            compared += [node] if cell.touches(node.test) else []
        elif is_check(node):
            checks.append(node)
        elif names_of(node) & cell.answers and (node.args or node.keywords):
            asked.append(node)
    methods = {check.func.attr for check in checks}
    form_only = methods & {"one_of", "choices"} and methods <= OF_FORM and not (asked or compared)
    for check in checks:
        if check.func.attr == "passed" and form_only:
            yield f"line {check.lineno}: expected check.formed; a choice that is wrong gets here, too"
        if check.func.attr == "formed" and not form_only:
            yield f"line {check.lineno}: expected check.passed; more than the form of a choice is checked"


@cell_rule
def draws_from_the_class_seed(cell):
    """Hidden parts draw sizes and numbers from class_rng(GRADE_ID); nothing there has a fixed or no seed."""
    for call in cell.find(ast.Call):
        if call.lineno not in cell.hidden:
            continue
        names = names_of(call)
        fixed = bool(call.args) and all(isinstance(arg, ast.Constant) for arg in call.args)
        if "class_rng" in names:
            if not (call.args and getattr(call.args[0], "value", None) == cell.name):
                yield f"line {call.lineno}: expected class_rng({cell.name!r})"
        elif names & {"manual_seed", "default_rng", "Random", "seed"} and (fixed or not call.args):
            yield f"line {call.lineno}: a hidden part has a fixed seed; draw it from class_rng({cell.name!r})"
        elif names & {"randn", "rand", "randint", "randperm"} and "torch" in names:
            if not any(keyword.arg == "generator" for keyword in call.keywords):
                yield f"line {call.lineno}: torch draws without a generator that class_rng seeds"
        elif "random" in names and "torch" not in names and len(names) > 1 and "Random" not in names:
            yield f"line {call.lineno}: numbers are drawn from a generator that class_rng does not seed"


@cell_rule
def shows_and_hides(cell):
    """A test cell has a visible part that calls the answer, and a hidden one: shown numbers earn nothing."""
    used = {True: False, False: False}
    for name in cell.find(ast.Name):
        if name.id in cell.held:
            used[name.lineno in cell.hidden] = True
    if not used[False]:
        yield "expected a visible part that tries the answer"
    if not cell.hidden or not any(
        isinstance(node, (ast.Assert, ast.Call)) and node.lineno in cell.hidden
        for node in ast.walk(cell.tree)
    ):
        yield "expected a hidden part with other inputs: an answer that knows the shown numbers would pass"


@cell_rule
def raises_and_does_not(cell):
    """A cell that demands an error also has a case that must not raise: `raise` everywhere is no answer."""
    demands = list(cell.calls("raises")) or [
        c for c in cell.find(ast.Call) if names_of(c) == {"pytest", "raises"}
    ]
    if demands and not any(
        cell.touches(call.args[0])
        for call in cell.calls(*QUIET - {"raises"}, "credit", "size", "record", "choices", "items", "blocks")
        if call.args
    ):
        yield f"line {demands[0].lineno}: expected also a case that must not raise"


@cell_rule
def stands_alone(cell):
    """A test cell imports or makes every name it uses; only the answers' names come from other cells."""
    made = {"__name__"} | set(dir(builtins)) | cell.answers
    for node in ast.walk(cell.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
    foreign = sorted({n.id for n in cell.find(ast.Name) if n.id not in made})
    if foreign:
        yield f"uses {', '.join(foreign)} from another cell; import or make it here"


@cell_rule
def is_worth_something(cell):
    """A test cell has points above 0."""
    if isinstance(cell.points, bool) or not isinstance(cell.points, (int, float)) or not cell.points > 0:
        yield f"expected points above 0, got {cell.points!r}"
