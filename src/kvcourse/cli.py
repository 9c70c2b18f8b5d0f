"""The `kvcourse` command: each subcommand is a module with `add_arguments(parser)` and `run(args) -> int`.

Modules are imported only when their command is asked for, so that `kvcourse --help` and the planner
answer without loading torch.
"""

import argparse
import errno
import importlib
import os
import sys

from kvcourse import __version__
from kvcourse.errors import UserError

COMMANDS = {
    "size": ("kvcourse.commands.size", "what a model's cache costs, beside its weights"),
    "plan": ("kvcourse.commands.plan", "how many sequences a GPU holds beside a model's weights, by engine"),
    "log": ("kvcourse.commands.log", "whether the KV lines of a server's start-up log agree"),
    "diagnose": ("kvcourse.commands.diagnose", "which known mistake gives somebody's figure for a cache"),
    "model": ("kvcourse.commands.model", "fetch the course's model, verify it, say where it lies"),
    "grade": ("kvcourse.commands.grade", "grade what was handed in: scores, notebooks, feedback, a report"),
    "feedback": ("kvcourse.commands.feedback", "write feedback again, with people's scores and comments"),
    "export": ("kvcourse.commands.export", "scores as CSV, for a learning platform or a spreadsheet"),
    "doctor": ("kvcourse.commands.doctor", "the isolation this machine gives to graded code"),
    "hand-in": ("kvcourse.course.hand_in", "check your work on an assignment and zip it"),
}


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Return the parser with the arguments of the chosen command filled in (only its module is imported)."""
    parser = argparse.ArgumentParser(prog="kvcourse", description="Tools of the KV cache course.")
    parser.add_argument("--version", action="version", version=f"kvcourse {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == chosen:
            importlib.import_module(module).add_arguments(command)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand; return 0, 1 when a check failed, or 2 for input that cannot be used."""
    argv = sys.argv[1:] if argv is None else argv
    chosen = next((word for word in argv if not word.startswith("-")), None)
    args = build_parser(chosen).parse_args(argv)
    try:
        status = importlib.import_module(COMMANDS[args.command][0]).run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads has gone, as in `kvcourse size --list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"kvcourse {args.command}: no space left where the answer goes.", file=sys.stderr)
        return 2
    except UserError as error:
        print(f"kvcourse {args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"kvcourse {args.command}: stopped; nothing half-written is left behind.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
