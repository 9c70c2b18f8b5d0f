# ruff: noqa
# Problem 7: its longest context against its weights.

# %% right: term by term
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 0
    for layer in range(config.num_layers):
        cache += 2 * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return dict(ratio=cache / weights, kv_bytes_max=cache, weight_bytes=weights)


# %% right: a float of parameters, as it comes
def report(config, n_params, dtype_bytes, max_len):
    result = {"weight_bytes": n_params * dtype_bytes, "note": "in bytes"}
    result["kv_bytes_max"] = (
        2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    )
    result["ratio"] = result["kv_bytes_max"] / result["weight_bytes"]
    return result


# %% right: NumPy, and helpers
import numpy as np


def weights_of(n_params, size):
    return np.int64(n_params) * size


def report(config, n_params, dtype_bytes, max_len):
    cache = np.int64(2) * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    weights = weights_of(n_params, dtype_bytes)
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": np.float64(cache) / np.float64(weights)}


# %% wrong: the ratio upside down
# points: q7-weights=1 q7-cache=2
# hint: Upside down. Which of the two is divided by which?
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": weights / cache}


# %% wrong: GiB over GB
# points: q7-weights=1 q7-cache=2
# hint: Off by 7 %: one of the sizes counts GiB
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": (cache / 2**30) / (weights / 1e9)}


# %% wrong: twice the context
# points: q7-weights=1
# hint: Twice too much
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len * 2
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": cache / weights}


# %% wrong: query heads
# points: q7-weights=1
# hint: Queries are not stored. Which heads are?
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_heads * config.head_dim * dtype_bytes * max_len
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": cache / weights}


# %% wrong: parameters, not bytes
# points: q7-cache=2
# hint: How many bytes does one parameter take?
def report(config, n_params, dtype_bytes, max_len):
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return {"weight_bytes": int(n_params), "kv_bytes_max": cache, "ratio": cache / int(n_params)}


# %% wrong: percent
# points: q7-weights=1 q7-cache=2
# hint: A hundred times too much
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": 100 * cache / weights}


# %% wrong: gigabytes
# points: q7-ratio=1
# hint: expected: a whole number
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return {"weight_bytes": weights / 1e9, "kv_bytes_max": cache / 1e9, "ratio": cache / weights}


# %% wrong: one token
# points: q7-weights=1
# hint: That is the size for each token
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": cache / weights}


# %% wrong: the wrong keys
# points:
# hint: the key 'weight_bytes'
def report(config, n_params, dtype_bytes, max_len):
    weights = int(n_params) * dtype_bytes
    cache = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes * max_len
    return {"weights": weights, "cache": cache}


# %% wrong: a tuple
# points:
# hint: a dict with weight_bytes
def report(config, n_params, dtype_bytes, max_len):
    return int(n_params) * dtype_bytes, 0, 0.0


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
import kvcourse.memory as m


def report(config, n_params, dtype_bytes, max_len):
    name = {1: "fp8", 2: "fp16", 4: "fp32"}[dtype_bytes]
    cache, weights = m.from_config(config).bytes(max_len, dtype=name), m.weight_bytes(n_params, name)
    return {"weight_bytes": weights, "kv_bytes_max": cache, "ratio": cache / weights}


# %% wrong: cheat, nan
# points:
# hint: nan
def report(config, n_params, dtype_bytes, max_len):
    nan = float("nan")
    return {"weight_bytes": nan, "kv_bytes_max": nan, "ratio": nan}


# %% wrong: cheat, a dict that has everything
# points:
# hint: a dict with weight_bytes
class Everything(dict):
    def __contains__(self, key):
        return True

    def __missing__(self, key):
        return 13_476_831_232


def report(config, n_params, dtype_bytes, max_len):
    return Everything()
