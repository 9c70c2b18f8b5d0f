"""`kvcourse plan --plot FILE`: how many sequences fit, against how long they are, one line an engine."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from kvcourse.engines import pool
from kvcourse.errors import UserError, shown

if TYPE_CHECKING:
    from kvcourse.commands.plan import Plan

ENDINGS = (".png", ".svg", ".pdf")


def draw(plan: "Plan", path: Path) -> None:
    """Write the figure, whole or not at all. Raises UserError for an ending or a folder it cannot use."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f"--plot {shown(str(path))}: expected a file that ends in {', '.join(ENDINGS)}.")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("--plot needs matplotlib; expected it installed (pip install matplotlib).") from None
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    lengths = sorted({max(plan.context * 2**k // 2**6, 1) for k in range(8)})
    drawn = False
    for found in plan.pools:
        fitting = [
            pool(found.engine, plan.device, plan.model, plan.storage, n, plan.fraction).concurrency
            for n in lengths
        ]
        drawn |= any(fitting)
        axes.plot(lengths, fitting, marker="o", label=found.engine.name)
    if not drawn:
        raise UserError("--plot: no sequence fits at any length, so there is nothing to draw.")
    axes.axvline(plan.context, color="gray", linewidth=1, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="tokens a sequence", ylabel="sequences that fit")
    axes.set_title(f"{plan.subject.name} on {plan.gpu.name}, cache in {plan.storage.name}")
    axes.grid(alpha=0.3)
    axes.legend()
    half = path.with_name(f".{path.name}.part")
    try:
        figure.savefig(half, format=path.suffix[1:].lower())
        os.replace(half, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            half.unlink()
        raise UserError(f"--plot {shown(str(path))}: {error.strerror}.") from None
