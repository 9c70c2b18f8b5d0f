"""Grading the same submissions by stock `nbgrader autograde` and by `kvcourse grade`, in turns.

    python benchmarks/grading.py [--submissions 20] [--stock 10] [--pairs 3] [--assignment a1-decoding]

Submissions are the answers of the assignment's bank, in turn. Printed: CPU and wall seconds a submission,
of stock and ours; the overhead, which is what is spent beyond the CPU seconds of the cells' code itself
(run alone, in a forked process that records nothing); the run step with one worker and two. `kvcourse
grade` also starts its processes and writes feedback in that time, which stock does in a command of its own.
Times are noisy on a shared machine: the load average stands beside them, and CPU seconds are steadier.
`--stock N` lets stock grade only N of the submissions (it takes seconds for each).
"""

import argparse
import contextlib
import itertools
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from kvcourse.course.authoring import released_notebook
from kvcourse.course.bank import filled_in, read_bank
from kvcourse.course.files import find_root
from kvcourse.course.source import notebook_bytes, read_source, source_text
from kvcourse.course.stock import StockCourse
from kvcourse.grading.assignment import open_course, read_assignment, register
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.engine import best_level
from kvcourse.grading.gradebook import open_gradebook

ROOT = Path(__file__).resolve().parent.parent


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(step) -> tuple[float, float, object]:
    """Wall seconds, CPU seconds and result of a step."""
    wall, before = time.perf_counter(), cpu()
    result = step()
    return time.perf_counter() - wall, cpu() - before, result


def submissions(assignment: str, count: int) -> tuple[object, dict[str, bytes]]:
    """The source, and `count` notebooks made from the bank's answers in turn."""
    source = read_source(source_text(ROOT, assignment))
    bank = read_bank(ROOT / "tests" / "answers" / assignment, source)
    release = released_notebook(ROOT, assignment)
    turns = {name: itertools.cycle(answers) for name, answers in bank.answers.items()}
    made = {}
    for number in range(count):
        chosen = [next(turn) for turn in turns.values()]
        sources = {cell: text for answer in chosen for cell, text in answer.sources.items()}
        made[f"s{number:04d}"] = notebook_bytes(filled_in(release, sources))
    return source, made


def make_course(folder: Path, assignment: str, source, handed_in: dict[str, bytes]) -> Path:
    """A course folder with submissions, not graded yet, and a gradebook that knows the assignment."""
    course = StockCourse(folder, ROOT, "benchmark")
    target = folder / "solutions" / assignment
    target.mkdir(parents=True)
    (target / f"{assignment}.ipynb").write_bytes(notebook_bytes(source))
    opened = open_course(folder)
    open_gradebook(opened.url).close()
    register(opened, read_assignment(opened, assignment))
    for student, notebook in handed_in.items():
        course.submit(student, assignment, notebook)
    return folder


def own_seconds(source, handed_in: dict[str, bytes], assignment: str) -> float:
    """CPU seconds a submission of the cells' code alone: forked, run in one process, nothing recorded."""
    import torch

    from kvcourse.grading.plan import make_plan
    from kvcourse.grading.submission import cells_of, parse_notebook

    torch.set_num_threads(1)
    plans = [make_plan(source, cells_of(parse_notebook(data))) for data in handed_in.values()]
    spent = []
    for plan in plans:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            began, names = time.process_time(), {"__name__": "__main__"}
            for job in plan.jobs():
                with contextlib.suppress(BaseException):
                    exec(compile(job["source"], job["key"], "exec"), names)
            os.write(write, repr(time.process_time() - began).encode())
            os._exit(0)
        os.waitpid(pid, 0)
        spent.append(float(os.read(read, 100) or b"0"))
        os.close(read), os.close(write)
    return statistics.mean(spent)


def main(argv: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time stock nbgrader and kvcourse grade on the same work.")
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--stock", type=int, default=10, help="how many of them stock grades too")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs with one worker and two")
    parser.add_argument("--assignment", default="a1-decoding")
    args = parser.parse_args(argv)
    find_root(ROOT)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    level = best_level()
    source, handed_in = submissions(args.assignment, args.submissions)
    few = dict(itertools.islice(handed_in.items(), args.stock))
    work = Path(tempfile.mkdtemp(prefix="kvcourse-benchmark-"))
    print(f"{args.assignment}: {args.submissions} submissions, {args.stock} of them by stock; level {level}")
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    try:
        own = own_seconds(source, handed_in, args.assignment)
        print(f"the students' and tests' own code: {own:.3f} CPU s a submission")
        print(f"{'':28} {'wall s':>8} {'CPU s':>8}   a submission")
        stock_cpu = 0.0
        if few:
            folder = make_course(work / "stock", args.assignment, source, few)
            course = StockCourse(folder, ROOT, "benchmark")
            wall, used, _ = timed(lambda: course.autograde(args.assignment))
            stock_cpu = used / len(few)
            row("stock nbgrader autograde", wall / len(few), stock_cpu)
        walls: dict[int, list[float]] = {1: [], 2: []}
        steps: dict[int, list[float]] = {1: [], 2: []}
        best = None
        for pair in range(args.pairs):
            for workers in (1, 2):
                folder = make_course(work / f"ours-{pair}-{workers}", args.assignment, source, handed_in)
                settings = Settings(level, workers=workers, seed="benchmark")
                opened = open_course(folder)
                wall, used, summary = timed(
                    lambda c=opened, s=settings: grade_assignment(c, args.assignment, s)
                )
                row(
                    f"kvcourse grade, {workers} worker{'s' * (workers > 1)}",
                    wall / len(handed_in),
                    used / len(handed_in),
                )
                walls[workers].append(wall)
                steps[workers].append(summary.run_seconds)
                best = used / len(handed_in) if best is None else min(best, used / len(handed_in))
                shutil.rmtree(folder)
        if stock_cpu:
            ratio = (stock_cpu - own) / max(best - own, 1e-9)
            raw = stock_cpu / best
            print(f"stock / ours: overhead beyond the code's own CPU {ratio:.1f}, raw CPU {raw:.1f}")
        for name, table in (("run step", steps), ("whole", walls)):
            ratios = [one / two for one, two in zip(table[1], table[2], strict=True)]
            median = statistics.median(ratios)
            print(f"two workers, {name}: {median:.2f} times one (median of {len(ratios)} pairs)")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"load average after: {os.getloadavg()[0]:.1f}")
    return 0


def row(name: str, wall: float, used: float) -> None:
    """Print one line of the table."""
    print(f"{name:28} {wall:8.3f} {used:8.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
