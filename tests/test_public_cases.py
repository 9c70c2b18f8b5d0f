"""The runner for published figures: what it reads, what it never reads, and each exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import public_cases
from cases.params import Unreadable

HERE = Path(__file__).parent
OURS = HERE / "data" / "kv_cases.jsonl"
PLAIN = {"layers": 32, "kv_heads": 32, "head_dim": 128, "tokens": 4096, "dtype": "fp16"}


def row(reported=2.0, unit="GiB", tolerance=0.001, quantity="kv_bytes", params=None, **more) -> dict:
    return {"quantity": quantity, "params": PLAIN if params is None else params, "reported": reported,
            "unit": unit, "tolerance": tolerance, **more}  # fmt: skip


def run(*files) -> subprocess.CompletedProcess:
    command = [sys.executable, HERE / "public_cases.py", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True)


def written(folder: Path, *rows) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in rows))
    return path


# ---- whole files ---------------------------------------------------------------------------------


def test_our_own_cases_all_come_out():
    done = run(OURS)
    rows = [json.loads(line) for line in OURS.read_text().splitlines()]
    wrong = sum(not line["match"] for line in rows)
    total = f"{len(rows)} rows: {len(rows) - wrong} reproduced, {wrong} contradicted, 0 not yet covered; 0 "
    assert done.stdout.splitlines()[-1].startswith(total)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line["source"].startswith("https://") for line in rows)


def test_the_published_cases_all_come_out(shared_data):
    done = run(shared_data / "cases" / "memory_cases.jsonl")
    assert done.returncode == 0, done.stdout
    assert " 0 disagree with their match" in done.stdout.splitlines()[-1]


def test_several_files_make_one_total(tmp_path):
    done = run(written(tmp_path, row(), row()), OURS)
    count = 2 + len(OURS.read_text().splitlines())
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith(f"{count} rows")


@pytest.mark.parametrize(
    ("rows", "status"),
    [([row()], 0), ([row(match=True)], 0), ([row(reported=3.0)], 1), ([row(reported=3.0, match=False)], 0),
     ([row(match=False)], 1), ([row(params={**PLAIN, "novel": 1})], 0), ([row(), "", row()], 0),
     ([row(), "{"], 2), (["[]"], 2), ([], 2), ([row(reported="2")], 2), ([row(unit=None)], 2),
     ([row(reported=3.0), row(quantity=4)], 2)],
)  # fmt: skip
def test_exit_status(tmp_path, rows, status):
    done = run(written(tmp_path, *rows))
    assert done.returncode == status
    assert "Traceback" not in done.stderr and (status == 2) == bool(done.stderr)


def test_files_that_cannot_be_read(tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "absent", binary):
        done = run(path)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert run().returncode == 2


def test_it_runs_from_any_folder(tmp_path):
    command = [sys.executable, HERE / "public_cases.py", OURS]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, env=dict(os.environ)).returncode == 0


# ---- one row -------------------------------------------------------------------------------------


def verdict(**fields) -> str:
    return public_cases.judge(row(**fields)).verdict


def test_answers_that_stand_in_the_row_are_never_read():
    answers = {"recomputed": 7, "expected_formula": "7", "id": "seven", "note": "it is 7"}
    assert public_cases.judge(row(**answers)) == public_cases.judge(row())
    assert verdict(reported=7.0, **answers) == "contradicted"


@pytest.mark.parametrize(
    ("unit", "reported", "expected"),
    [("GiB", 2.0, "reproduced"), ("GB(=GiB)", 2.0, "reproduced"), ("GB(1e9)", 2.147, "reproduced"),
     ("GB(1e9)", 2.0, "contradicted"), ("GB", 2.147, "reproduced"), ("GB", 2.0, "reproduced"),
     ("GB", 2.07, "contradicted"), ("MiB", 2048.0, "reproduced"), ("bytes", 2**31, "reproduced"),
     ("GiB", 2.147, "contradicted"), ("furlongs", 2.0, "not yet covered"), ("tokens", 2.0, "not yet covered"),
     ("GB(=MiB)", 2.0, "not yet covered"), ("GB(1e6)", 2.0, "not yet covered"), ("Gb", 2.0,
     "not yet covered")],
)  # fmt: skip
def test_units(unit, reported, expected):
    assert verdict(unit=unit, reported=reported) == expected


@pytest.mark.parametrize("key", ["novel", "n_swa_extra", "Layers", "kv_heads_", "tokens "])
def test_an_unknown_key_is_never_ignored(key):
    outcome = public_cases.judge(row(params={**PLAIN, key: 1}))
    assert outcome.verdict == "not yet covered" and repr(key) in outcome.detail


@pytest.mark.parametrize(
    "key", ["window", "tp", "batch", "slots", "concurrency", "block", "max_len", "latent"]
)
def test_a_known_key_counts_or_makes_the_row_uncovered(key):
    """A key that some other quantity knows must not be dropped: 2 of it change the answer or refuse."""
    outcome = public_cases.judge(row(params={**PLAIN, key: 2}))
    assert outcome.verdict in ("contradicted", "not yet covered")


@pytest.mark.parametrize("key", ["layers", "kv_heads", "head_dim", "tokens", "dtype"])
def test_a_missing_key_makes_the_row_uncovered(key):
    params = {name: value for name, value in PLAIN.items() if name != key}
    assert verdict(params=params) == "not yet covered"


@pytest.mark.parametrize(
    "params",
    [{**PLAIN, "dtype": "q9_9"}, {**PLAIN, "dtype": None}, {**PLAIN, "tokens": "4k"}, {**PLAIN,
    "layers": None},
     {**PLAIN, "tokens": 1.5}, {**PLAIN, "tp": 3}, {**PLAIN, "layers": True}, {**PLAIN, "n_layers": 31}, {}],
)  # fmt: skip
def test_values_that_are_not_understood_make_the_row_uncovered(params):
    assert verdict(params=params) == "not yet covered"


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"params": None}, "params"), ({"params": []}, "params"), ({"reported": None}, "reported"),
     ({"reported": True}, "reported"), ({"tolerance": -1}, "tolerance"), ({"tolerance": "a"}, "tolerance"),
     ({"quantity": None}, "quantity"), ({"unit": 3}, "unit"), ({"match": "yes"}, "match"),
     ({"reported": float("nan")}, "reported"), ({"params": {**PLAIN, "tokens": -4}}, "tokens"),
     ({"params": {**PLAIN, "tokens": float("nan")}}, "tokens")],
)  # fmt: skip
def test_a_row_that_no_row_can_be_is_unreadable(fields, named):
    bad = row()
    bad.update(fields)
    with pytest.raises(Unreadable, match=named):
        public_cases.judge(bad)


def test_a_row_without_a_shape_takes_that_of_its_model():
    params = {"tokens": 4096}
    assert verdict(params=params, model="meta-llama/Llama-2-7b-hf") == "reproduced"
    assert verdict(params=params, model="Novel-7B") == "not yet covered"
    assert verdict(params=params) == "not yet covered"


def test_tokens_in_thousands_may_be_of_1000_or_of_1024():
    params = {"blocks": 1000, "block": 16}
    for reported in (16.0, 15.625):
        assert (
            verdict(quantity="pool_tokens", params=params, reported=reported, unit="k tokens") == "reproduced"
        )
    assert verdict(quantity="pool_tokens", params=params, reported=15.8, unit="k tokens") == "contradicted"


@pytest.mark.parametrize(
    ("reported", "tolerance", "expected"),
    [(2.0, 0, "reproduced"), (2.25, 0.25, "reproduced"), (1.75, 0.25, "reproduced"), (2.25, 0.2,
    "contradicted"),
     (1.75, 0.2, "contradicted"), (2.0000001, 0, "contradicted")],
)  # fmt: skip
def test_the_tolerance_is_absolute_and_reached(reported, tolerance, expected):
    assert verdict(reported=reported, tolerance=tolerance) == expected


# ---- kinds ---------------------------------------------------------------------------------------

HEADS = {"kv_heads": 8, "head_dim": 64, "dtype": "bf16"}
MAMBA = {"mamba_layers": 2, "d_inner": 64, "d_state": 16, "d_conv": 4, "dtype": "bf16"}


@pytest.mark.parametrize(
    ("quantity", "params", "reported", "unit"),
    [("kv_bytes", {"layers": 4, "kv_heads": [8, 0, 2, 8], "head_dim": 64, "dtype": "bf16", "tokens": 100},
      2 * 18 * 64 * 2 * 100, "bytes"),
     ("kv_bytes", {"layers": 6, "full_every": 3, "window": 10, "tokens": 100, **HEADS},
      2 * 8 * 64 * 2 * (2 * 100 + 4 * 10), "bytes"),
     ("kv_bytes", {"full": 1, "swa": 1, "window": 10, "global_head_dim": 128, "tokens": 100, **HEADS},
      2 * 8 * 2 * (128 * 100 + 64 * 10), "bytes"),
     ("kv_bytes", {"layers": 6, "kv_shared_layers": 2, "tokens": 100, **HEADS}, 4 * 2 * 8 * 64 * 2 * 100,
     "bytes"),
     ("kv_bytes", {"layers": 1, "heads": 128, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
     "v_head_dim": 128,
                   "dtype": "f16", "tokens": 1}, 128 * 320 * 2, "bytes"),
     ("ratio", {"latent": 576, "kv_heads": 128, "head_dim_k": 192, "head_dim_v": 128}, 71.1, "x"),
     ("ratio", {"heads": 64, "kv_heads": 8}, 8, "x"),
     ("kv_bytes", {"c4a_layers": 30, "c128a_layers": 31, "window": 128, "head_dim": 512, "index": 128,
                   "tokens": 2**20, "dtype": "bf16"}, 9.62, "GiB"),
     ("state_bytes", MAMBA, 2 * 2 * 64 * (16 + 3), "bytes"),
     ("kv_bytes", {"attn_layers": 1, "tokens": 10, **HEADS, **MAMBA}, 2 * 8 * 64 * 2 * 10, "bytes"),
     ("kv_bytes", {"attn_layers": 1, "tokens": 10, **HEADS, **MAMBA}, 2 * 8 * 64 * 2 * 10 + 4864, "bytes"),
     ("state_bytes", {"gdn_layers": 48, "linear_num_value_heads": 48, "linear_key_head_dim": 128,
                      "linear_value_head_dim": 128, "dtype": "fp32"}, 48 * 48 * 128 * 128 * 4, "bytes"),
     ("kv_bytes", {"layers": 4, "tp": 2, "tokens": 100, **HEADS}, 4 * 2 * 4 * 64 * 2 * 100, "bytes"),
     ("kv_bytes", {"layers": 4, "latent": 576, "tp": 8, "tokens": 100, "dtype": "fp8"}, 4 * 576 * 100,
     "bytes"),
     ("bytes_per_token_one_layer", {"layers": 4, **HEADS}, 2048, "bytes"),
     ("pool_tokens", {"layers": 4, "total_gib": 80, "weights_gib": 16, "peak_gib": 2, "utilization": 0.9,
     "block": 16,
                      **HEADS}, 54 * 2**30 // 8192, "tokens"),
     ("pool_blocks", {"layers": 4, "pool_gib": 1, "block": 16, **HEADS}, 8192, "blocks"),
     ("concurrency", {"blocks": 100, "block": 16, "max_len": 800}, 2, "x"),
     ("requests", {"layers": 4, "pool_gib": 1, "reserve": 1000, **HEADS}, 131, "requests"),
     ("kv_bytes", {"layers": 64, "full": 16, "linear_layers": 48, "tokens": 100, **HEADS},
      16 * 2 * 8 * 64 * 2 * 100, "bytes"),
     ("kv_bytes", {"stored_layers": 3, "full": 1, "swa": 2, "window": 10, "tokens": 100, **HEADS},
      2 * 8 * 64 * 2 * (100 + 20), "bytes"),
     ("kv_bytes", {"layers": 5, "stored_layers": 3, "kv_shared_layers": 2, "tokens": 100, **HEADS},
      3 * 2 * 8 * 64 * 2 * 100, "bytes"),
     ("kv_bytes", {"swa_layers": 2, "c4a_layers": 1, "window": 8, "head_dim": 16, "tokens": 100,
     "dtype": "bf16"},
      2 * 16 * (3 * 8 + 25), "bytes"),
     ("kv_bytes", {"kv_heads_per_layer": [8, 0, 2], "head_dim": 64, "dtype": "bf16", "tokens": 100},
      2 * 10 * 64 * 2 * 100, "bytes"),
     ("block_bytes_one_layer", {"layers": 4, "block": 16, **HEADS}, 2 * 8 * 64 * 2 * 16, "bytes"),
     ("ratio", {"kv_heads": 4, "tp": 8}, 2, "x"), ("ratio", {"latent": 576, "tp": 8}, 8, "x"),
     ("ratio", {"true_kv_heads": 8, "naive_kv_heads": 64}, 8, "x too high"),
     ("pool_blocks", {"layers": 4, "pool_gib": 1, "block": 16, **HEADS}, 8192, "GPU blocks"),
     ("blocks", {"tokens": 17, "block": 16}, 2, "blocks"), ("duplication", {"kv_heads": 4, "tp": 8,
     "dcp": 2}, 1, "x"),
     ("bytes_per_token_one_layer", {"layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
                                    "dtype": "fp8_ds_mla"}, 656, "bytes"),
     ("kv_bytes_per_rank", {"layers": 61, "latent": 576, "tp": 8, "dcp": 8, "tokens": 801, "dtype": "bf16"},
      61 * 576 * 2 * 101, "bytes"),
     ("kv_bytes", {"layers": 4, "num_beams": 5, "tokens": 100, **HEADS}, 20 * 2 * 8 * 64 * 2 * 100, "bytes"),
     ("weight_bytes", {"params": 8.03e9, "dtype": "bf16"}, 16.06, "GB(1e9)")],
)  # fmt: skip
def test_kinds_by_hand(quantity, params, reported, unit):
    assert (
        verdict(
            quantity=quantity, params=params, reported=reported, unit=unit, tolerance=0.01 + reported * 1e-4
        )
        == "reproduced"
    )


@pytest.mark.parametrize(
    "params",
    [{"layers": 4, "swa": 5, "window": 9, "tokens": 10, **HEADS}, {"swa": 5, "tokens": 10, **HEADS},
     {"layers": 4, "kv_shared_layers": 5, "tokens": 10, **HEADS}, {"latent": 576, "tokens": 10,
     "dtype": "f16"},
     {"layers": 2, "kv_heads": [8], "head_dim": 64, "tokens": 10, "dtype": "f16"}, {**MAMBA, "tokens": 10,
     "d_state": None},
     {"layers": 4, "latent": 100, "kv_lora_rank": 512, "tokens": 10, "dtype": "f16"},
     {"layers": 4, "global_head_dim": 9, "tokens": 10, **HEADS}, {"layers": 4, "tokens": 10, "heads": 3,
     "hidden": 10,
      "dtype": "f16"}, {"layers": 5, "stored_layers": 4, "kv_shared_layers": 2, "tokens": 10, **HEADS},
     {"layers": 9, "c4a_layers": 1, "window": 8, "head_dim": 16, "tokens": 100, "dtype": "bf16"}],
)  # fmt: skip
def test_kinds_that_do_not_add_up_are_uncovered(params):
    assert verdict(params=params) == "not yet covered"
