"""Grading the same submissions by stock `nbgrader autograde`, by `otter run` and by `kvcourse grade`.

    python benchmarks/grading.py [--submissions 20] [--stock 10] [--pairs 3] [--assignment a1-decoding]
                                 [--otter PYTHON --otter-submissions 4] [--no-wall]

Submissions are the answers of the assignment's bank, in turn. Printed, a submission: CPU seconds of the code
alone, the students' cells and the tests' cells apart (run in one process, which notes nothing); CPU and wall
seconds of each grader; and of those the overhead, once beyond the students' cells and once beyond all the
code. Stock is timed as it comes, and with this course's setting that ends kernels at once; `kvcourse grade`
sandboxes, starts its processes and writes feedback in its time, which is a command of its own of stock's.
Then the run step and the whole with one worker and with two, in turns.

Times are noisy on a shared machine: the load average stands beside them, and CPU seconds are steadier.
`--stock N` lets stock grade only N of the submissions, `--no-wall` leaves the pairs at one run.
`--otter PYTHON` names a Python that has otter-grader and this course: each test cell, hidden part included,
becomes one otter test of the cell's points, and `otter run` grades one submission a call, as it is made to.
Only its time is compared: otter gives no part points for a last value, and its tests see other names.
"""

import argparse
import contextlib
import gc
import importlib
import io
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kvcourse.checks import markers
from kvcourse.course.authoring import released_notebook
from kvcourse.course.bank import filled_in, read_bank
from kvcourse.course.files import CONFIG, find_root
from kvcourse.course.source import notebook_bytes, read_source, source_text
from kvcourse.course.stock import StockCourse
from kvcourse.grading.assignment import open_course, read_assignment, register
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.engine import best_level
from kvcourse.grading.gradebook import open_gradebook

ROOT = Path(__file__).resolve().parent.parent
AS_IT_COMES, AT_ONCE = "nbgrader autograde", "nbgrader, kernels ended at once"


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


class Cells(markers.Plain):
    """The cells that ran, for tests that read them."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def cells(self) -> list[str]:
        return self.texts


def compiled(source: str):
    """A cell's code without its magics; nothing, where it is no Python."""
    lines = ["" if line.startswith(("%", "!")) else line for line in source.split("\n")]
    try:
        return compile("\n".join(lines), "<cell>", "exec")
    except SyntaxError:
        return compile("", "<cell>", "exec")


def own_seconds(source, handed_in: dict[str, bytes]) -> tuple[float, float]:
    """CPU seconds a submission of the code alone, the students' and the tests', in one forked process.

    Only what runs is timed: to compile it, to format errors and to note outputs is the graders' work.
    """
    import torch

    from kvcourse.grading.plan import imported_modules, make_plan
    from kvcourse.grading.submission import cells_of, parse_notebook

    torch.set_num_threads(1)
    for name in imported_modules(source):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    spent = []
    gc.collect()
    gc.freeze()  # else each child may begin with a collection of all that this process holds
    for data in handed_in.values():
        jobs = make_plan(source, cells_of(parse_notebook(data))).jobs()
        codes = [compiled(job["source"]) for job in jobs]
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            sys.stdout = sys.stderr = io.StringIO()
            used = {"test": 0.0, "student": 0.0, "setup": 0.0}
            namespace, run = {"__name__": "__main__"}, Cells()
            with markers.use(run):
                for job, code in zip(jobs, codes, strict=True):
                    run.texts += [job["source"]] if job["kind"] != "test" else []
                    began = time.process_time()
                    with contextlib.suppress(BaseException):
                        exec(code, namespace)
                    used[job["kind"]] += time.process_time() - began
            os.write(write, f"{used['student']} {used['test'] + used['setup']}".encode())
            os._exit(0)
        os.waitpid(pid, 0)
        spent.append([float(part) for part in os.read(read, 100).split()])
        os.close(read), os.close(write)
    return statistics.mean(s for s, _ in spent), statistics.mean(t for _, t in spent)


def otter_seconds(python: str, work: Path, source, handed_in: dict[str, bytes]) -> tuple[float, float]:
    """Wall and CPU seconds of `otter run` for each submission."""
    tests = work / "tests"
    tests.mkdir(parents=True)
    for cell in source.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and meta.get("grade") and not meta.get("solution"):
            name = meta["grade_id"].replace("-", "_")
            (tests / f"{name}.py").write_text(
                f"from otter.test_files import test_case\nOK_FORMAT = False\nname = {name!r}\n"
                f"points = {meta['points']}\nSOURCE = {cell.source!r}\n@test_case(hidden=False)\n"
                f"def test_{name}(env):\n    exec(SOURCE, dict(env))\n"
            )
    otter = [python, "-m", "otter"]
    quiet = {"cwd": work, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(
        [*otter, "generate", "-t", "tests", "-o", "a.zip", "--no-environment"], check=True, **quiet
    )
    for student, data in handed_in.items():
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("grade"):
                cell["source"] = ""  # otter brings the tests
        (work / f"{student}.ipynb").write_text(json.dumps(notebook))

    def all_of_them() -> None:
        for student in handed_in:
            out = ["-o", f"out-{student}"]
            (work / f"out-{student}").mkdir()
            subprocess.run([*otter, "run", f"{student}.ipynb", "-a", "a.zip", *out], check=True, **quiet)

    wall, used, _ = timed(all_of_them)
    scored = list(work.glob("out-*/results.json"))
    if len(scored) != len(handed_in):
        raise SystemExit(f"otter graded {len(scored)} of {len(handed_in)} submissions")
    return wall / len(handed_in), used / len(handed_in)


def main(argv: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time graders on the same work.")
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--stock", type=int, default=10, help="how many of them stock grades too")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs with one worker and two")
    parser.add_argument("--no-wall", action="store_true", help="one run with one worker instead of the pairs")
    parser.add_argument("--otter", metavar="PYTHON", help="a Python with otter-grader and this course")
    parser.add_argument("--otter-submissions", type=int, default=4)
    parser.add_argument("--assignment", default="a1-decoding")
    args = parser.parse_args(argv)
    find_root(ROOT)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    level = best_level()
    source, handed_in = submissions(args.assignment, args.submissions)

    def first(count: int) -> dict[str, bytes]:
        return dict(itertools.islice(handed_in.items(), count))

    work = Path(tempfile.mkdtemp(prefix="kvcourse-benchmark-"))
    print(f"{args.assignment}: {args.submissions} submissions, {args.stock} of them by stock; level {level}")
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    try:
        students, tests = own_seconds(source, handed_in)
        print(f"the code alone: {students:.3f} CPU s of the students', {tests:.3f} of the tests'")
        print(f"{'':32} {'wall s':>8} {'CPU s':>8}   a submission")
        peers: dict[str, float] = {}
        for name in (AS_IT_COMES, AT_ONCE) if args.stock else ():
            folder = make_course(work / name, args.assignment, source, first(args.stock))
            course = StockCourse(folder, ROOT, "benchmark")
            if name == AS_IT_COMES:
                graceful(folder / CONFIG)
            wall, used, _ = timed(lambda c=course: c.autograde(args.assignment))
            peers[name] = used / args.stock
            row(name, wall / args.stock, used / args.stock)
        if args.stock:
            wall, used, _ = timed(lambda c=course: c.feedback(args.assignment))
            row("nbgrader generate_feedback", wall / args.stock, used / args.stock)
        if args.otter:
            wall, used = otter_seconds(args.otter, work / "otter", source, first(args.otter_submissions))
            peers["otter run"] = used
            row("otter run", wall, used)
        walls: dict[int, list[float]] = {1: [], 2: []}
        steps: dict[int, list[float]] = {1: [], 2: []}
        spent = []
        for pair, workers in itertools.product(range(args.pairs), (1, 2)):
            if args.no_wall and (pair, workers) != (0, 1):
                continue
            folder = make_course(work / f"ours-{pair}-{workers}", args.assignment, source, handed_in)
            settings = Settings(level, workers=workers, seed="benchmark")
            opened = open_course(folder)
            wall, used, summary = timed(lambda c=opened, s=settings: grade_assignment(c, args.assignment, s))
            spent.append(used / len(handed_in))
            row(f"kvcourse grade, {workers} worker{'s' * (workers > 1)}", wall / len(handed_in), spent[-1])
            walls[workers].append(wall)
            steps[workers].append(summary.run_seconds)
            shutil.rmtree(folder)
        ours = statistics.median(spent)
        for name, theirs in peers.items():
            beyond = ratio(theirs - students, ours - students)
            all_code = ratio(theirs - students - tests, ours - students - tests)
            print(f"{name} / kvcourse, CPU: raw {theirs / ours:.1f}")
            print(f"  overhead beyond the students' code {beyond}, and beyond the tests' code too {all_code}")
        for name, table in () if args.no_wall else (("run step", steps), ("whole", walls)):
            ratios = [one / two for one, two in zip(table[1], table[2], strict=True)]
            median = statistics.median(ratios)
            print(f"two workers, {name}: {median:.2f} times one (median of {len(ratios)} pairs)")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"load average after: {os.getloadavg()[0]:.1f}")
    return 0


def graceful(config: Path) -> None:
    """Let kernels end as nbgrader lets them by itself."""
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(line for line in lines if "shutdown_kernel" not in line))


def ratio(theirs: float, ours: float) -> str:
    """A ratio of overheads; ours may be too small to measure."""
    return f"{theirs / ours:.1f}" if ours > 0.01 else f"{theirs:.2f} s against less than 0.01 s"


def row(name: str, wall: float, used: float) -> None:
    """Print one line of the table."""
    print(f"{name:32} {wall:8.3f} {used:8.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
