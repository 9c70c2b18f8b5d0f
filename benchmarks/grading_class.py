"""A class of thousands by `kvcourse grade`: the peak memory of the grading process as the class grows.

    python benchmarks/grading_class.py [--submissions 5000] [--workers 2]

Submissions are those of the tests' small assignment, right and wrong ones in turn. Printed: CPU seconds a
submission, and the grading process's largest memory so far at each tenth of the class. The memory must not
grow with the class.
"""

import argparse
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from grading import ROOT, cpu, make_course
from kvcourse.course.authoring import released_notebook
from kvcourse.course.bank import filled_in, read_bank
from kvcourse.course.files import CONFIG
from kvcourse.course.source import notebook_bytes, read_source
from kvcourse.grading.assignment import open_course
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.engine import best_level
from kvcourse.units import MIB

FIXTURES = ROOT / "tests" / "course" / "fixtures"


def main(argv: list[str] | None = None) -> int:
    """Grade and print."""
    parser = argparse.ArgumentParser(description="Grade a large class and watch the memory.")
    parser.add_argument("--submissions", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)
    work = Path(tempfile.mkdtemp(prefix="kvcourse-benchmark-"))
    try:
        shutil.copy(ROOT / CONFIG, work)
        shutil.copytree(FIXTURES / "tiny", work / "solutions" / "tiny")
        source = read_source(work / "solutions" / "tiny" / "tiny.md")
        release, bank = released_notebook(work, "tiny"), read_bank(FIXTURES / "answers" / "tiny", source)
        turns = [list(answers) for answers in bank.answers.values()]
        made = []
        for number in range(max(map(len, turns))):
            chosen = [answers[number % len(answers)] for answers in turns]
            texts = {cell: text for answer in chosen for cell, text in answer.sources.items()}
            made.append(notebook_bytes(filled_in(release, texts)))
        handed_in = {f"s{n:05d}": made[n % len(made)] for n in range(args.submissions)}
        folder = make_course(work / "course", "tiny", source, handed_in)
        del handed_in
        began, used, step = time.perf_counter(), cpu(), max(1, args.submissions // 10)
        print(f"{args.submissions} submissions, {args.workers} workers, level {best_level()}")

        def progress(student: str, done: int, total: int) -> None:
            if done % step == 0 or done == 1:
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
                said = f"peak {peak:6.0f} MiB, {time.perf_counter() - began:6.0f} s"
                print(f"{done:6} graded: {said}", flush=True)

        grade_assignment(open_course(folder), "tiny", Settings(best_level(), workers=args.workers), progress)
        print(f"{(cpu() - used) / args.submissions:.3f} CPU s a submission")
        began = time.perf_counter()
        grade_assignment(open_course(folder), "tiny", Settings(best_level(), workers=args.workers))
        print(f"a second run, which finds nothing new: {time.perf_counter() - began:.0f} s")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
