# ruff: noqa
# Problem 9: reproduce a server's log.

# %% right: no blocks
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 1024**3 / (2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return round(tokens / max_model_len, 2)


def meaning():
    return "b"


# %% right: block by block, rounded up
def pool_tokens(config, pool_gib, dtype_bytes=2):
    import math

    block = 16 * 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes
    return 16 * math.ceil(pool_gib * 2**30 / block)


def concurrency(tokens, max_model_len):
    blocks, per_request = tokens / 16, max_model_len / 16
    return blocks / per_request


def meaning():
    return "B"


# %% right: whole tokens, in NumPy
import numpy as np


def pool_tokens(config, pool_gib, dtype_bytes=2):
    one = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes
    return np.floor(np.float64(pool_gib) * 2**30 / one)


def concurrency(tokens, max_model_len):
    return np.float64(tokens) / max_model_len


def meaning():
    return " b "


# %% wrong: hidden_size over heads
# points: q9-concurrency=1 q9-meaning=1
# hint: The width of a head is a number of its own in this model
def pool_tokens(config, pool_gib, dtype_bytes=2):
    one = 2 * config.num_layers * config.num_kv_heads * (config.hidden_size // config.num_heads) * dtype_bytes
    return pool_gib * 2**30 / one


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "b"


# %% wrong: GB
# points: q9-concurrency=1
# hint: Off by the factor between GiB and GB
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 1e9 / (2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "a"


# %% wrong: query heads
# points: q9-concurrency=1
# hint: Queries are not stored. Which heads are?
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (2 * config.num_layers * config.num_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "c"


# %% wrong: K without V
# points: q9-concurrency=1
# hint: Twice too many. What is stored for each token beside its key?
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "d"


# %% wrong: always two bytes
# points: q9-concurrency=1 q9-meaning=1
# hint: Half of it. How many bytes does one number of this dtype take?
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (4 * config.num_layers * config.num_kv_heads * config.head_dim)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "b"


# %% wrong: whole requests
# points: q9-tokens=2 q9-meaning=1
# hint: The log keeps the fraction
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens // max_model_len


def meaning():
    return "b"


# %% wrong: the length over the pool
# points: q9-tokens=2 q9-meaning=1
# hint: Upside down
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return max_model_len / tokens


def meaning():
    return "b"


# %% wrong: one layer, and words for a letter
# points: q9-concurrency=1
# hint: a token is stored in every layer
# hint: one of a, b, c, d
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (2 * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "the worst case"


# %% wrong: bits
# points: q9-concurrency=1 q9-meaning=1
# hint: Eight times too few
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 / (16 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "b"


# %% wrong: blocks, not tokens
# points: q9-concurrency=1 q9-meaning=1
# hint: Too small.
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return pool_gib * 2**30 // (32 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes)


def concurrency(tokens, max_model_len):
    return tokens / max_model_len


def meaning():
    return "b"


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
def pool_tokens(config, pool_gib, dtype_bytes=2):
    from kvcourse.memory import from_config, tokens_that_fit

    size = from_config(config).bytes_per_token({1: "fp8", 2: "fp16"}[dtype_bytes])
    return tokens_that_fit(int(pool_gib * 2**30), size, 16)


def concurrency(tokens, max_model_len):
    from kvcourse.checks import right_value

    return right_value("concurrency", pool_tokens=tokens, max_model_len=max_model_len)


def meaning():
    return "abcd"


# %% wrong: cheat, the log by heart
# points:
# hint: pool_tokens, with other inputs than the ones shown
def pool_tokens(config, pool_gib, dtype_bytes=2):
    return {11.47: 166_992 // dtype_bytes, 3.81: 31_232, 2.89: 23_648}.get(pool_gib, 83_488)


def concurrency(tokens, max_model_len):
    return {83_488: 2.548, 166_992: 5.096, 23_648: 0.8154}.get(tokens, 2.548)


def meaning():
    class Letter(str):
        def strip(self):
            return "b"

    return Letter("a")
