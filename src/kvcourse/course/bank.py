"""The answer bank: right and wrong answers of every problem, each with the points it must get.

A bank is a folder with one file a problem, `q2.py`, in percent form:

    # %% reference              optional; the default is the instructor's own solution cells
    # %% right: closed form     must get every autograded point of the problem
    def pages(tokens, size): ...
    # %% wrong: rounds down     must get exactly the points listed; graded cells not listed, 0
    # points: q2-visible=1 q2-hidden=0.5
    # hint: Often caused by rounding down      (optional, repeatable) must stand in what a visible check says
    def pages(tokens, size): ...

A problem is all cells whose grade id starts with the file's name. Where it has several solution cells for
code, `# cell: GRADE_ID` begins the part for each; a cell without a part keeps the reference. A written answer
follows `# markdown:` as comment lines (after `# cell: GRADE_ID`, if there are several written ones).
"""

import copy
import re
from dataclasses import dataclass, field
from pathlib import Path

from kvcourse.course.files import CourseError, read_text
from kvcourse.course.regions import MARKER, split_regions
from kvcourse.errors import shown

HEADER = re.compile(r"#\s*%%\s*(.*)")
DIRECTIVE = re.compile(r"#\s*(points|hint|cell|markdown):\s*(.*)")
UNTOUCHED, REFERENCE = "untouched", "reference"


@dataclass
class Answer:
    """One answer to one problem: sources by the grade id of their cell."""

    problem: str
    kind: str  # reference, right, wrong
    title: str
    points: dict[str, float] = field(default_factory=dict)
    hints: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.problem} {self.kind}" + (f" '{self.title}'" if self.title else "")


@dataclass
class Problem:
    """A problem as the assignment's source defines it."""

    name: str
    code_cells: list[str] = field(default_factory=list)  # solution cells
    text_cells: list[str] = field(default_factory=list)  # written answers
    by_machine: dict[str, float] = field(default_factory=dict)  # graded cell -> points
    by_hand: dict[str, float] = field(default_factory=dict)
    visible: set[str] = field(default_factory=set)  # cells whose output a learner sees


@dataclass
class Bank:
    """An assignment's problems in the order of the notebook, and their answers: reference first."""

    problems: dict[str, Problem]
    answers: dict[str, list[Answer]]

    def find(self, problem: str, title: str) -> Answer:
        """Return an answer by its title, or `reference`."""
        for answer in self.answers.get(problem, []):
            if title in (answer.title, answer.kind if answer.kind == REFERENCE else None):
                return answer
        raise CourseError(f"expected an answer of the bank to problem {problem}, got {shown(title)}.")


def problem_of(grade_id: str) -> str:
    """Return the problem a cell belongs to: `q2` for `q2-hidden`."""
    return grade_id.partition("-")[0]


def read_problems(source) -> dict[str, Problem]:
    """Return the problems of an assignment's source notebook."""
    problems: dict[str, Problem] = {}
    for cell in source.cells:
        meta = cell.metadata.get("nbgrader", {})
        grade_id = meta.get("grade_id", "")
        if not re.fullmatch(r"q\d+(-.*)?", grade_id):
            continue
        problem = problems.setdefault(problem_of(grade_id), Problem(problem_of(grade_id)))
        if meta["solution"]:
            (problem.code_cells if cell.cell_type == "code" else problem.text_cells).append(grade_id)
        if meta["grade"]:
            (problem.by_hand if meta["solution"] else problem.by_machine)[grade_id] = float(meta["points"])
        shows, _ = split_regions(cell.source)
        if cell.cell_type == "code" and any(
            line.strip() and line.strip()[0] != "#" for line in shows.split("\n")
        ):
            problem.visible.add(grade_id)
    return problems


def reference_sources(source) -> dict[str, str]:
    """Return the instructor's solution cells by grade id, without their markers."""
    return {
        cell.metadata.nbgrader["grade_id"]: "\n".join(
            line for line in cell.source.split("\n") if not MARKER.search(line)
        )
        for cell in source.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def read_bank(folder: Path, source) -> Bank:
    """Read a bank against its assignment's source notebook. Raise CourseError for what it cannot mean."""
    problems, reference = read_problems(source), reference_sources(source)
    if not folder.is_dir():
        raise CourseError(f"expected a folder with a file for each problem, found no folder {folder}.")
    answers: dict[str, list[Answer]] = {}
    for path in sorted(folder.glob("*.py")):
        if path.stem not in problems:
            raise CourseError(
                f"{path}: expected the name of a problem ({', '.join(problems)}), got {path.stem}."
            )
        answers[path.stem] = _read_answers(path, problems[path.stem], reference)
    if not answers:
        raise CourseError(f"{folder}: expected a file for each problem, found none.")
    for name, problem in problems.items():
        if name not in answers and problem.by_machine:
            raise CourseError(
                f"{folder}: expected answers to problem {name} in {name}.py, found no such file."
            )
        answers.setdefault(name, [Answer(name, REFERENCE, "", sources=_own(problem, reference))])
    return Bank(problems, {name: answers[name] for name in problems})


def filled_in(release, sources: dict[str, str]):
    """Return a submission: the release with these solution cells filled in, everything else as released."""
    submission = copy.deepcopy(release)
    for cell in submission.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in sources:
            cell.source = sources[grade_id]
    return submission


def _own(problem: Problem, reference: dict[str, str]) -> dict[str, str]:
    return {name: reference[name] for name in [*problem.code_cells, *problem.text_cells]}


def _read_answers(path: Path, problem: Problem, reference: dict[str, str]) -> list[Answer]:
    blocks: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        header = HEADER.fullmatch(line.rstrip())
        if header:
            blocks.append((number, header[1], []))
        elif blocks:
            blocks[-1][2].append(line)
        elif line.strip() and not line.startswith("#"):
            raise CourseError(
                f"{path}, line {number}: expected '# %% right: TITLE' or the like before any code."
            )
    answers = [_read_answer(f"{path}, line {number}", head, lines, problem) for number, head, lines in blocks]
    if not any(answer.kind == REFERENCE for answer in answers):
        answers.insert(0, Answer(problem.name, REFERENCE, ""))
    answers.sort(key=lambda answer: answer.kind != REFERENCE)
    titles = [answer.title for answer in answers]
    for title in titles:
        if titles.count(title) > 1:
            raise CourseError(
                f"{path}: expected each title once, got {shown(title)} {titles.count(title)} times."
            )
    for answer in answers:
        answer.sources = {**_own(problem, reference), **answer.sources}
    return answers


def _read_answer(where: str, head: str, lines: list[str], problem: Problem) -> Answer:
    kind, _, title = (part.strip() for part in head.partition(":"))
    if kind not in ("reference", "right", "wrong") or (kind != "reference" and not title):
        raise CourseError(
            f"{where}: expected 'reference', 'right: TITLE' or 'wrong: TITLE', got {shown(head)}."
        )
    answer = Answer(problem.name, kind, title)
    cell, markdown = None, False
    parts: dict[tuple[str | None, bool], list[str]] = {}
    for line in lines:
        directive = DIRECTIVE.fullmatch(line.rstrip())
        word = directive[1] if directive else None
        if markdown and not (line.startswith("#") and word is None):
            markdown = False
        if word == "points":
            answer.points = _read_points(where, directive[2], problem)
        elif word == "hint":
            answer.hints.append(directive[2].strip())
        elif word == "cell":
            cell = directive[2].strip()
        elif word == "markdown":
            markdown = True
            parts[cell, True] = [directive[2]] if directive[2] else []
        elif markdown:
            parts[cell, True].append(re.sub(r"^# ?", "", line))
        else:
            parts.setdefault((cell, False), []).append(line)
    for (name, written), text in parts.items():
        body = "\n".join(text).strip("\n").rstrip()
        if body:
            answer.sources[_cell_for(where, name, written, problem)] = body
    if kind != "wrong" and answer.points:
        raise CourseError(f"{where}: points are listed for wrong answers only; a right one gets them all.")
    if kind != REFERENCE and not answer.sources:
        raise CourseError(f"{where}: expected an answer, found none.")
    return answer


def _read_points(where: str, text: str, problem: Problem) -> dict[str, float]:
    points = {}
    for item in text.split():
        name, _, value = item.partition("=")
        try:
            points[name] = float(value)
        except ValueError:
            raise CourseError(f"{where}: expected points as GRADE_ID=NUMBER, got {shown(item)}.") from None
        if name not in problem.by_machine:
            known = ", ".join(problem.by_machine) or "none"
            raise CourseError(
                f"{where}: {shown(name)} is no autograded cell of {problem.name} (they are: {known})."
            )
        if not 0 <= points[name] <= problem.by_machine[name]:
            raise CourseError(f"{where}: {name} is worth {problem.by_machine[name]:g}, got {value} points.")
    return points


def _cell_for(where: str, name: str | None, written: bool, problem: Problem) -> str:
    """Return the solution cell that a part of an answer goes to."""
    cells = problem.text_cells if written else problem.code_cells
    if name is None and len(cells) == 1:
        return cells[0]
    if name in cells:
        return name
    # A written part may follow the '# cell:' of a code cell, and the other way round.
    if name in problem.code_cells + problem.text_cells and len(cells) == 1:
        return cells[0]
    kind = "written answer" if written else "code"
    raise CourseError(
        f"{where}: expected '# cell: GRADE_ID' before the {kind} "
        f"(of {', '.join(cells) or 'no cell, the problem has none'}), got {name}."
    )
