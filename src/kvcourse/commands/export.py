"""`kvcourse export`: scores as CSV for a learning platform or a spreadsheet."""

import argparse
import sys
from pathlib import Path

from kvcourse.commands.course_options import add_course


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", nargs="*", help="which ones (default: all with submissions)")
    parser.add_argument("-o", "--output", type=Path, metavar="CSV", help="where to write (default: stdout)")
    add_course(parser)


def run(args: argparse.Namespace) -> int:
    from kvcourse.course.files import CourseError, find_root, write_atomic
    from kvcourse.grading.assignment import open_course
    from kvcourse.grading.manifest import not_graded
    from kvcourse.grading.scores_csv import scores_csv
    from kvcourse.grading.standings import known_assignments, reading

    course = open_course(find_root(args.root), args.db)
    with reading(course) as gradebook:
        names = known_assignments(gradebook, args.assignment)
        reasons = {name: not_graded(course.state / f"{name}.manifest.jsonl") for name in names}
        table = scores_csv(gradebook, names, tuple(args.student), reasons)
    if args.output is None:
        sys.stdout.write(table.text)
    else:
        try:
            write_atomic(args.output, table.text.encode())
        except OSError as error:
            raise CourseError(
                f"{args.output} cannot be written ({error.strerror}); nothing changed."
            ) from None
        print(f"{args.output}: {table.rows} rows")
    if table.waiting:
        print(f"{table.waiting} submissions have written answers that wait for a person.", file=sys.stderr)
    if table.refused:
        print(
            f"Handed in, but not graded (see the column note): {', '.join(table.refused)}.", file=sys.stderr
        )
    return 0
