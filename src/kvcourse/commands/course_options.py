"""The options that every command on a course's gradebook takes."""

import argparse
from pathlib import Path


def add_course(parser: argparse.ArgumentParser) -> None:
    """--root, --student and --db."""
    parser.add_argument(
        "--root", type=Path, help="the course's folder (default: the one you are in, or above)"
    )
    parser.add_argument(
        "--student", action="append", default=[], metavar="NAME", help="only this one (repeatable)"
    )
    parser.add_argument("--db", metavar="URL", help="the gradebook, where it is not the settings' one")
