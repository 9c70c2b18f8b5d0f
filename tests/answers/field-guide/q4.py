# ruff: noqa
# Problem 4: its longest context against its weights.


# %% right: counts sequence by sequence, a model in 4 bits
def report(n_params, weight_bits, cache, max_len):
    weights = round(n_params * weight_bits / 8)
    one = cache(max_len)
    sequences, total = 1, one
    while total <= weights:
        sequences, total = sequences + 1, total + one
    return dict(passes=sequences, weight_bytes=weights, kv_bytes_max=one)


def my_ratio():
    known = registry.find("Gemma-3-27B")
    longest = 8192 * (52 * 1024 + 10 * known.config["max_position_embeddings"])
    return {"name": known.name, "weight_bits": 4, "ratio": longest / (known.parameters / 2)}


# %% right: floor and one, latents
import math


def report(n_params, weight_bits, cache, max_len):
    result = {"weight_bytes": float(n_params) * weight_bits / 8, "unit": "B"}
    result["kv_bytes_max"] = cache(max_len)
    result["passes"] = math.floor(result["weight_bytes"] / result["kv_bytes_max"]) + 1
    return result


def my_ratio():
    return {"name": "DeepSeek-V3", "weight_bits": 8, "ratio": 0.01716}


# %% right: NumPy
import numpy as np


def report(n_params, weight_bits, cache, max_len):
    weights = np.int64(n_params) * weight_bits // 8
    longest = np.int64(cache(max_len))
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": np.floor_divide(weights, longest) + 1}


def my_ratio():
    return {
        "name": "qwen3-8b",
        "weight_bits": 16,
        "ratio": np.float64(147_456 * 40_960) / (2 * 8_190_735_360),
    }


# %% wrong: bytes of a token times the length
# points: q4-weights=1 q4-passes=1 q4-mine=1
# hint: Not every token adds as much
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(1) * max_len
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: one token
# points: q4-weights=1 q4-mine=1
# hint: That is the cache of one token
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(1)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: twice the context
# points: q4-weights=1 q4-mine=1
# hint: Twice too much
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = 2 * cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: bits for bytes
# points: q4-cache=1 q4-mine=1
# hint: Eight times too much
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: two bytes a weight, whatever is asked
# points: q4-cache=1 q4-mine=1
# hint: report(1_000, 4, ...)['weight_bytes']
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * 2
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: stops at the last one that fits
# points: q4-weights=1 q4-cache=1 q4-mine=1
# hint: One more?
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: rounds up
# points: q4-weights=1 q4-cache=1 q4-mine=1
# hint: The question is when they are larger
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": -(-weights // longest)}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: rounded gigabytes
# points: q4-mine=1
# hint: Too small
def report(n_params, weight_bits, cache, max_len):
    weights = round(n_params * weight_bits / 8 / 1e9)
    longest = cache(max_len) // 10**9
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // max(longest, 1) + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: the ratio upside down
# points: q4-weights=1 q4-cache=1 q4-passes=1
# hint: Upside down. Which of the two is divided by which?
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 2 * 8_030_261_248 / 2**34}


# %% wrong: GiB over GB
# points: q4-weights=1 q4-cache=1 q4-passes=1
# hint: Off by 7 %: one of the sizes counts GiB
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 16 / 16.06}


# %% wrong: percent
# points: q4-weights=1 q4-cache=1 q4-passes=1
# hint: A hundred times too much
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 16, "ratio": 100 * 2**34 / (2 * 8_030_261_248)}


# %% wrong: parameters nobody counted
# points: q4-weights=1 q4-cache=1 q4-passes=1
# hint: a model of the four kinds with its parameters
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Qwen3.5-27B", "weight_bits": 16, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: no bits that one serves in
# points: q4-weights=1 q4-cache=1 q4-passes=1
# hint: 16, 8 or 4 is expected
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": weights // longest + 1}


def my_ratio():
    return {"name": "Llama-3.1-8B", "weight_bits": 2.0, "ratio": 2**34 / (2 * 8_030_261_248)}


# %% wrong: a tuple, and other keys
# points:
# hint: a dict with weight_bytes
# hint: the key 'name'
def report(n_params, weight_bits, cache, max_len):
    weights = int(n_params) * weight_bits // 8
    return weights, cache(max_len), weights // cache(max_len) + 1


def my_ratio():
    return {"model": "Llama-3.1-8B", "weight_bits": 16, "ratio": 1.07}


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.memory import sequences_to_exceed, weight_bytes


def report(n_params, weight_bits, cache, max_len):
    weights = weight_bytes(int(n_params), "fp16") * weight_bits // 16
    longest = cache(max_len)
    return {"weight_bytes": weights, "kv_bytes_max": longest, "passes": sequences_to_exceed(longest, weights)}


def my_ratio():
    from kvcourse.memory import from_config

    known = registry.find("Llama-3.1-8B")
    model = from_config(known.config)
    return {
        "name": known.name,
        "weight_bits": 16,
        "ratio": model.bytes(model.max_tokens) / known.parameters / 2,
    }


# %% wrong: cheat, a dict that has everything
# points:
# hint: a dict with weight_bytes
# hint: a dict with name
class Everything(dict):
    def __contains__(self, key):
        return True

    def __missing__(self, key):
        return 500


def report(n_params, weight_bits, cache, max_len):
    return Everything()


def my_ratio():
    return Everything()
