"""`kvcourse doctor`: the isolation that this machine gives to graded code, tried, and what is missing for
more.
"""

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="look, but start no process to try it")


def run(args: argparse.Namespace) -> int:
    from kvcourse.grading import doctor
    from kvcourse.grading.launcher import GraderError

    findings = doctor.look()
    lacking = doctor.lacking()
    for finding in findings:
        print(f"  {finding.what:28}  {finding.found}")
    for sentence in lacking:
        print(f"missing for hardened: {sentence}", file=sys.stderr)
    if lacking:
        print("kvcourse grade --level basic works here, for work you trust.", file=sys.stderr)
        return 1
    if args.quick:
        return 0
    try:
        tried = doctor.try_hardened()
    except GraderError as error:
        print(f"missing for hardened: {error}", file=sys.stderr)
        return 1
    for attempt in tried:
        print(f"  {'refused' if attempt.refused else 'NOT REFUSED':28}  {attempt.what}{attempt.note}")
    broken = [attempt for attempt in tried if not attempt.refused]
    print(
        "level hardened works here."
        if not broken
        else "level hardened does not hold here: do not grade strangers' work."
    )
    return 1 if broken else 0
