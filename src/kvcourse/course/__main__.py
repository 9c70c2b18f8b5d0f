"""`python -m kvcourse.course COMMAND`: release | to-text | work | bundle | sample-class.

Exits 0, 1 when a check failed, 2 for input that cannot be used.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

OLDEST = (3, 11)
EXTRAS = {"nbgrader": "lab", "jupytext": "lab", "nbformat": "lab"}


def main(argv=None):
    """Run one command; return its exit status."""
    args = build_parser().parse_args(argv)
    complaint = missing_tools(sys.version_info, importlib.util.find_spec)
    if complaint:
        print(f"kvcourse.course: {complaint}", file=sys.stderr)
        return 2
    from kvcourse.course.files import find_root
    from kvcourse.errors import UserError

    try:
        return args.run(find_root(args.root), args)
    except UserError as error:
        print(f"kvcourse.course {args.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read what we print has gone
        sys.stdout = None
        return 1
    except KeyboardInterrupt:
        print(
            f"kvcourse.course {args.command}: stopped; nothing half-written is left behind.", file=sys.stderr
        )
        return 130


def missing_tools(python, find_spec):
    """Return one sentence on what this Python lacks, or None."""
    if tuple(python[:2]) < OLDEST:
        return f"this is Python {python[0]}.{python[1]}; expected {OLDEST[0]}.{OLDEST[1]} or newer."
    for name, extra in EXTRAS.items():
        if find_spec(name) is None:
            return f"{name} is not installed here; install it with pip install -e '.[{extra}]', or run make."
    return None


def build_parser():
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m kvcourse.course", description="Run the course's own tools."
    )
    parser.add_argument(
        "--root", type=Path, help="the course's folder (default: the one you are in, or above)"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, run, summary):
        added = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        added.add_argument("--root", type=Path, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        added.set_defaults(run=run)
        return added

    releasing = command(
        "release", run_release, "make the releases in exercises/ from the texts in solutions/"
    )
    releasing.add_argument("assignment", nargs="*", help="which ones (default: all)")
    back = command(
        "to-text", run_to_text, "write a notebook edited in JupyterLab back to its text in solutions/"
    )
    back.add_argument("assignment")
    command("work", run_work, "copy releases and chapters to work/, overwriting nothing there")
    bundling = command("bundle", run_bundle, "zip what students get into build/")
    bundling.add_argument("-o", "--output", type=Path, metavar="ZIP", help="where to write")
    command(
        "sample-class", run_sample_class, "grade the sample class in build/sample-class/ and print its scores"
    )
    return parser


def run_release(root, args):
    """Release assignments; say of each whether it changed."""
    from kvcourse.course.authoring import release_one, source_folders

    for name in args.assignment or source_folders(root):
        made = release_one(root, name)
        print(f"exercises/{made.assignment}: {'released' if made.changed else 'unchanged'} ({made.summary})")
    return 0


def run_to_text(root, args):
    """Write edits made in JupyterLab back to the text."""
    from kvcourse.course.to_text import to_text

    print(f"{to_text(root, args.assignment)}: written from the notebook beside it.")
    return 0


def run_work(root, args):
    """Bring work/ up to date."""
    from kvcourse.course.work import copy_work

    for sentence in copy_work(root) or ["work/: nothing new."]:
        print(sentence)
    return 0


def run_bundle(root, args):
    """Make the students' zip."""
    from kvcourse.course.bundle import make_bundle

    path = make_bundle(root, args.output)
    print(f"{path}: {path.stat().st_size / 1024:.0f} KiB, no solution and no hidden test in it.")
    return 0


def run_sample_class(root, args):
    """Grade the sample class, unless nothing it depends on has changed."""
    from kvcourse.course.sample_class import run_sample_class as run

    return run(root)


if __name__ == "__main__":
    sys.exit(main())
