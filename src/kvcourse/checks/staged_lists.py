"""Staged checks of lists of whole numbers: in order, or block ids in any."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kvcourse.checks.messages import Messages
from kvcourse.checks.plain import describe, type_name, whole


class Lists(Messages):
    """Checks of whole numbers in a list, a tuple, or a tensor or array of one dimension."""

    def integers(
        self,
        got: Any,
        want: Sequence[int],
        case: str,
        one: str = "number",
        mistakes: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """`got` is the whole numbers `want`, in order. `mistakes` maps a hint to what the mistake gives."""
        __tracebackhide__ = True
        many = one if len(want) == 1 else f"{one}s"
        self._sequence(got, want, case, one, many, mistakes)

    def blocks(
        self, got: Any, count: int, among: Collection[int], case: str, otherwise: str = ""
    ) -> list[int]:
        """The ids in `got`: a list of `count` different blocks of `among`, in any order.

        `otherwise` says what a block outside `among` means.
        """
        __tracebackhide__ = True
        many = f"{count} block{'' if count == 1 else 's'}"
        if type(got) not in (list, tuple):
            self._fail(case, f"a list of {many}", describe(got), self._why(got), safe=True)
        if len(got) != count:
            self._fail(case, many, f"{len(got)}", safe=True)
        ids = [whole(item) for item in got]
        if None in ids:
            self._fail(case, "block ids that are whole numbers", describe(got[ids.index(None)]), safe=True)
        twice = [block for at, block in enumerate(ids) if block in ids[:at]]
        if twice:
            self._fail(case, f"{many}, all different", f"block {twice[0]} twice", safe=True)
        strange = [block for block in ids if block not in among]
        if strange:
            self._fail(case, f"blocks of {describe(sorted(among))}", f"block {strange[0]}", otherwise)
        return ids

    def tokens(self, got: Any, want: Sequence[int], case: str) -> None:
        """`got` is the token ids `want`: a list, a tuple, or a tensor or array of one dimension."""
        __tracebackhide__ = True
        self._sequence(got, want, case, "token", "token ids")

    def rows_fed(self, fed: Sequence[int], want: Sequence[int], case: str) -> None:
        """A WatchedModel's `fed` is `want`: so many rows at each call of `forward`."""
        __tracebackhide__ = True
        self._sequence(fed, want, case, "rows:", "calls of forward")

    def _sequence(
        self,
        got: Any,
        want: Sequence[int],
        case: str,
        one: str,
        many: str,
        mistakes: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        __tracebackhide__ = True
        if type_name(got) in ("torch.Tensor", "numpy.ndarray"):
            if len(got.shape) != 1:
                self._fail(case, f"{len(want)} {many} in one dimension", describe(got))
            got = got.tolist()
        if type(got) not in (list, tuple):
            self._fail(case, f"a list of {many}", describe(got), self._why(got))
        ids = [whole(item) for item in got]
        if None in ids:
            self._fail(case, f"{many} that are whole numbers", describe(got[ids.index(None)]))
        hints = [hint for hint, wrong in (mistakes or {}).items() if ids == list(wrong) != list(want)]
        if len(ids) != len(want):
            likely = " Or: ".join(hints)
            if one == "token" and len(ids) > len(want):
                more = f"{len(ids) - len(want)} " if self._show else ""
                likely = f"That is {more}more than asked for."
                if len(want) and ids[-len(want) :] == list(want):  # what was asked for, behind something else
                    likely = "The right tokens stand behind others. The prompt is not part of the answer."
            self._fail(case, f"{len(want)} {many}", f"{len(ids)}", likely, safe=True)
        for at, (a, b) in enumerate(zip(ids, want, strict=True)):
            if a != b:
                place = f"The first difference is at index {at}." if self._show else ""
                likely = " Or: ".join(hints) or place
                self._fail(case, f"{one} {b} at index {at}", f"{one} {a}", likely)
