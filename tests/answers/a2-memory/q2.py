# ruff: noqa
# Problem 2: the formula.

# %% right: NumPy's integers
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    import numpy as np

    return np.prod(
        np.array([2, num_layers, num_kv_heads, head_dim, tokens, dtype_bytes, batch], dtype=np.int64)
    )


# %% right: adds up layer by layer
def one_layer(heads, width, tokens):
    keys = heads * width * tokens
    values = heads * width * tokens
    return keys + values


def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    total = 0
    for layer in range(num_layers):
        total += one_layer(num_kv_heads, head_dim, tokens)
    return total * dtype_bytes * batch


# %% right: with math.prod, imported above
from math import prod


def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return prod((2, num_layers, num_kv_heads, head_dim, tokens, dtype_bytes, batch))


# %% right: a lambda and a constant
K_AND_V = 2
kv_bytes = lambda L, n, d, t, dtype_bytes=2, batch=1: K_AND_V * L * n * d * t * dtype_bytes * batch


# %% right: a whole float
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2.0 * num_layers * num_kv_heads * head_dim * tokens * dtype_bytes * batch


# %% wrong: forgets that K and V are both stored
# points:
# hint: What is stored for each token beside its key?
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return num_layers * num_kv_heads * head_dim * tokens * dtype_bytes * batch


# %% wrong: gigabytes as a float
# points:
# hint: expected: a whole number
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * num_kv_heads * head_dim * tokens * dtype_bytes * batch / 1e9


# %% wrong: one KV head
# points:
# hint: That is one head's share. How many heads does a layer store?
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * head_dim * tokens * dtype_bytes * batch


# %% wrong: one layer
# points:
# hint: That is one layer's share
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_kv_heads * head_dim * tokens * dtype_bytes * batch


# %% wrong: counts numbers, not bytes
# points:
# hint: How many bytes does one stored number take?
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * num_kv_heads * head_dim * tokens * batch


# %% wrong: bits
# points:
# hint: Is the dtype's size given in bits or in bytes?
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * num_kv_heads * head_dim * tokens * dtype_bytes * 8 * batch


# %% wrong: one cache for all sequences
# points: q2-token=2 q2-sequence=1
# hint: That is one sequence's cache. How many sequences are there?
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * num_kv_heads * head_dim * tokens * dtype_bytes


# %% wrong: always two bytes
# points: q2-token=2 q2-sequence=1
# hint: How many bytes does one number of this dtype take?
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 4 * num_layers * num_kv_heads * head_dim * tokens * batch


# %% wrong: one token, whatever is asked
# points: q2-token=2
# hint: That is the size for each token
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * num_kv_heads * head_dim * dtype_bytes * batch


# %% wrong: a cache of one token less
# points:
# hint: kv_bytes(3, 2, 4, tokens=1)
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return 2 * num_layers * num_kv_heads * head_dim * max(tokens - 1, 0) * dtype_bytes * batch


# %% wrong: cheat, the package's function under another name
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.memory import kv_bytes as theirs


def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return theirs(
        num_layers, num_kv_heads, head_dim, tokens, {1: "fp8", 2: "fp16", 4: "fp32"}[dtype_bytes], batch
    )


# %% wrong: cheat, the package inside a helper of one's own
# points:
# hint: here you build it yourself, without kvcourse
def helper(shape, **rest):
    import kvcourse.checks.mistakes as m

    return m.right_value("kv_bytes", **shape, **rest)


def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    shape = {"num_layers": num_layers, "num_kv_heads": num_kv_heads, "head_dim": head_dim}
    return int(helper(shape, tokens=tokens, dtype_bytes=dtype_bytes, batch=batch or None))


# %% wrong: cheat, the package by a name that is put together
# points:
# hint: has no place in the cell of `kv_bytes`
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    import importlib

    memory = importlib.import_module("kv" + "course.memory")
    return memory.kv_bytes(
        num_layers, num_kv_heads, head_dim, tokens, {1: "fp8", 2: "fp16", 4: "fp32"}[dtype_bytes], batch
    )


# %% wrong: cheat, everything from the package with a star
# points:
# hint: is ready-made
from kvcourse.units import *
from kvcourse.memory import *


def bytes_of(*shape):
    return part_of(*shape)


kv = bytes_of
try:
    from kvcourse.memory import kv_bytes as part_of
except ImportError:
    part_of = None


def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    return kv(
        num_layers, num_kv_heads, head_dim, tokens, {1: "fp8", 2: "fp16", 4: "fp32"}[dtype_bytes], batch
    )


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: kv_bytes for one token, with other inputs than the ones shown
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    shown = {
        (3, 1, 2, 1): 96, (32, 1, 2, 1): 524288, (64, 1, 2, 1): 262144, (3, 5, 2, 1): 480, (3, 0, 2, 1): 0,
        (3, 4096, 2, 1): 393216, (3, 5, 4, 1): 960, (3, 5, 2, 16): 7680, (3, 5, 1, 3): 720, (3, 5, 2, 0): 0,
    }  # fmt: skip
    return shown.get((num_layers, tokens, dtype_bytes, batch), 0)


# %% wrong: cheat, a number that is equal to every number
# points:
# hint: expected: a whole number
def kv_bytes(num_layers, num_kv_heads, head_dim, tokens, dtype_bytes=2, batch=1):
    class Any(int):
        def __ne__(self, other):
            return False

        __eq__ = lambda self, other: True
        __hash__ = int.__hash__

    return Any(96)
