# ruff: noqa
# Problem 2: one vector for all heads.


# %% right: term by term
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    latent = num_layers * rank * dtype_bytes
    rotary_key = num_layers * rope_dim * dtype_bytes
    return latent + rotary_key


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    keys = num_layers * num_heads * (nope_dim + rope_dim) * dtype_bytes
    values = num_layers * num_heads * v_dim * dtype_bytes
    return keys + values


def as_heads(rank, rope_dim, head_dim):
    return rank / head_dim / 2 + rope_dim / head_dim / 2


# %% right: layer by layer
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return sum(rank * dtype_bytes + rope_dim * dtype_bytes for _ in range(num_layers))


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    total = 0
    for _ in range(num_layers):
        for _ in range(num_heads):
            total += (nope_dim + rope_dim) * dtype_bytes
            total += v_dim * dtype_bytes
    return total


def as_heads(rank, rope_dim, head_dim):
    one_head = latent_bytes(1, head_dim, head_dim)
    return latent_bytes(1, rank, rope_dim) / one_head


# %% right: NumPy
import numpy as np


def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return np.int64(num_layers) * np.sum([rank, rope_dim]) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return np.prod([num_layers, num_heads, nope_dim + rope_dim + v_dim, dtype_bytes], dtype=np.int64)


def as_heads(rank, rope_dim, head_dim):
    return np.float64(rank + rope_dim) / np.float64(head_dim + head_dim)


# %% wrong: a factor 2 for K and V
# points: q2-expanded=1 q2-heads=1
# hint: Are K and V two vectors here?
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return 2 * num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: the rotary key left out
# points: q2-expanded=1
# hint: The latent is not all that a token leaves behind
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * rank * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return rank / (2 * head_dim)


# %% wrong: one layer
# points: q2-expanded=1 q2-heads=1
# hint: one layer's share
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: the latent twice, the rotary key once
# points: q2-expanded=1 q2-heads=1
# hint: How often is it stored?
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (2 * rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: values as wide as keys
# points: q2-latent=1 q2-heads=1
# hint: A key has a rotary part. Has a value?
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return 2 * num_layers * num_heads * (nope_dim + rope_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: keys without their rotary part
# points: q2-latent=1 q2-heads=1
# hint: A key has two parts
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: one head
# points: q2-latent=1 q2-heads=1
# hint: one head's share
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: two bytes whatever is asked
# points: q2-heads=1
# hint: latent_bytes(61, 512, 64, 1)
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * 2


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * 2


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / (2 * head_dim)


# %% wrong: keys of a head alone
# points: q2-latent=1 q2-expanded=1
# hint: What does one head keep of a token beside its key?
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return (rank + rope_dim) / head_dim


# %% wrong: rounded heads
# points: q2-latent=1 q2-expanded=1
# hint: keep the fraction
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return round((rank + rope_dim) / (2 * head_dim))


# %% wrong: upside down
# points: q2-latent=1 q2-expanded=1
# hint: Upside down
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return num_layers * (rank + rope_dim) * dtype_bytes


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return num_layers * num_heads * (nope_dim + rope_dim + v_dim) * dtype_bytes


def as_heads(rank, rope_dim, head_dim):
    return 2 * head_dim / (rank + rope_dim)


# %% wrong: cheat, the package's latents
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.memory import CacheModel, FullAttention, LatentAttention


def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return CacheModel((LatentAttention(rank, rope_dim),) * num_layers).bytes(1) * dtype_bytes // 2


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    layer = FullAttention(num_heads, nope_dim + rope_dim, v_dim)
    return CacheModel((layer,) * num_layers).bytes(1) * dtype_bytes // 2


def as_heads(rank, rope_dim, head_dim):
    return latent_bytes(1, rank, rope_dim) / (4 * head_dim)


# %% wrong: cheat, nan
# points:
# hint: nan
def latent_bytes(num_layers, rank, rope_dim, dtype_bytes=2):
    return float("nan")


def expanded_bytes(num_layers, num_heads, nope_dim, rope_dim, v_dim, dtype_bytes=2):
    return float("nan")


def as_heads(rank, rope_dim, head_dim):
    return float("nan")
