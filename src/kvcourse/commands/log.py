"""`kvcourse log FILE`: do the KV lines of a server's start-up log agree with each other and with the model?

The model is the one the log names, where it is known, or `--model`.
"""

import argparse
import contextlib
import json
import re
import sys
from pathlib import Path

from kvcourse import registry
from kvcourse.commands.subject import count, find
from kvcourse.engines.log import compare, read_log
from kvcourse.engines.log_lines import Reading
from kvcourse.errors import UserError, shown
from kvcourse.memory import CacheModel, from_config, parse_storage

MOST_BYTES = 64 * 2**20  # a start-up log is far smaller; a day's log may be far larger
# Endings that name how the weights are stored, which says nothing about the cache.
_WEIGHTS = re.compile(r"[-_](?:fp8|fp4|nvfp4|awq|gptq|int4|int8|w4a16|w8a8|gguf|bnb|4bit|8bit|q\d\w*)$", re.I)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the log; - for standard input")
    parser.add_argument(
        "--model", metavar="MODEL", help="a name, a config.json or its folder (default: the log's)"
    )
    parser.add_argument("--tp", type=count, metavar="N", help="tensor-parallel devices (default: the log's)")
    parser.add_argument("--dtype", metavar="D", help="of the cache (default: the log's, or the model's)")
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(args: argparse.Namespace) -> int:
    reading = read_log(_text(args.file))
    name, model = _model(args.model, reading.model)
    left_out = f"{shown(reading.model)} is not known here; give --model" if reading.model else "give --model"
    if model is not None:
        ranks = reading.ranks if args.tp is None else args.tp
        try:
            model = model if ranks == 1 else model.shard(ranks)
            storage = parse_storage(args.dtype or reading.cache_dtype or model.dtype or "fp16")
            left_out = compare(reading, name if ranks == 1 else f"{name}, 1/{ranks}", model, storage)
        except UserError as error:
            if args.dtype or args.tp is not None:
                raise
            left_out = str(error).rstrip(".")
    if not reading.checks:
        raise UserError(
            "nothing in this log could be compared: expected two figures that depend on each other. "
            f"Not compared with a model: {left_out}."
        )
    print(_as_json(reading, name, left_out) if args.json else _table(reading, left_out))
    return 0 if all(check.agrees for check in reading.checks) else 1


def _text(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UserError(f"{shown(name)}: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > MOST_BYTES:
        raise UserError(f"{shown(name)} is larger than 64 MiB; expected the lines of one start-up.")
    return re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8", errors="replace"))


def _model(asked: str | None, logged: str | None) -> tuple[str | None, CacheModel | None]:
    """The model asked for, else the published one that the log's name or path means, else neither."""
    if asked is not None:
        subject = find(asked)
        return subject.name, subject.model
    text = (logged or "").replace(" ", "-").rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf")
    for _ in range(4):  # a name tells at most a few things about its weights
        with contextlib.suppress(UserError):
            known = registry.find(text)
            return known.name, from_config(known.config)
        text = _WEIGHTS.sub("", text)
    return None, None


def _table(reading: Reading, left_out: str | None) -> str:
    lines = [f"{reading.engine}: the log's lines about the KV cache"]
    lines += [f"  {'agree' if check.agrees else 'DISAGREE':10}{check.text}" for check in reading.checks]
    if left_out:
        lines.append(f"  {'not compared with a model:':10} {left_out}.")
    return "\n".join(lines)


def _as_json(reading: Reading, model: str | None, left_out: str | None) -> str:
    return json.dumps(
        {"engine": reading.engine, "model": model, "devices": reading.ranks, "tokens": reading.tokens,
         "checks": [{"agrees": check.agrees, "text": check.text} for check in reading.checks],
         "not_compared": left_out},
        indent=2,
    )  # fmt: skip
