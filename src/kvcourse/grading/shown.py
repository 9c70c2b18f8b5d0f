"""What feedback may show of a run: nothing that came after a hidden test called the code that was handed in.

From then on a student process may print, draw or raise what hidden tests passed to it, in any later cell, or
end itself in the cell whose number it wants to tell. So such outputs stay with the instructor, and feedback
shows instead what the same cells put out in a second run, in processes of its own, that has no hidden line in
it: all of the student's later cells, whatever they put out in the first, and tests that put out something.
That run is left out where it could show nothing else: where all such outputs are those of the instructor's
own answers. What can still be told of hidden tests is whether it took place, and a bit for each test cell, as
the points of that cell tell one.
"""

from dataclasses import replace
from typing import Any

from kvcourse.grading.launcher import Zygote
from kvcourse.grading.outcome import CellOutcome
from kvcourse.grading.runner import Job, Usage, run

FIXED = ("CellTimeout", "PeerDied", "ProtocolError")


def run_for_feedback(zygote: Zygote, job: Job, slot: int = 0) -> tuple[list[CellOutcome], Usage]:
    """Run a job; outcomes that feedback must not show as they are get `instead`."""
    outcomes, usage = run(zygote, job, slot)
    differs = {o.key for o in outcomes if o.late and visible_outputs(o) != job.known.get(o.key, [])}
    if differs:
        late = {o.key for o in outcomes if o.late and (o.kind != "test" or o.key in differs)}
        again, more = run(zygote, without_hidden(job, late), slot)
        shown = {outcome.key: visible_outputs(outcome) for outcome in again}
        for outcome in outcomes:
            if outcome.key in late:
                instead = shown.get(outcome.key, [])
                outcome.instead = instead + [word for word in _own_words(outcome) if word not in instead]
        usage.student += more.student
        usage.checker += more.checker
        usage.memory = max(usage.memory, more.memory)
    return outcomes, usage


def without_hidden(job: Job, shown: set[str] | None = None) -> Job:
    """The job without hidden lines, and without the test cells that are not `shown`."""
    cells = [cell for cell in job.cells if shown is None or cell["kind"] != "test" or cell["key"] in shown]
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
