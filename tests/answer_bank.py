"""The gate of the exercises: every answer of the bank gets exactly its points.

    python tests/answer_bank.py [DIR ...] [--engine fast|stock|both] [--assignment NAME] [--root FOLDER]

Each DIR (default: every folder of tests/answers/) holds one file a problem, in the form that
`kvcourse.course.bank` describes; its name is the assignment's, unless --assignment says otherwise.

One submission carries the k-th answer of every problem, so that a bank costs about ten gradings, in a course
folder of their own below build/: by `kvcourse grade` (fast), by stock `nbgrader autograde`, or by both (the
default), which must agree on the points of every cell and on what waits for a person. As must be: the
untouched release gets 0; the reference every autograded point, and its written answers wait for a person; a
right answer every point of its problem; a wrong one exactly the points listed, never all of them, and its
hints stand in what a visible check says.

Ends with one line of totals. Exit status: 0 all as must be, 1 otherwise, 2 for input that cannot be read.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kvcourse.checks.seed import ENVIRONMENT
from kvcourse.course.authoring import released_notebook
from kvcourse.course.bank import REFERENCE, UNTOUCHED, Answer, Bank, Problem, filled_in, read_bank
from kvcourse.course.files import find_root
from kvcourse.course.source import notebook_bytes, read_source, source_text
from kvcourse.course.stock import CellScore, Graded, grade
from kvcourse.errors import UserError

Engine = Callable[..., dict[str, Graded]]


@dataclass
class Report:
    """What one bank came to: counts, and one sentence for each thing that is not as it must be."""

    answers: int = 0
    gradings: int = 0
    compared: int = 0
    faults: list[str] = field(default_factory=list)
    graded: dict[str, Graded] = field(default_factory=dict)


def check_bank(
    root: Path, assignment: str, folder: Path, engine: Engine = grade, say: Callable[[str], None] = print
) -> Report:
    """Grade every answer of a bank with `engine` and compare."""
    source = read_source(source_text(root, assignment))
    bank = read_bank(folder, source)
    release = released_notebook(root, assignment)
    plan = make_plan(bank)
    submissions = {
        student: notebook_bytes(
            filled_in(release, {k: v for a in chosen.values() for k, v in a.sources.items()})
        )
        for student, chosen in plan.items()
    }
    done = []

    def progress(student: str) -> None:
        done.append(student)
        say(f"{assignment}: {len(done)} of {len(submissions)} ({student})")

    seed = os.environ.get(ENVIRONMENT, "answer bank")
    graded = engine(
        root, assignment, source, submissions, root / "build" / "answer-bank" / assignment, seed, progress
    )
    report = Report(sum(map(len, bank.answers.values())), len(submissions), graded=graded)
    for student, chosen in plan.items():
        result = graded.get(student)
        if result is None or result.failed:
            report.faults.append(f"{student}: the grader could not process it.")
            continue
        for name, problem in bank.problems.items():
            answer = chosen.get(name)
            faults, compared = compare(problem, answer, result.cells)
            report.compared += compared
            what = str(answer) if answer else f"{name} {UNTOUCHED}"
            report.faults += [f"{what}: {fault} (graded in {student})" for fault in faults]
    return report


def differences(one: dict[str, Graded], other: dict[str, Graded]) -> list[str]:
    """Return where two graders disagree: a submission, a cell's points, whether it waits for a person."""
    faults = []
    for student in sorted(one.keys() | other.keys()):
        both = [graded.get(student) for graded in (one, other)]
        if None in both or both[0].failed != both[1].failed:
            faults.append(f"{student}: only one of the graders could process it")
            continue
        for name in sorted(both[0].cells.keys() | both[1].cells.keys()):
            got = [(c.points, c.needs_manual) if (c := g.cells.get(name)) else None for g in both]
            if got[0] != got[1]:
                faults.append(f"{student}, {name}: the graders differ, {got[0]} and {got[1]}")
    return faults


def make_plan(bank: Bank) -> dict[str, dict[str, Answer]]:
    """Return submission -> problem -> answer; the k-th submission carries every problem's k-th answer."""
    longest = max(map(len, bank.answers.values()))
    plan = {UNTOUCHED: {}}
    for k in range(longest):
        name = REFERENCE if k == 0 else f"answer-{k:02d}"
        plan[name] = {
            problem: answers[k if k < len(answers) else 0] for problem, answers in bank.answers.items()
        }
    return plan


def compare(problem: Problem, answer: Answer | None, cells: dict[str, CellScore]) -> tuple[list[str], int]:
    """Return what is not as it must be for one answer (None: untouched), and how many cells were compared."""
    faults = []
    for name, worth in problem.by_machine.items():
        wanted = 0.0 if answer is None else answer.points.get(name, 0.0) if answer.kind == "wrong" else worth
        got = cells[name].points if name in cells else None
        if got is None or abs(got - wanted) > 1e-9:
            gets = "nothing" if got is None else f"{got:g}"
            said = first_line(cells[name].output) if got is not None and got < wanted else ""
            faults.append(
                f"{name} got {gets}, must get {wanted:g} of {worth:g}{said and f'; it says {said}'}"
            )
    for name in problem.by_hand:
        if answer is not None and not (name in cells and cells[name].needs_manual):
            faults.append(f"{name} does not wait for a person, as a written answer must")
    if answer is not None and answer.kind == "wrong":
        if answer.points == problem.by_machine:
            faults.append("a wrong answer is listed with every point of its problem")
        said = flat("\n".join(cells[name].output for name in problem.visible if name in cells))
        faults += [f"no visible check says '{hint}'" for hint in answer.hints if flat(hint) not in said]
    return faults, len(problem.by_machine) + len(problem.by_hand)


def first_line(output: str) -> str:
    """Return how a cell's output begins, to say why it gave fewer points than it must."""
    return output.strip().split("\n")[0][:120]


def flat(text: str) -> str:
    """Return a text with every run of white space as one space: messages may be wrapped."""
    return re.sub(r"\s+", " ", text).strip()


def engines_of(name: str) -> dict[str, Engine]:
    """Return the graders that --engine names."""
    from kvcourse.grading import engine

    known = {"fast": engine.grade, "stock": grade}
    return known if name == "both" else {name: known[name]}


def main(argv: list[str] | None = None, engine: Engine | None = None) -> int:
    """Check the banks with `engine`, or with the graders that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Grade the answer bank and compare each answer with its points."
    )
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="DIR", help="a bank (default: all of tests/answers)"
    )
    parser.add_argument(
        "--assignment", help="the assignment that the banks answer (default: the folder's name)"
    )
    parser.add_argument("--root", type=Path, help="the course's folder (default: the one this file is in)")
    parser.add_argument("--engine", choices=("fast", "stock", "both"), default="both", help="default: both")
    args = parser.parse_args(argv)
    began, banks, reports = time.monotonic(), [], []
    try:
        root = find_root(args.root or Path(__file__).resolve().parent.parent)
        banks = args.folders or sorted(p for p in (root / "tests" / "answers").glob("[!._]*") if p.is_dir())
        if not banks:
            raise UserError("expected a bank in tests/answers, found none.")
        for folder in banks:
            name = args.assignment or folder.resolve().name
            made = []
            for called, one in ({"": engine} if engine else engines_of(args.engine)).items():
                made.append(check_bank(root, name, folder, one))
                made[-1].faults = [f"{called and f'{called}: '}{fault}" for fault in made[-1].faults]
            if len(made) == 2:
                made[1].faults += differences(made[0].graded, made[1].graded)
            reports += made
            for fault in [fault for report in made for fault in report.faults]:
                print(fault)
    except UserError as error:
        print(f"answer_bank: {error}", file=sys.stderr)
        return 2
    faults = sum(len(report.faults) for report in reports)
    answers = sum(report.answers for report in reports) * len(banks) // len(reports)
    print(
        f"{len(banks)} bank{'s' * (len(banks) > 1)}, {answers} answers, "
        f"{sum(r.gradings for r in reports)} gradings, "
        f"{sum(r.compared for r in reports)} cell scores compared: "
        f"{f'{faults} not as must be' if faults else 'all as must be'} ({time.monotonic() - began:.0f} s)"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
