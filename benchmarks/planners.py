"""Planners of the package index on published configurations: whose cache sizes are right, wrong, refused.

    python benchmarks/planners.py --python OTHER/bin/python     # the environment that holds the peers
    python benchmarks/planners.py CONFIGS.jsonl --python ...    # rows with "model" and "config"
    python benchmarks/planners.py CASES.jsonl --python ...      # rows with "reported", published figures

Each peer is asked through the function that its own command calls with a `config.json`: bf16, one sequence,
no network. kvcache-simulator reads no file: it is asked for the models that it knows by name. Planners need
not count the same thing, so an answer is right if it is within 0.1 % of what kvcourse says is used or
reserved, with or without the constant states of recurrent and compressed layers. That our figures are right
is not shown here but in the tests, against Transformers' tensors and published logs. Without a file the
registry is asked. Of published figures those are asked that follow from a model of the registry in 16 bits;
the figure itself, within its tolerance, is then right as well.
"""

import argparse
import contextlib
import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TOKENS = (4096, 32_768)
Row = dict


def kvfit(row: Row, tokens: int) -> float:
    from kvfit.architectures import estimate_cache

    return estimate_cache(row["config"], context_tokens=tokens, kv_bytes=2.0).total_bytes


def hf_mem(row: Row, tokens: int) -> float:
    from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size

    config = row["config"]
    if any("ForConditionalGeneration" in name for name in config.get("architectures", ())):
        config = config.get("text_config", config)
    return compute_safetensors_kv_cache_size(config, "BF16", tokens)


def hf_vram_calc(row: Row, tokens: int) -> float:
    from hf_vram_calc.calculator import VRAMCalculator
    from hf_vram_calc.config import ConfigManager
    from hf_vram_calc.parser import ConfigParser

    config = ConfigParser.parse_config(_file(row["config"]), row["model"])
    calculator = VRAMCalculator(ConfigManager())
    return calculator.calculate_kv_cache_memory(config, "bf16", 1, tokens) * 2**30


def llm_mem(row: Row, tokens: int) -> float:
    from llm_mem import llm_memory_calculator as module

    module.hf_hub_download = lambda **_: _file(row["config"])
    said = module.LLMMemoryCalculator().calculate_kv_cache_memory(tokens, row["model"], "float16")
    if isinstance(said, str):
        raise ValueError(said)
    return said * 1e9


def vramcalc(row: Row, tokens: int) -> float:
    from vramcalc import memory
    from vramcalc.arch import Arch

    return memory.kv_cache(Arch.from_config(row["config"]), 1, tokens, 2)


def canirun(row: Row, tokens: int) -> float:
    from canirun import logic

    logic.model_info = lambda *_: None
    logic.hf_hub_download = lambda *_: _file(row["config"])
    analyzer = object.__new__(logic.ModelAnalyzer)
    analyzer.model_id, analyzer.hf_token, analyzer.specs = row["model"], None, {"vram": 0, "ram": 0}
    return analyzer.calculate(analyzer.fetch_model_data(), tokens)[0]["kv_cache"]


def kvcache_simulator(row: Row, tokens: int) -> float:
    from kvcache_sim import calculate_cache_size, load_models_data

    name = row["model"].rsplit("/", 1)[-1].lower().removeprefix("meta-").replace(" ", "-")
    for model in load_models_data()["models"]:
        if name in (model["id"], str(model.get("label", "")).lower().replace(" ", "-")):
            found = calculate_cache_size(
                model, tokens=tokens, precision="bf16_fp16", include_linear_attention_state=True
            )
            return found.total_bytes
    raise ValueError("not among the models it knows")


PEERS: dict[str, Callable[[Row, int], float]] = {
    "kvfit": kvfit,
    "kvcache-simulator": kvcache_simulator,
    "hf-mem": hf_mem,
    "hf-vram-calc": hf_vram_calc,
    "llm-mem": llm_mem,
    "vramcalc": vramcalc,
    "canirun": canirun,
}


def _file(config: dict) -> str:
    folder = tempfile.mkdtemp()
    path = Path(folder, "config.json")
    path.write_text(json.dumps(config))
    return str(path)


def answer(peer: str) -> None:
    """In the peer's environment: rows on stdin, one list of answers or a refusal a line on stdout."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    print(json.dumps(importlib.metadata.version(peer)))
    lines, sys.stdin = sys.stdin.read().splitlines(), io.StringIO()  # one of them asks for a password
    for line in lines:
        row, said = json.loads(line), io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                found = [float(PEERS[peer](row, tokens)) for tokens in row.get("tokens", TOKENS)]
        except (Exception, SystemExit) as error:
            found = f"{type(error).__name__}: {error}"[:100]
        print(json.dumps(found), flush=True)


def accepted(config: dict, lengths: tuple[int, ...] = TOKENS) -> list[set[int]]:
    """For each length the sizes that count as right: used or reserved, with or without recurrent states."""
    from dataclasses import replace

    from kvcourse.memory import CompressedAttention, RecurrentState, from_config
    from kvcourse.memory.reserved import reserved

    model = from_config(config)
    growing = [layer for layer in model.layers if not isinstance(layer, RecurrentState)]
    growing = [
        replace(layer, holds_back=False) if isinstance(layer, CompressedAttention) else layer
        for layer in growing
    ]
    kinds = [model, replace(model, layers=tuple(growing))]
    kinds += [reserved(kind) for kind in kinds]
    return [{kind.bytes(tokens, dtype="bf16") for kind in kinds} for tokens in lengths]


UNITS = {"GIB": 2**30, "MIB": 2**20, "KIB": 2**10, "1E9": 10**9, "1E6": 10**6, "GB": 10**9, "KB": 10**3}
LENGTHS, PLAIN = ("tokens", "n_ctx"), {"f16", "fp16", "bf16"}


def case(row: Row) -> tuple[Row, list[list[tuple]]] | None:
    """A published figure as a question for planners, with the bytes it may stand for; None if it is none."""
    from kvcourse import registry
    from kvcourse.errors import UserError

    params = row["params"]
    stored = {value for name, value in params.items() if name.startswith(("dtype", "type"))}
    lengths = {"bytes_per_token": 1, "kv_bytes": next((params[n] for n in LENGTHS if n in params), 0)}
    tokens = lengths.get(row["quantity"], 0)
    if not (row["match"] and tokens and stored <= PLAIN):
        return None
    unit = re.findall(r"[A-Za-z0-9]+", row["unit"].removesuffix("/token"))[-1].upper()
    try:
        known = registry.find(re.split(r" \(| tp| TP", row["model"])[0])
        batch = params.get("batch", 1)
        low, high = ((row["reported"] + sign * row["tolerance"]) * UNITS[unit] / batch for sign in (-1, 1))
        ours = accepted(known.config, (tokens,))[0]
    except (UserError, KeyError):
        return None
    if not any(low <= size <= high for size in ours):
        return None  # a figure of another layout or type than the model's own
    right = [(low, high), *((size, size) for size in ours)]
    return {"model": known.name, "config": known.config, "tokens": [tokens]}, [right]


def questions(path: Path | None) -> tuple[list[Row], list[list], int]:
    """What to ask, which answers are right (sizes, or a range), and how many rows have no reference."""
    from kvcourse import registry
    from kvcourse.errors import UserError

    found = [{"model": m.name, "config": m.config} for m in registry.models()]
    if path is not None:
        found = [json.loads(line) for line in path.read_text().splitlines()]
    asked, right, left_out = [], [], 0
    for row in found:
        try:
            if "reported" in row:
                row, sizes = case(row) or (None, None)
            elif row.get("config"):
                row = {"model": row["model"], "config": row["config"]}
                sizes = [[(size, size) for size in each] for each in accepted(row["config"])]
            else:
                row = None
        except UserError as error:
            print(f"left out, no reference: {row['model']}: {error}")
            row = None
        if row is None:
            left_out += 1
            continue
        asked.append(row)
        right.append(sizes)
    return asked, right, left_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", type=Path, nargs="?", help="JSON lines; default: the registry")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the peers")
    parser.add_argument("--verbose", action="store_true", help="every wrong answer")
    parser.add_argument("--answer", choices=PEERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.answer:
        answer(args.answer)
        return
    asked, right, left_out = questions(args.configs)
    lines = "".join(json.dumps(row) + "\n" for row in asked)
    print(f"{len(asked)} questions, {left_out} rows left out; one sequence, 16 bits a number")
    print(f"{'':26}{'right':>7}{'wrong':>7}{'refused':>9}   farthest off")
    print(f"{'kvcourse':26}{len(asked):>7}{0:>7}{0:>9}   (the reference here)")
    for peer in PEERS:
        run = subprocess.run(
            [args.python, __file__, "--answer", peer], input=lines, capture_output=True, text=True
        )
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        if len(answers) != len(asked) + 1:
            print(f"{peer:26}not installed in that environment, or not of a version this script knows")
            continue
        report(f"{peer} {answers[0]}", asked, right, answers[1:], args.verbose)


def distance(said: float, low: float, high: float) -> float:
    """The factor by which `said` is off the range, 1 within it."""
    nearest = min(max(said, low), high)
    return max(said, nearest) / min(said, nearest) if said > 0 and nearest > 0 else 1e9


def report(peer: str, asked: list[Row], right: list[list[list]], answers: list, verbose: bool) -> None:
    counts, factor, model = {"right": 0, "wrong": 0, "refused": 0}, 1.0, ""
    for row, sizes, said in zip(asked, right, answers, strict=True):
        if isinstance(said, str):
            counts["refused"] += 1
            continue
        off = max(
            min(distance(s, low, high) for low, high in want) for s, want in zip(said, sizes, strict=True)
        )
        counts["right" if off <= 1.001 else "wrong"] += 1
        if verbose and off > 1.001:
            print(f"    {row['model']}: off by {off:.3g}")
        if off > factor:
            factor, model = off, row["model"]
    print(
        f"{peer:26}{counts['right']:>7}{counts['wrong']:>7}{counts['refused']:>9}   "
        + (f"{factor:.3g} times, {model}" if factor > 1.001 else "")
    )


if __name__ == "__main__":
    main()
