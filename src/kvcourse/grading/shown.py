"""What feedback may show of a run: nothing that came after a hidden test called the code that was handed in.

From then on a student process may print, draw or raise what hidden tests passed to it, in any later cell. So
such outputs stay with the instructor, and feedback shows instead what the same cells put out in a second run
that has no hidden line in it. That run is left out where it could show nothing else: where all such outputs
are those of the instructor's own answers.
"""

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
        late = {o.key for o in outcomes if o.late and visible_outputs(o) != job.known.get(o.key)}
        again = runner.run(without_hidden(job, late)) if late else []
    shown = {outcome.key: visible_outputs(outcome) for outcome in again}
    for outcome in outcomes:
        if outcome.key in late:
            instead = shown.get(outcome.key, [])
            outcome.instead = instead + [word for word in _own_words(outcome) if word not in instead]
    return outcomes, runner.usage


def without_hidden(job: Job, tests: set[str] | None = None) -> Job:
    """The job without hidden lines, and without test cells other than `tests` and what follows the last."""
    cells = [cell for cell in job.cells if tests is None or cell["kind"] != "test" or cell["key"] in tests]
    while tests is not None and cells and cells[-1]["key"] not in tests:
        cells.pop()
    return replace(job, cells=[_visible(cell) for cell in cells])


def visible_outputs(outcome: CellOutcome) -> list[dict]:
    """The outputs that no hidden line made."""
    return [output for output, hidden in zip(outcome.outputs, outcome.hidden, strict=True) if not hidden]


def _own_words(outcome: CellOutcome) -> list[dict]:
    """The grader's sentence on a cell that hung or died: its text is the same for everybody."""
    return outcome.outputs[-1:] if outcome.fault_kind in FIXED else []


def _visible(cell: dict[str, Any]) -> dict[str, Any]:
    lines = cell["source"].split("\n")
    for first, last in cell["hidden"]:
        lines[first - 1 : last] = [""] * (last - first + 1)  # tracebacks keep their line numbers
    return {**cell, "source": "\n".join(lines), "hidden": []}
