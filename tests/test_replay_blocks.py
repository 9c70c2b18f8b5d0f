"""Our block manager against recordings: one worked out by hand, and vLLM's where there is one."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

import replay_blocks

HERE = Path(__file__).parent
BY_HAND = HERE / "data" / "blocks_by_hand.json"


def recording():
    return json.loads(BY_HAND.read_text())


def written(tmp_path, content, name="recording.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_recording_worked_out_by_hand_agrees(capsys):
    assert replay_blocks.run([BY_HAND]) == 0
    assert capsys.readouterr().out.endswith("1 recordings, 18 of 18 operations agree, 0 files unreadable.\n")


def test_vllms_recording_agrees(shared_data):
    files = sorted((shared_data / "cases").glob("vllm_block_*.json"))
    if not files:
        pytest.skip(f"no recording in {shared_data}")
    assert replay_blocks.run(files) == 0


def test_it_runs_as_a_program():
    command = [sys.executable, HERE / "replay_blocks.py", BY_HAND]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 recordings, 18 of 18 operations agree, 0 files unreadable."


def changed_values():
    """Each recorded result, one at a time, replaced by another one."""
    for number, operation in enumerate(recording()["ops"]):
        for name, other in (("hit_tokens", 1), ("block_table", [3]), ("free_order", [1])):
            if name in operation:
                yield number, name, other
        if "ok" in operation and not operation["ok"]:
            yield number, "ok", True


@pytest.mark.parametrize(("number", "name", "other"), list(changed_values()))
def test_any_other_result_is_a_disagreement(number, name, other, tmp_path, capsys):
    changed = recording()
    changed["ops"][number][name] = other
    if name == "ok":
        changed["ops"][number] |= {"block_table": [1], "ok": True}
        changed["ops"][number].pop("then", None)
    assert replay_blocks.run([written(tmp_path, changed)]) == 1
    told = capsys.readouterr().out
    assert f"operation {number}, " in told
    assert f"ours {recording()['ops'][number][name]}" in told


def test_a_dropped_operation_is_noticed(tmp_path):
    for number in range(17):
        changed = recording()
        del changed["ops"][number]
        refused = {2, 15}  # those two change nothing and nothing later depends on them
        assert replay_blocks.run([written(tmp_path, changed)]) == (0 if number in refused else 1)


def test_other_sizes_and_ids_do_not_matter(tmp_path):
    """The same story with block 5 as the null block, number ids, and twice the block size."""
    changed = recording()
    renamed = {0: 5, 1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
    changed |= {"null_block": 5, "block_size": 4}
    for operation in changed["ops"]:
        operation["id"] = ord(operation["id"])
        for name in ("block_table", "free_order"):
            if name in operation:
                operation[name] = [renamed[block] for block in operation[name]]
        if "tokens" in operation:
            operation["tokens"] = [token for token in operation["tokens"] for _ in range(2)]
            operation["hit_tokens"] *= 2
        if "token" in operation:
            operation["tokens"] = [operation.pop("token")] * 2
    assert replay_blocks.run([written(tmp_path, changed)]) == 0


def test_an_unknown_or_repeated_id_is_a_disagreement(tmp_path, capsys):
    for operation in (
        {"op": "free", "id": "nobody", "free_order": [1, 2, 3, 4, 5]},
        {
            "op": "append",
            "id": "nobody",
            "token": 1,
            "ok": True,
            "block_table": [],
            "free_order": [1, 2, 3, 4, 5],
        },
        {"op": "append", "id": "nobody", "token": 1, "ok": False, "free_order": [1, 2, 3, 4, 5]},
    ):
        changed = recording() | {"ops": [operation]}
        assert replay_blocks.run([written(tmp_path, changed)]) == 1
        assert "no sequence 'nobody' here" in capsys.readouterr().out
    changed = recording()
    changed["ops"].insert(1, copy.deepcopy(changed["ops"][0]))
    assert replay_blocks.run([written(tmp_path, changed)]) == 1


def test_lists_lines_and_folders_of_recordings_are_all_replayed(tmp_path, capsys):
    written(tmp_path, [recording(), recording()], "two.json")
    written(tmp_path, "\n".join([json.dumps(recording())] * 3), "three.jsonl")
    (tmp_path / "deeper").mkdir()
    written(tmp_path / "deeper", recording())
    assert replay_blocks.run([tmp_path, BY_HAND]) == 0
    assert capsys.readouterr().out.endswith(
        f"7 recordings, {7 * 18} of {7 * 18} operations agree, 0 files unreadable.\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"ops": []},
        {"ops": None},
        {"ops": [7]},
        {"ops": [{"op": "swap", "id": "a", "free_order": []}]},
        {"ops": [{"op": "free", "id": "a"}]},
        {"ops": [{"op": "free", "free_order": []}]},
        {"ops": [{"op": "free", "id": "a", "ok": False, "free_order": []}]},
        {"ops": [{"op": "start", "id": "a", "tokens": [1], "hit_tokens": 0, "ok": True, "free_order": []}]},
        {"ops": [{"op": "start", "id": "a", "tokens": [1], "ok": False, "free_order": []}]},
        {"ops": [{"op": "start", "id": "a", "tokens": [], "hit_tokens": 0, "ok": False, "free_order": []}]},
        {"ops": [{"op": "start", "id": "a", "tokens": "12", "hit_tokens": 0, "ok": False, "free_order": []}]},
        {"ops": [{"op": "append", "id": "a", "ok": False, "free_order": []}]},
        {"ops": [{"op": "append", "id": "a", "token": 1.5, "ok": False, "free_order": []}]},
        {"ops": [{"op": "append", "id": "a", "token": 1, "ok": "no", "free_order": []}]},
        {"ops": [{"op": "append", "id": "a", "token": 1, "ok": False, "then": "kept", "free_order": []}]},
        {"block_size": 0},
        {"block_size": True},
        {"num_blocks": -1},
        {"num_blocks": 10**12},
        {"null_block": 6},
        {"null_block": "0"},
    ],
)
def test_what_cannot_be_replayed_whole_is_not_replayed_at_all(change, tmp_path, capsys):
    path = written(tmp_path, recording() | change)
    assert replay_blocks.run([path, BY_HAND]) == 2
    captured = capsys.readouterr()
    assert str(path) in captured.err and captured.err.count("\n") == 1
    assert captured.out.endswith("1 recordings, 18 of 18 operations agree, 1 files unreadable.\n")


@pytest.mark.parametrize("content", ["", "{", "[]", "7", "null", '{"ops": 1}\n{', "[" * 100_000, "\x00"])
def test_what_is_no_recording_is_unreadable(content, tmp_path):
    assert replay_blocks.run([written(tmp_path, content)]) == 2


def test_a_missing_file_and_an_empty_folder_are_unreadable(tmp_path, capsys):
    assert replay_blocks.run([tmp_path / "nothing.json"]) == 2
    assert replay_blocks.run([tmp_path]) == 2
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert replay_blocks.run([tmp_path / "bytes.json"]) == 2
    assert "Traceback" not in capsys.readouterr().err
