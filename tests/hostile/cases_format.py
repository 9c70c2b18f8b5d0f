"""Hostile and clumsy submissions: how they are written, and how a notebook is made of one.

A text file of cases, `cases/*.txt`:

    #### forged-reply: answers a question that was not asked yet
    points: 0                                   points of the whole notebook
    report: tampering                           codes that the report must hold, with spaces (optional)
    note: anything for people                   (optional)
    # cell: q1                                  the solution cell that the code goes to (default q1)
    def pages(tokens, size): ...
    # after: q1                                 a cell of its own, after q1

`all right` as the first line of a case's body starts from the instructor's answers instead of wrong ones.
"""

import copy
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD = re.compile(r"#### ([a-z0-9-]+): (.*)")
DIRECTIVE = re.compile(r"(points|report|note): (.*)")
PLACE = re.compile(r"# (cell|after|file): (\S+)\s*")
WRONG = {
    "q1": "def pages(tokens, size):\n    return -1",
    "q2": "def scores(q, k):\n    return None",
    "q3": "def sizes():\n    return [0, 0, 0]",
    "q4": "class Box:\n    pass",
    "q5": "def ask_once(oracle, numbers):\n    return None",
    "q6": "An answer.",
}
RIGHT = {
    "q1": "def pages(tokens, size):\n    return (tokens + size - 1) // size",
    "q2": "def scores(q, k):\n    return q @ k.T / q.shape[-1] ** 0.5",
    "q3": "def sizes():\n    return [4, 2, 1]",
    "q4": (
        "class Box:\n    def __init__(self):\n        self.kept = []\n    def add(self, row):\n"
        "        self.kept.append(row.clone())\n    def last(self):\n        return self.kept[-1]\n"
        "    def clear(self, row):\n        row.zero_()"
    ),
    "q5": "def ask_once(oracle, numbers):\n    return oracle.double(numbers)",
    "q6": "Because the last page is filled only in part.",
}
FULL = 13.0


@dataclass
class Case:
    """A submission's files by name, and what must come of it."""

    name: str
    title: str
    points: float | None
    report: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folder: str = ""  # the name of the folder, where it is not the assignment's
    keeps_feedback_clean: bool = True


def read_cases(path: Path, release: Any) -> list[Case]:
    """The cases of one text file, as notebooks made from the release."""
    cases, blocks = [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        head = HEAD.fullmatch(line)
        if head:
            blocks.append((head[1], head[2], []))
        elif blocks:
            blocks[-1][2].append(line)
    for name, title, lines in blocks:
        cases.append(_case(name, title, lines, release))
    return cases


def _case(name: str, title: str, lines: list[str], release: Any) -> Case:
    case = Case(name, title, 0.0)
    answers, own, place = dict(WRONG), [], ("cell", "q1")
    parts: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        directive, there = DIRECTIVE.fullmatch(line), PLACE.fullmatch(line)
        if directive and directive[1] == "points":
            case.points = None if directive[2] == "any" else float(directive[2])
        elif directive and directive[1] == "report":
            case.report = directive[2].split()
        elif directive:
            continue
        elif line.strip() == "all right" and not parts:
            answers = dict(RIGHT)
        elif there:
            place = (there[1], there[2])
            parts[place] = []
        else:
            parts.setdefault(place, []).append(line)
    for (kind, where), body in parts.items():
        text = "\n".join(body).strip("\n")
        if kind == "cell" and text:
            answers[where] = text
        elif kind == "after":
            own.append((where, text))
        elif kind == "file":
            case.files[where] = text.encode()
    case.files["probe.ipynb"] = notebook_bytes(release, answers, own)
    return case


def filled(release: Any, answers: dict[str, str], own: Any = ()) -> dict:
    """The release as JSON, with solution cells filled in and further cells put after others."""
    notebook = copy.deepcopy(json.loads(json.dumps(release)))
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell["source"] = answers[name]
    for where, text in own:
        at = next(
            i for i, cell in enumerate(notebook["cells"])
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == where
        )  # fmt: skip
        new = {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        notebook["cells"].insert(at + 1, new)
    return notebook


def notebook_bytes(release: Any, answers: dict[str, str], own: Any = ()) -> bytes:
    """The bytes of `filled`."""
    return json.dumps(filled(release, answers, own)).encode()
