"""The sample class: made-up students who hand in answers of the bank, graded by `kvcourse grade`.

It has its own course folder and database in build/sample-class/; the instructor's gradebook.db is never
touched. Who hands in what stands in tests/answers/sample_class.toml. A second run grades nothing, unless the
assignment, a submission or the package has changed since.
"""

import json
import shutil
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from kvcourse.course.files import (
    CONFIG,
    CourseError,
    digest,
    digest_files,
    files_below,
    read_text,
    write_atomic,
)
from kvcourse.course.stock import CellScore, Graded
from kvcourse.errors import shown

ROSTER = Path("tests/answers/sample_class.toml")
FOLDER = Path("build/sample-class")
MANIFEST = "manifest.json"
SEED = "sample class"
TOOLS = ("nbgrader", "nbclient", "nbconvert", "ipykernel", "torch")
BROKEN, UNTOUCHED = "broken", "untouched"


def run_sample_class(root: Path) -> int:
    """Grade the class where needed and print its scores. Return 1 if a submission met an unexpected fault."""
    roster = read_roster(root / ROSTER)
    inputs = fingerprint(root, list(roster))
    folder = root / FOLDER
    manifest = _read_manifest(folder)
    if manifest.get("inputs") == inputs and all((folder / name).is_file() for name in manifest["files"]):
        print("sample class: nothing has changed since it was graded.")
    else:
        _grade(root, roster, inputs)
    return report(root, roster, _scores(folder, list(roster)))


def read_roster(path: Path) -> dict[str, dict[str, dict]]:
    """Return assignment -> student -> what they hand in, or say in one sentence what is wrong with it."""
    try:
        roster = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path.name}: not TOML: {error}.") from None
    if not roster:
        raise CourseError(
            f"{path.name}: expected a table [ASSIGNMENT.STUDENT] for each submission, found none."
        )
    for assignment, students in roster.items():
        for student, entry in students.items() if isinstance(students, dict) else [("", None)]:
            if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
                raise CourseError(
                    f'{path.name}: expected [{assignment}.STUDENT] with texts such as q1 = "reference", '
                    f"got {shown(entry)} for {student or assignment}."
                )
    return roster


def submission(entry: dict[str, str], bank, release, who: str) -> bytes:
    """Return the notebook that a roster entry describes; `all` is the answer to problems not named."""
    from kvcourse.course.bank import filled_in
    from kvcourse.course.source import notebook_bytes

    if BROKEN in entry:
        return entry[BROKEN].encode()
    unknown = set(entry) - set(bank.problems) - {"all", "note"}
    if unknown:
        raise CourseError(
            f"{ROSTER.name}, {who}: expected a problem of the assignment, got {shown(min(unknown))}."
        )
    sources = {}
    for problem in bank.problems:
        title = entry.get(problem, entry.get("all", UNTOUCHED))
        if title != UNTOUCHED:
            sources |= bank.find(problem, title).sources
    return notebook_bytes(filled_in(release, sources))


def fingerprint(root: Path, assignments: list[str]) -> str:
    """Digest what the scores follow from: assignments, answers, roster, settings, the package, the tools."""
    paths = [root / CONFIG, root / ROSTER]
    for assignment in assignments:
        source = root / "solutions" / assignment
        paths += [path for path in files_below(source) if path.suffix != ".ipynb"] if source.is_dir() else []
        paths += list((root / "tests" / "answers" / assignment).glob("*.py"))
    paths += [path for path in files_below(root / "src" / "kvcourse") if path.suffix == ".py"]
    return digest(
        digest_files(paths, root).encode(),
        sys.version.encode(),
        *(version(tool).encode() for tool in TOOLS),
    )


def _read_manifest(folder: Path) -> dict:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return manifest if {"inputs", "files", "gradebook", "scores"} == set(manifest) else {}
    except (OSError, ValueError, TypeError):  # absent or damaged: the class is graded again
        return {}


def _write_manifest(folder: Path, manifest: dict) -> None:
    write_atomic(folder / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())


def _scores(folder: Path, assignments: list[str]) -> dict[str, dict[str, Graded]]:
    """Return assignment -> student -> scores, read from the gradebook only where it changed since."""
    manifest = _read_manifest(folder)
    gradebook = digest((folder / "gradebook.db").read_bytes())
    if manifest["gradebook"] != gradebook:
        from kvcourse.course.stock import read_scores

        read = {assignment: read_scores(folder, assignment) for assignment in assignments}
        kept = {
            assignment: {
                student: {
                    "failed": graded.failed,
                    "cells": {n: vars(c) | {"output": ""} for n, c in graded.cells.items()},
                }
                for student, graded in students.items()
            }
            for assignment, students in read.items()
        }
        _write_manifest(folder, manifest | {"gradebook": gradebook, "scores": kept})
        return read
    return {
        assignment: {
            student: Graded({n: CellScore(**cell) for n, cell in graded["cells"].items()}, graded["failed"])
            for student, graded in students.items()
        }
        for assignment, students in manifest["scores"].items()
    }


def _grade(root: Path, roster: dict, inputs: str) -> None:
    """Grade the class in a new folder, which takes the old one's place only when all is done."""
    from kvcourse.course.authoring import released_notebook
    from kvcourse.course.bank import read_bank
    from kvcourse.course.source import notebook_bytes, read_source, source_text
    from kvcourse.course.stock import StockCourse
    from kvcourse.grading.assignment import open_course
    from kvcourse.grading.course_run import Settings, grade_assignment
    from kvcourse.grading.engine import best_level, put_source
    from kvcourse.grading.sandbox import statement

    folder = root / FOLDER
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    work = {}
    for assignment, students in roster.items():
        source = read_source(source_text(root, assignment))
        bank = read_bank(root / "tests" / "answers" / assignment, source)
        release = released_notebook(root, assignment)
        handed_in = {
            student: submission(entry, bank, release, f"{assignment}.{student}")
            for student, entry in students.items()
        }
        work[assignment] = notebook_bytes(source), handed_in
    course, level = StockCourse(fresh, root, SEED), best_level()
    print(f"sample class: level {statement(level)}")
    for assignment, (notebook, students) in work.items():
        put_source(root, fresh, assignment, notebook)
        for student, handed_in in students.items():
            course.submit(student, assignment, handed_in)
        print(f"sample class: grading {len(students)} submissions of {assignment} ...")
        step = _progress("graded", len(students))
        grade_assignment(
            open_course(fresh.resolve()),
            assignment,
            Settings(level, seed=SEED),
            lambda student, done, total, step=step: step(student),
        )
    files = [path.relative_to(fresh).as_posix() for path in files_below(fresh)]
    _write_manifest(fresh, {"inputs": inputs, "files": files, "gradebook": "", "scores": {}})
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _progress(what: str, total: int):
    done = []

    def step(student: str) -> None:
        done.append(student)
        print(f"  {what} {len(done)} of {total}: {student}", flush=True)

    return step


def report(root: Path, roster: dict, scores: dict[str, dict[str, Graded]]) -> int:
    """Print each assignment's scores. Return 1 if a submission failed that the roster did not break."""
    status = 0
    for assignment, students in roster.items():
        graded = scores[assignment]
        print(f"\n{assignment}: points by problem, as nbgrader's gradebook has them")
        print("\n".join(score_table(students, graded)))
        broken = [student for student, entry in students.items() if BROKEN in entry]
        if broken:
            print(
                f"{', '.join(broken)} handed in a file that is no notebook: kvcourse grade leaves it "
                "out, ends with status 1 for it, and grades everyone else."
            )
        lost = [student for student in students if graded[student].failed and student not in broken]
        if lost:
            where = root / FOLDER / "grading" / f"{assignment}.report.json"
            print(f"{', '.join(lost)} could not be graded: see {where}.")
            status = 1
    print(f"\nFeedback: {root / FOLDER / 'feedback'}   Gradebook: {root / FOLDER / 'gradebook.db'}")
    return status


def score_table(students: dict, graded: dict) -> list[str]:
    """Return the lines of a table student x problem: points, total, what waits for a person, status."""
    from kvcourse.course.bank import problem_of

    worth: dict[str, float] = {}
    for result in graded.values():
        for name, cell in result.cells.items():
            worth.setdefault(name, cell.worth)
    problems = sorted({problem_of(name) for name in worth}, key=lambda name: int(name[1:]))
    most = {p: sum(points for name, points in worth.items() if problem_of(name) == p) for p in problems}
    numbers = [*(f"{p} /{most[p]:g}" for p in problems), f"total /{sum(most.values()):g}"]
    rows = [["student", *numbers, "by hand", "status", "handed in"]]
    for student, entry in students.items():
        result, note = graded[student], entry.get("note", "")
        if result.failed:
            rows.append([student, *("-" for _ in numbers), "", "not graded", note])
            continue
        points = {
            p: [c.points or 0 for name, c in result.cells.items() if problem_of(name) == p] for p in problems
        }
        waiting = sum(cell.needs_manual for cell in result.cells.values())
        scores = [f"{sum(points[p]):g}" for p in problems] + [f"{sum(map(sum, points.values())):g}"]
        rows.append([student, *scores, f"{waiting} to do" if waiting else "", "graded", note])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = range(1, len(numbers) + 1)
    return [
        "  ".join(
            text.rjust(width) if at in right else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
