"""What a staged check says when it fails, by how much the learner may see."""

from typing import Any

from kvcourse.checks.plain import known_type

NOTHING = "None means that the function ended without `return`."


class CheckFailed(AssertionError):
    """A check that failed. The message is written for the learner."""


class Messages:
    """Messages that show inputs and values (`show=True`) or hide them.

    `tell=False` keeps back what was expected and shows the rest.
    """

    def __init__(self, show: bool, tell: bool = True) -> None:
        self._show, self._tell = show, tell

    def _fail(self, case: str, want: str, got: str, likely: str = "", safe: bool = False) -> None:
        """Raise the staged message. What is expected shows in visible checks, and where it tells nothing
        (`safe`). What came shows in visible ones only: code that was handed in could return its arguments.
        """
        __tracebackhide__ = True
        lines = [case if self._show else f"{case}, with other inputs than the ones shown"]
        if safe or (self._show and self._tell):
            lines.append(f"  expected: {want}")
        if self._show:
            lines.append(f"  got:      {got}")
        if likely:
            lines.append(f"  likely:   {likely}")
        elif not (self._show or safe):
            lines.append(
                "  The value is not the expected one. Try small sizes by hand: 1, 2, and unequal ones."
            )
        raise CheckFailed("\n".join(lines))

    def _why(self, got: Any) -> str:
        return NOTHING if got is None else "" if self._show else f"The type was {known_type(got)}."
