"""Staged checks: type, then shape, then value; a failure says what was expected, what came and why it may be.

`check` is for the part of a test cell that learners read: its messages show the values. `hidden` is for the
part behind nbgrader's hidden markers: the same checks, but a message tells neither inputs nor values, only
the kind of error and the likely mistake, so feedback does not give the hidden test away. `blind` is for a
visible check whose expected value is the answer itself: it shows what came, not what was expected. A cell
ends with `passed`, or with `formed` where its visible part cannot tell a right choice from a wrong one.

    check.integer(rows_projected(64, 16, True), 79, "rows_projected(64, 16, cached=True)",
                  quantity="rows_projected", prompt=64, new=16, cached=True)

What is expected is computed before the learner's function is called (it may change its arguments).
"""

from collections.abc import Callable, Collection
from typing import Any

from kvcourse.checks.messages import CheckFailed
from kvcourse.checks.own_work import borrowed
from kvcourse.checks.plain import describe, truth, type_name
from kvcourse.checks.staged_answers import Answers
from kvcourse.checks.staged_lists import Lists
from kvcourse.checks.staged_numbers import Numbers
from kvcourse.checks.staged_tensors import Tensors


class Checks(Numbers, Answers, Lists, Tensors):
    """Every kind of check, and those of errors, rules and invariants. Each file has one kind of answer."""

    def yes_or_no(self, got: Any, want: bool, case: str, sentence: str) -> None:
        """`got` is True or False (or NumPy's), and the one that `want` is; if not, `sentence` tells why."""
        __tracebackhide__ = True
        if truth(got) is None:
            self._fail(case, "True or False", describe(got), self._why(got), safe=True)
        self.that(truth(got) is want, case, sentence)

    def own_work(self, name: str, package: str = "kvcourse", given: Collection[str] = ()) -> None:
        """`name` was built in the notebook: it uses nothing from `package` but the names `given`."""
        __tracebackhide__ = True
        sentence = borrowed(name, package, given)
        if sentence:
            raise CheckFailed(f"{name}\n  {sentence}")

    def raises(self, error: type[Exception], function: Callable, *args: Any, case: str) -> None:
        """`function(*args)` raises `error`. Always beside a case that must not raise."""
        __tracebackhide__ = True
        try:
            got = function(*args)
        except error as raised:
            if isinstance(raised, NotImplementedError):  # the stub's own error is a RuntimeError
                raise
            return
        self._fail(case, f"{error.__name__}", f"no error, but {describe(got)}", safe=True)

    def that(self, holds: bool, case: str, sentence: str) -> None:
        """An invariant of the author's own: `holds` is True; if not, `sentence` tells what that means."""
        __tracebackhide__ = True
        if type(holds) is not bool:
            raise TypeError(f"an invariant is True or False; got {type_name(holds)}")
        if not holds:
            raise CheckFailed(f"{case}\n  {sentence}")

    def passed(self, name: str) -> None:
        """Say that the checks of this cell went through, and that grading adds others."""
        print(f"{name}: the checks you see pass. Grading adds others of the same kind.")

    def formed(self, name: str) -> None:
        """Say so of a choice whose checks see no more than its form, which a wrong one has as well."""
        print(f"{name}: this has the form of an answer. Only grading tells whether it is right.")


check = Checks(show=True)
hidden = Checks(show=False)
blind = Checks(show=True, tell=False)
