"""Staged checks of tensors and masks: type, shape, dtype, then the first place that differs."""

from collections.abc import Mapping
from typing import Any

from kvcourse.checks.messages import Messages
from kvcourse.checks.plain import describe

BLOCKED = -1e4  # an additive mask that takes this much off a score blocks it in every dtype down to fp16


class Tensors(Messages):
    """Checks of tensors; torch is imported when one is called."""

    def tensor(
        self,
        got: Any,
        want: Any,
        case: str,
        atol: float = 1e-5,
        legend: str = "",
        where: Any = None,
        mistakes: Mapping[str, Any] | None = None,
    ) -> None:
        """`got` is a tensor of `want`'s shape and dtype and differs nowhere by more than `atol`; nan fails.

        `legend` names the dimensions, such as "(H, D)". `where`, a bool tensor, limits what is compared.
        `mistakes` maps a hint to the tensor that the mistake gives: a wrong `got` that is one of them earns
        the hint.
        """
        __tracebackhide__ = True
        import torch

        if type(got) is not torch.Tensor:
            self._fail(case, "a torch.Tensor", describe(got), self._why(got), safe=True)
        if tuple(got.shape) != tuple(want.shape):
            self._fail(
                case, f"shape {tuple(want.shape)} {legend}".strip(), f"shape {tuple(got.shape)}", legend
            )
        if got.dtype != want.dtype:
            self._fail(case, f"dtype {want.dtype}", f"dtype {got.dtype}", safe=True)
        off = _off(got, want, atol, where)
        if bool(off.any()):
            known = (mistakes or {}).items()
            hints = [hint for hint, wrong in known if _same(got, wrong, 10 * atol, where)]
            first = tuple(int(index) for index in off.nonzero()[0])
            number, right = got[first].item(), want[first].item()
            found = f"{describe(number)} at {list(first)}, the first of {int(off.sum())} places that differ"
            expected = describe(right) + (f" within {atol:g}" if want.is_floating_point() else "")
            self._fail(case, expected, found, " Or: ".join(hints))

    def mask(self, got: Any, want: Any, case: str, mistakes: Mapping[str, Any] | None = None) -> None:
        """`got` lets the same pairs through as the bool tensor `want` (rows: queries, columns: keys).

        A bool tensor (True: may look) or one that is added to scores (0: may look, -inf: may not); leading
        dimensions of 1 do not matter.
        """
        __tracebackhide__ = True
        import torch

        if type(got) is not torch.Tensor:
            self._fail(case, "a bool tensor", describe(got), self._why(got), safe=True)
        rows, columns = want.shape
        if got.dim() < 2 or tuple(got.shape[-2:]) != (rows, columns) or got.numel() != rows * columns:
            self._fail(
                case, f"shape ({rows}, {columns})", f"shape {tuple(got.shape)}", "(n_new, n_past + n_new)"
            )
        grid = got.reshape(rows, columns)
        if grid.is_floating_point():
            if not bool(((grid == 0) | (grid <= BLOCKED)).all()):
                number = "A mask of numbers is added to the scores: 0 lets through, -inf blocks."
                self._fail(case, "a bool tensor", describe(got), number, safe=True)
            grid = grid == 0
        if grid.dtype != torch.bool:
            self._fail(case, "a bool tensor", describe(got), safe=True)
        wrong = (grid != want).nonzero()
        if len(wrong):
            hints = [hint for hint, other in (mistakes or {}).items() if torch.equal(grid, other)]
            row, column = (int(index) for index in wrong[0])
            says = {True: "may look", False: "may not look"}
            place = f"query {row} at key {column}"
            self._fail(
                case,
                f"{place}: {says[bool(want[row, column])]}",
                f"{says[bool(grid[row, column])]} ({len(wrong)} places differ)",
                " Or: ".join(hints),
            )


def _same(got: Any, wrong: Any, atol: float, where: Any) -> bool:
    """Whether `got` is what a mistake gives, nan for nan."""
    return not bool((_off(got, wrong, atol, where) & ~((got != got) & (wrong != wrong))).any())


def _off(got: Any, want: Any, atol: float, where: Any) -> Any:
    """True where the two differ by more than `atol` or either is nan. Bool and integer tensors: exactly."""
    off = ~((got - want).abs() <= atol) if want.is_floating_point() else got != want
    return off if where is None else off & where
