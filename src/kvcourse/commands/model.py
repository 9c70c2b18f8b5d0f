"""`kvcourse model`: fetch the course's model where it is absent or damaged, verify it, say where it lies."""

import argparse
import sys

from kvcourse import model_file
from kvcourse.units import both


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="fetch nothing: verify and report; exit 1 unless whole"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    if not args.check:
        model_file.fetch(progress=not args.quiet)
    state = model_file.status()
    if state.checksum_ok is None:
        print(f"No model at {state.path}; `kvcourse model` fetches it.", file=sys.stderr)
        return 1
    if not state.checksum_ok:
        print(f"The model at {state.path} is damaged; `kvcourse model` replaces it.", file=sys.stderr)
        return 1
    print(f"{state.path}  {both(state.bytes)}  sha256 verified")
    return 0
