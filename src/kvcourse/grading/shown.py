"""What feedback may show of a run: nothing that came after a hidden test called the code that was handed in.

From then on a student process may print, draw or raise what hidden tests passed to it, in any later cell, or
end itself in the cell whose number it wants to tell. So such outputs stay with the instructor, and feedback
shows instead what the same cells put out in a second run, in a student process of its own, that has no hidden
line in it: all later cells of the student's, whatever they put out in the first, and tests that showed any.
That run is left out where it could show nothing else: where all such outputs are those of the instructor's
own answers. What can still be told of hidden tests is whether it took place, and a bit for each test cell, as
the points of that cell tell one.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from kvcourse.grading.launcher import Zygote
from kvcourse.grading.outcome import CellOutcome
from kvcourse.grading.runner import Job, Runner, Usage

FIXED = ("CellTimeout", "PeerDied", "ProtocolError")


def run_for_feedback(zygote: Zygote, job: Job, slot: int = 0) -> tuple[list[CellOutcome], Usage]:
    """Run a job; outcomes that feedback must not show as they are get `instead`."""
    with Runner(zygote, slot) as runner:
        outcomes = runner.run(job)
        differs = {o.key for o in outcomes if o.late and visible_outputs(o) != job.known.get(o.key, [])}
        late = {o.key for o in outcomes if differs and o.late and (o.kind != "test" or o.key in differs)}
        # What hung or died is not waited for again: a test says so in the grader's words, and a student's
        # cell that did so before any hidden line called has left nothing behind.
        hung = {o.key for o in outcomes if o.fault_kind in FIXED and (o.kind == "test" or not o.late)}
        again = runner.run(without_hidden(job, late - hung, hung)) if late - hung else []
    shown = {outcome.key: visible_outputs(outcome) for outcome in again}
    for outcome in outcomes:
        if outcome.key in late:
            instead = shown.get(outcome.key, [])
            outcome.instead = instead + [word for word in _own_words(outcome) if word not in instead]
    return outcomes, runner.usage


def without_hidden(job: Job, shown: set[str] | None = None, hung: Collection[str] = ()) -> Job:
    """The job without hidden lines, the test cells that are not `shown`, and the cells that `hung`."""
    cells = [cell for cell in job.cells if shown is None or cell["kind"] != "test" or cell["key"] in shown]
    cells = [cell for cell in cells if cell["key"] not in hung]
    while shown is not None and cells and cells[-1]["key"] not in shown:
        cells.pop()
    return replace(job, cells=[_visible(cell) for cell in cells])


def visible_outputs(outcome: CellOutcome) -> list[dict]:
    """The outputs that no hidden line made."""
    return [output for output, hidden in zip(outcome.outputs, outcome.hidden, strict=True) if not hidden]


def _own_words(outcome: CellOutcome) -> list[dict]:
    """The grader's sentence on a test that hung or died: its text is the same for everybody."""
    return outcome.outputs[-1:] if outcome.kind == "test" and outcome.fault_kind in FIXED else []


def _visible(cell: dict[str, Any]) -> dict[str, Any]:
    lines = cell["source"].split("\n")
    for first, last in cell["hidden"]:
        lines[first - 1 : last] = [""] * (last - first + 1)  # tracebacks keep their line numbers
    return {**cell, "source": "\n".join(lines), "hidden": []}
