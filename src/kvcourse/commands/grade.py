"""`kvcourse grade`: grade what is new or changed in submitted/, with student and tests in processes apart."""

import argparse
import os
import sys
import time
from pathlib import Path

from kvcourse.commands.course_options import add_course

MOST_ROWS = 60
SECONDS_A_LINE = 5.0
MIN_SECONDS, MAX_SECONDS = 0.01, 86_400  # a day


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", nargs="*", help="which ones (default: all that were handed in)")
    add_course(parser)
    parser.add_argument("--force", action="store_true", help="grade again what has not changed")
    parser.add_argument(
        "--level",
        choices=("hardened", "basic"),
        default="hardened",
        help="isolation of the code handed in (default: hardened; never less than you ask for)",
    )
    parser.add_argument("--workers", type=int, default=0, help="submissions at once (default: one a core)")
    parser.add_argument("--cell-seconds", type=float, default=30.0, help="limit for one cell (default: 30)")
    parser.add_argument(
        "--total-seconds", type=float, default=300.0, help="limit for one notebook (default: 300)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="run the cells on a Dask cluster (tcp://HOST:PORT), not here"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no table")


def run(args: argparse.Namespace) -> int:
    from kvcourse.course.files import CourseError, find_root
    from kvcourse.grading.assignment import open_course
    from kvcourse.grading.course_run import Settings, grade_assignment
    from kvcourse.grading.hand_ins import find_assignments
    from kvcourse.grading.sandbox import statement

    for option, seconds in (
        ("--cell-seconds", args.cell_seconds),
        ("--total-seconds", args.total_seconds),
    ):
        if not MIN_SECONDS <= seconds <= MAX_SECONDS:  # nan is in no range
            raise CourseError(
                f"{option}: expected seconds from {MIN_SECONDS:g} to {MAX_SECONDS}, got {seconds:g}."
            )
    if args.workers < 0:
        raise CourseError(f"--workers: expected a number from 1, or 0 for one a core, got {args.workers}.")
    course = open_course(find_root(args.root), args.db)
    names = args.assignment or find_assignments(course)
    if not names:
        raise CourseError(
            f"expected submissions in {course.folder('submitted')}, found none of an assignment."
        )
    workers = args.workers or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0])
    settings = Settings(
        args.level,
        args.force,
        workers,
        args.cell_seconds,
        args.total_seconds,
        tuple(args.student),
        scheduler=args.scheduler,
    )
    if not args.scheduler:
        print(f"level: {statement(args.level)}")
    needs_person = False
    for name in names:
        summary = grade_assignment(course, name, settings, _bar(name, args.quiet))
        needs_person |= summary.needs_person
        for line in summary.machines:
            print(f"level: {line}")
        for line in [] if args.quiet else table(summary):
            print(line)
        print(_totals(summary, course.state / f"{name}.report.json"))
    return 1 if needs_person else 0


def table(summary) -> list[str]:
    """A line a submission: all of a small class, else those that need a person."""
    entries = summary.submissions
    if len(entries) > MOST_ROWS:
        entries = [entry for entry in entries if entry.needs_person][:MOST_ROWS]
    lines = []
    width = max((len(entry.student) for entry in entries), default=0)
    for entry in entries:
        score = f"{entry.points:g} of {entry.worth:g}" if entry.status == "graded" else "not graded"
        notes = [problem.sentence for problem in entry.problems]
        if entry.waits and entry.status == "graded":
            notes.append("written answers wait for a person.")
        lines.append(f"  {entry.student:{width}}  {score:>12}  {' '.join(notes)}".rstrip())
    return lines


def _totals(summary, report: Path) -> str:
    entries = summary.submissions
    fresh = sum(not entry.unchanged for entry in entries)
    look = sum(entry.needs_person for entry in entries)
    return (
        f"{summary.assignment}: {len(entries)} submission{'s' * (len(entries) != 1)}, {fresh} graded now, "
        f"{look} with a problem for a person to look at; report: {report}"
    )


def _lines(name: str):
    """Progress for a log: a line now and then, none for what is done at once."""
    last = time.monotonic()

    def progress(student: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_A_LINE:
            last = time.monotonic()
            print(f"{name}: graded {done} of {total}: {student}", file=sys.stderr, flush=True)

    return progress


def _bar(name: str, quiet: bool):
    if quiet:
        return lambda student, done, total: None
    if not sys.stderr.isatty():
        return _lines(name)
    from tqdm import tqdm

    bar = tqdm(desc=name, unit="submission", leave=False)

    def progress(student: str, done: int, total: int) -> None:
        bar.total = total
        bar.set_postfix_str(student, refresh=False)
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return progress
