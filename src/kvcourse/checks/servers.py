"""Servers for test cells: the names of their memory settings, the room these leave, and start-up logs.

The rules are written out once more, in fractions; names as documented in November 2026.
"""

import random
from fractions import Fraction

# What a setting counts: a share of the whole GPU (a), a share of what is free once the model is loaded (b),
# tokens or blocks of tokens (c), bytes (d), sequences (e), layers (f).
COUNTS = "abcdef"
SETTINGS = {
    "vLLM": {"gpu-memory-utilization": "a", "kv-cache-memory-bytes": "d"},
    "SGLang": {"mem-fraction-static": "a", "max-total-tokens": "c"},
    "TensorRT-LLM": {
        "free-gpu-memory-fraction": "b", "kv-cache-free-gpu-memory-fraction": "b", "max-tokens": "c",
    },
    "llama.cpp": {"ctx-size": "c", "c": "c", "llama-arg-ctx-size": "c"},
    "Ollama": {"ollama-context-length": "c", "num-ctx": "c"},
    "Transformers": {
        "cb-max-memory-percent": "b", "max-memory-percent": "b", "cb-num-blocks": "c", "num-blocks": "c",
    },
}  # fmt: skip
_CAP = "That is a cap on one sequence or on their number. Does the pool shrink when you lower it?"
_TYPE = "That is the type of a stored number. How much of it is there?"
_PLACE = "That says where layers lie, and their cache follows. Which setting says how many tokens there are?"
_CUT = "That is how the cache is cut into pieces. What says how many pieces there are?"
_BESIDE = {
    _CAP: "max-model-len max-num-seqs max-num-batched-tokens context-length max-running-requests max-seq-len "
          "max-batch-size max-num-tokens parallel np ollama-num-parallel cb-max-batch-tokens max-new-tokens",
    _TYPE: "kv-cache-dtype cache-type-k cache-type-v ctk ctv ollama-kv-cache-type dtype",
    _PLACE: "n-gpu-layers ngl gpu-layers num-gpu no-kv-offload nkvo device-map",
    _CUT: "block-size page-size tokens-per-block cb-block-size",
}  # fmt: skip


def setting(name: str) -> str:
    """One spelling of a setting: no dashes before it, no value behind it, - for _, in small letters."""
    plain = name.strip().lower().partition("=")[0].partition(" ")[0].replace("_", "-")
    return plain.rpartition(".")[2].lstrip("-")


def counts(server: str, name: str) -> str:
    """The letter of what the server's setting of this name counts; "" where it has none for the cache."""
    return SETTINGS[server].get(setting(name), "")


def beside(name: str) -> str:
    """A sentence where `name` is a well-known setting that does not say how much memory the cache gets."""
    return next((hint for hint, names in _BESIDE.items() if setting(name) in names.split()), "")


# ---- the room that is left -----------------------------------------------------------------------


def room(engine: str, total: int, weights: int, other: int, fraction: float) -> Fraction:
    """Bytes that the engine's rule leaves for the cache, below 0 where nothing is left."""
    share, left = Fraction(str(fraction)), total - weights - other
    if engine == "vLLM":
        return share * total - weights - other
    if engine == "SGLang":
        return min(share * total - weights, Fraction(left))
    return share * left


def draw_device(rng: random.Random, engine: str, tight: bool = False) -> dict:
    """Arguments of `pool_tokens`, away from the edge of a block. `tight`: A is more than (1 - f) M."""
    while True:
        total = rng.choice([24, 40, 48, 80, 141, 192]) * 2**30
        fraction = rng.randint(60, 97) / 100
        rest = float(1 - Fraction(str(fraction))) * total
        other = int(rest * rng.uniform(1.1, 1.6) if tight else rest * rng.uniform(0.1, 0.8))
        weights = int(total * rng.uniform(0.1, 0.5))
        block, token = rng.choice([16, 32, 64]), 2048 * rng.randint(10, 200)
        blocks = room(engine, total, weights, other, fraction) / (block * token)
        if blocks > 100 and 0.05 < blocks % 1 < 0.95:
            return {"total": total, "weights": weights, "other": other, "fraction": fraction,
                    "token_bytes": token, "block": block}  # fmt: skip


def room_tokens(engine: str, device: dict) -> int:
    """Tokens in the whole blocks of that room, counted in blocks taken away one size at a time."""
    sizes = {name: device[name] for name in ("total", "weights", "other", "fraction")}
    left, blocks = room(engine, **sizes), 0
    size = step = device["block"] * device["token_bytes"]
    while step * 2 <= left:
        step *= 2
    while step >= size:
        if step <= left:
            left, blocks = left - step, blocks + step // size
        step //= 2
    return blocks * device["block"]


# ---- start-up logs -------------------------------------------------------------------------------

LOG = """\
INFO {time} [core.py:58] Initializing a V1 LLM engine with config: dtype=torch.bfloat16, max_seq_len={length}
INFO {time} [gpu_worker.py:298] Available KV cache memory: {gib} GiB
INFO {time} [kv_cache_utils.py:864] GPU KV cache size: {tokens:,} tokens
INFO {time} [kv_cache_utils.py:868] Maximum concurrency for {length:,} tokens per request: {times:.2f}x
INFO {time} [core.py:214] init engine (profile, create kv cache, warmup model) took 41.27 seconds
"""


def draw_log(rng: random.Random, wrong: str = "agree") -> tuple[str, dict]:
    """A log, and what is right for it: `token_bytes`, `gib`, `tokens`, `length` and `times`.

    `printed` is what the log says for `tokens`. `wrong` is "agree", or the one line, "tokens" or
    "concurrency", that does not follow from the line before.
    """
    token, free = 4096 * rng.randint(6, 90), rng.randint(8 * 2**30, 90 * 2**30)
    length = rng.choice([8192, 16_384, 32_768, 40_960])
    tokens = printed = free // (16 * token) * 16
    if wrong == "tokens":
        printed = int(tokens * rng.choice([2, 0.5, 1.6, 1.0737, 0.9313])) // 16 * 16
    times = printed / length
    said = times * rng.choice([2, 0.5, 1.25, 0.9]) if wrong == "concurrency" else times
    gib = f"{free / 2**30:.2f}"
    clock = f"11-{rng.randint(10, 30)} {rng.randint(10, 23)}:{rng.randint(10, 59)}:{rng.randint(10, 59)}"
    text = LOG.format(time=clock, length=length, gib=gib, tokens=printed, times=said)
    return text, {"token_bytes": token, "gib": float(gib), "tokens": tokens, "printed": printed,
                  "length": length, "times": tokens / length}  # fmt: skip
