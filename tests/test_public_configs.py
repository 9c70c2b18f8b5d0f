"""`public_cases.py --configs`: what published configurations take, and each exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases import config_rows, facts
from cases.params import Uncovered
from kvcourse.memory import from_config

HERE = Path(__file__).parent
LLAMA = {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}
DELTA = {"num_hidden_layers": 8, "full_attention_layers": 2, "linear_attention_layers": 6,
         "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16,
         "linear_key_head_dim": 128, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
         "linear_conv_kernel_dim": 4}  # fmt: skip


def run(*args) -> subprocess.CompletedProcess:
    command = [sys.executable, HERE / "public_cases.py", "--configs", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True)


def written(folder: Path, *rows) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in rows))
    return path


def test_every_published_configuration_is_sized(shared_data):
    done = run(shared_data / "cases" / "model_configs.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    assert "72 rows: 72 sized, 0 refused; 0 disagree" in done.stderr
    rows = {row["model"]: row for row in map(json.loads, done.stdout.splitlines())}
    # Each by hand: layers x (K and V or latent) x bytes x tokens.
    assert rows["meta-llama/Meta-Llama-3.1-8B"]["used"]["4096"] == 32 * 2 * 8 * 128 * 2 * 4096
    assert rows["deepseek-ai/DeepSeek-V3"]["used"]["32768"] == 61 * 576 * 2 * 32_768
    assert rows["MiniMaxAI/MiniMax-M3"]["used"]["4096"] == (60 * 2 * 4 * 128 + 57 * 128) * 2 * 4096
    assert rows["zai-org/GLM-5.2"]["used"]["4096"] == (78 * 576 + 21 * 128) * 2 * 4096
    mimo = rows["MiMo-V2.5-Pro"]
    assert mimo["used"]["4096"] == 8 * (192 + 128) * 2 * (10 * 4096 + 60 * 128)
    assert mimo["reserved"]["4096"] == 8 * (192 + 128) * 2 * 70 * 4096


@pytest.mark.full
def test_transformers_keeps_as_much_of_every_published_configuration_it_can_build(shared_data):
    """About a minute: each is scaled down, built, and run for 1 and 13 tokens."""
    pytest.importorskip("transformers", reason="install: transformers")
    done = run(shared_data / "cases" / "model_configs.jsonl", "--transformers")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_oracle_that_disagrees_is_seen():
    done = config_rows.measure({"model": "m", "config": LLAMA}, lambda raw: "so says it")
    assert done.wrong == "so says it" and "<-- so says it" in done.line()


@pytest.mark.parametrize(
    ("rows", "status", "total"),
    [([{"config": LLAMA}], 0, "1 rows: 1 sized, 0 refused; 0 disagree, 0 unreadable."),
     ([{"config": None, "facts": DELTA}], 0, "1 sized"),
     ([{"config": LLAMA | {"model_type": "novel"}}], 0, "1 refused"),
     ([{"config": LLAMA | {"vocab_size": 32_000, "intermediate_size": 11_008},
        "params_counted_on_meta": 6_738_415_616}], 0, "0 disagree"),
     ([{"config": LLAMA | {"vocab_size": 32_000, "intermediate_size": 11_008},
        "params_counted_on_meta": 6_738_415_617}], 1, "1 disagree"),
     ([{"config": 3}], 2, "1 unreadable"), ([{"config": None}], 2, "1 unreadable"), (["["], 2, "unreadable"),
     ([], 2, "1 unreadable")],
)  # fmt: skip
def test_exit_status(tmp_path, rows, status, total):
    done = run(written(tmp_path, *rows))
    assert done.returncode == status and total in done.stdout.splitlines()[-1]
    assert "Traceback" not in done.stderr and (status == 2) == bool(done.stderr)


def test_a_refusal_names_the_field(tmp_path):
    done = run(written(tmp_path, {"model": "m", "config": LLAMA | {"cla_share_factor": 2}}), "--json")
    assert "cla_share_factor" in json.loads(done.stdout)["refused"]


def test_json_is_of_configurations_only(tmp_path):
    command = [sys.executable, HERE / "public_cases.py", "--json", written(tmp_path, {})]
    assert subprocess.run(command, capture_output=True).returncode == 2


def test_facts_count_kinds_where_a_file_lists_them():
    listed = {name: value for name, value in DELTA.items() if not name.endswith("attention_layers")}
    listed |= {"model_type": "qwen3_next", "hidden_size": 4096, "full_attention_interval": 4}
    assert from_config(facts.as_config(DELTA)).bytes(99) == from_config(listed).bytes(99)


@pytest.mark.parametrize(
    "odd",
    [{"full_attention_layers": 3}, {"linear_attention_layers": "6"}, {"num_hidden_layers": None},
     {"stored_layers": 7}, {"num_hidden_layers": 10**9}],
)  # fmt: skip
def test_facts_that_do_not_add_up(odd):
    with pytest.raises(Uncovered):
        facts.as_config(DELTA | odd)


def test_what_transformers_holds_between_two_steps():
    """Of Mistral's window of 4,096 one token less; of Mamba's convolutions one input more."""
    mistral = config_rows.measure({"config": LLAMA | {"model_type": "mistral", "num_key_value_heads": 8}})
    assert mistral.model.bytes(4096) - mistral.held(4096) == 32 * 2 * 8 * 128 * 2
    mamba = {"model_type": "mamba", "num_hidden_layers": 2, "hidden_size": 64}
    mamba = config_rows.measure({"config": mamba})
    assert mamba.held(1) - mamba.model.bytes(1) == 2 * 128 * 2 and mamba.growing(9) == 0
