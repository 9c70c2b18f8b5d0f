"""Instructors' notebooks of one or two cells, made for a test."""

from nbformat.v4 import new_code_cell, new_notebook

SETUP = "import torch\nfrom kvcourse.checks.markers import hold, inout, op, put, share, source, value, vjp"


def cell(name: str, source: str, **meta):
    """A cell that nbgrader knows."""
    kept = {"grade_id": name, "grade": False, "solution": False, "locked": False, "task": False, **meta}
    return new_code_cell(source, metadata={"nbgrader": {"schema_version": 3, **kept}})


def make_master(tests: dict[str, str], answer: str, setup: str = SETUP):
    """An instructor's notebook: setup, one solution cell, test cells of 2 points each."""
    return new_notebook(
        cells=[
            cell("setup", setup, locked=True),
            cell("q1", answer, solution=True),
            *[cell(name, text, grade=True, locked=True, points=2) for name, text in tests.items()],
        ]
    )
