"""`kvcourse feedback`: write the feedback pages again, with people's scores and comments."""

import argparse

from kvcourse.commands.course_options import add_course


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", nargs="*", help="which ones (default: all that were graded)")
    add_course(parser)


def run(args: argparse.Namespace) -> int:
    from kvcourse.course.files import find_root
    from kvcourse.grading.assignment import open_course
    from kvcourse.grading.give_back import write_pages
    from kvcourse.grading.standings import known_assignments, reading
    from kvcourse.grading.storage import only_one, storage_explained

    course = open_course(find_root(args.root), args.db)
    status = 0
    with only_one(course.state), storage_explained(course.root), reading(course) as gradebook:
        for name in known_assignments(gradebook, args.assignment):
            made = write_pages(course, gradebook, name, tuple(args.student))
            print(
                f"{name}: {len(made.written)} pages written, {len(made.unchanged)} unchanged, "
                f"in {course.folder('feedback')}"
            )
            if made.waiting:
                print(f"  written answers wait for a person: {', '.join(made.waiting)}")
            if made.lacking:
                print(f"  without a page, for it was not graded: {', '.join(made.lacking)}")
                status = 1
    return status
