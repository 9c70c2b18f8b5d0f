"""Replay recordings of a block manager on ours and compare: `python tests/replay_blocks.py FILE ...`.

A recording is a JSON object with `block_size`, `num_blocks`, `null_block` (a block number that is counted in
`num_blocks` and never handed out, or null) and `ops`, in order. Every operation carries `id` and what came of
it: `free_order`, the free blocks with the next one to go out first.

    start    `tokens`; `hit_tokens`, `ok`, and where it is true `block_table`
    append   `token` (or `tokens`); `ok`, and where it is true `block_table`. Where it is false, nothing
             changed; with `"then": "freed"` the recorder freed the sequence next, before `free_order`
    free

Other fields are of no consequence. A FILE holds one recording, a list of them, or one a line; of a folder all
.json and .jsonl files are replayed.

Exit status: 0 when all operations agree, 1 when one does not, 2 for input that cannot be read.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from kvcourse.blocks import BlockError, BlockManager, OutOfBlocks, SequenceTooLong, check
from kvcourse.errors import shown

COMPARED = {"ok": "ok", "block_table": "table", "hit_tokens": "hit tokens", "free_order": "free order"}
PRINTED = 5  # disagreements of each recording
MOST_BLOCKS = 10**7


class Unreadable(ValueError):
    """What is wrong with a recording, as one clause."""


# ---- reading


def read(path: Path) -> list[dict]:
    """The recordings of one file, each with all its operations checked for form."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"cannot be read: {error}") from None
    try:
        try:
            content = json.loads(text)
        except json.JSONDecodeError:
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from None
    recordings = content if isinstance(content, list) else [content]
    if not recordings:
        raise Unreadable("holds no recording")
    for recording in recordings:
        check_form(recording)
    return recordings


def check_form(recording: object) -> None:
    if not isinstance(recording, dict):
        raise Unreadable(f"has {shown(recording)} for a recording; expected a JSON object")
    for name in ("block_size", "num_blocks"):
        if not whole(recording.get(name)) or not 1 <= recording[name] <= MOST_BLOCKS:
            raise Unreadable(f"has {name} {shown(recording.get(name))}; expected 1 to {MOST_BLOCKS}")
    null_block = recording.get("null_block")
    if null_block is not None and not (whole(null_block) and 0 <= null_block < recording["num_blocks"]):
        raise Unreadable(f"has null_block {shown(null_block)}; expected a block number or null")
    operations = recording.get("ops")
    if not isinstance(operations, list) or not operations:
        raise Unreadable(f"has ops {shown(operations)}; expected a list of operations")
    for number, operation in enumerate(operations):
        wrong = fault(operation)
        if wrong:
            raise Unreadable(f"has operation {number} {wrong}")


def fault(operation: object) -> str:
    """What keeps one operation from being replayed, or nothing."""
    if not isinstance(operation, dict):
        return f"{shown(operation)}; expected a JSON object"
    kind, ok = operation.get("op"), operation.get("ok", True)
    if kind not in ("start", "append", "free"):
        return f"of the kind {shown(kind)}; expected start, append or free"
    if not isinstance(operation.get("id"), str | int):
        return f"with id {shown(operation.get('id'))}; expected text or a whole number"
    if not isinstance(ok, bool) or (kind == "free" and not ok):
        return f"with ok {shown(ok)}; expected true{'' if kind == 'free' else ' or false'}"
    if kind == "append" and "token" in operation and not whole(operation["token"]):
        return f"with token {shown(operation['token'])}; expected a whole number"
    lists = ["free_order"]
    lists += ["tokens"] if kind == "start" or (kind == "append" and "token" not in operation) else []
    lists += ["block_table"] if kind != "free" and ok else []
    for name in lists:
        value = operation.get(name)
        if not isinstance(value, list) or not all(map(whole, value)):
            return f"with {name} {shown(value)}; expected a list of whole numbers"
        if name == "tokens" and not value:
            return "with no tokens; expected one at least"
    if kind == "start" and not whole(operation.get("hit_tokens")):
        return f"with hit_tokens {shown(operation.get('hit_tokens'))}; expected a whole number"
    then = operation.get("then")
    if then is not None and (kind, ok, then) != ("append", False, "freed"):
        return f'with then {shown(then)}; expected none, or "freed" after an append that is not ok'
    return ""


def whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


# ---- replaying


def replay(recording: dict) -> tuple[Counter, list[str]]:
    """(how often each result was recorded and how often ours is the same; what differs, by operation)."""
    manager = BlockManager(
        recording["num_blocks"], recording["block_size"], null_block=recording.get("null_block")
    )
    counts, disagreements = Counter(), []
    for number, operation in enumerate(recording["ops"]):
        recorded = results(operation)
        ours = perform(manager, operation)
        differing = [name for name in recorded if ours.get(name) != recorded[name]]
        counts.update((name, "recorded") for name in recorded)
        counts.update((name, "same") for name in recorded if name not in differing)
        if differing:
            lines = [
                f"{COMPARED[name]}: recorded {recorded[name]}, ours {ours.get(name)}" for name in differing
            ]
            reason = [ours["reason"]] if "reason" in ours and "ok" in differing else []
            title = f"operation {number}, {operation['op']} {shown(operation['id'])}:"
            disagreements.append("\n      ".join([title, *lines, *reason]))
    try:
        check(manager)
    except (AssertionError, BlockError) as broken:
        disagreements.append(f"after the last operation: {broken}")
    return counts, disagreements


def results(operation: dict) -> dict:
    """What the recording says came of an operation."""
    recorded = {"ok": operation.get("ok", True), "free_order": operation["free_order"]}
    if operation["op"] == "start":
        recorded["hit_tokens"] = operation["hit_tokens"]
    if operation["op"] != "free" and recorded["ok"]:
        recorded["block_table"] = operation["block_table"]
    return recorded


def perform(manager: BlockManager, operation: dict) -> dict:
    """What our manager makes of one operation, in the recording's words, and why if it is not ok."""
    kind, seq_id, ours = operation["op"], operation["id"], {"ok": True}
    if kind == "start":
        ours["hit_tokens"] = manager.hit_tokens(operation["tokens"])
    try:
        if kind == "start":
            manager.start(seq_id, operation["tokens"])
        elif kind == "append":
            manager.append(seq_id, operation.get("token", operation.get("tokens")))
        else:
            manager.free(seq_id)
    except (OutOfBlocks, SequenceTooLong) as error:
        ours |= {"ok": False, "reason": str(error)}
    except BlockError as error:  # not for want of room: no recording has this
        ours |= {"ok": "refused", "reason": str(error)}
    if seq_id in manager:
        ours["block_table"] = manager.table(seq_id).block_ids
        unlike = kind == "start" and ours["ok"] is True and not operation.get("ok", True)
        if unlike or operation.get("then") == "freed":  # in the recording it is not there from here on
            manager.free(seq_id)
    ours["free_order"] = list(manager.pool.free_list)
    return ours


# ---- the tool


def files_of(paths: list[Path]) -> list[Path]:
    """The files, and of a folder all recordings in it."""
    files = []
    for path in paths:
        inside = [file for file in sorted(path.rglob("*")) if file.suffix in (".json", ".jsonl")]
        files += inside if path.is_dir() and inside else [path]
    return files


def run(paths: list[Path]) -> int:
    count, operations, agreeing, wrong, unreadable = 0, 0, 0, 0, 0
    for path in files_of(paths):
        try:
            recordings = read(path)
        except Unreadable as error:
            print(f"replay_blocks: {path} {error}.", file=sys.stderr)
            unreadable += 1
            continue
        for recording in recordings:
            counts, disagreements = replay(recording)
            recorded = len(recording["ops"])
            agrees = max(0, recorded - len(disagreements))
            sizes = f"{recording['num_blocks']} blocks of {recording['block_size']} tokens"
            parts = ", ".join(
                f"{title} {counts[name, 'same']}/{counts[name, 'recorded']}"
                for name, title in COMPARED.items()
            )
            print(f"{path} ({sizes}): {agrees} of {recorded} operations agree ({parts})")
            for disagreement in disagreements[:PRINTED]:
                print(f"   {disagreement}")
            if len(disagreements) > PRINTED:
                print(f"   ... and {len(disagreements) - PRINTED} more")
            count, operations, agreeing = count + 1, operations + recorded, agreeing + agrees
            wrong += len(disagreements)
    print(f"{count} recordings, {agreeing} of {operations} operations agree, {unreadable} files unreadable.")
    return 2 if unreadable or not count else 1 if wrong else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="replay_blocks.py", description=__doc__.split("\n")[0])
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a recording, or a folder of them"
    )
    return run(parser.parse_args(argv).files)


if __name__ == "__main__":
    sys.exit(main())
