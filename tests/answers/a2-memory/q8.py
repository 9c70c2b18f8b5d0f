# ruff: noqa
# Problem 8: what a step must read.

# %% right: read by read
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    reads = weight_bytes
    for sequence in range(batch):
        reads += cache_bytes
    return reads / bytes_per_second * 1e3


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% right: in gigabytes, rounded
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    gigabytes = weight_bytes / 1e9 + batch * cache_bytes / 1e9
    return round(gigabytes / (bytes_per_second / 1e9) * 1000, 3)


def balance_batch(weight_bytes, cache_bytes):
    return round(weight_bytes / cache_bytes, 2)


# %% right: from the two parts, in NumPy
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    import numpy as np

    return np.dot([1.0, batch], [weight_bytes, cache_bytes]) / bytes_per_second * 1000


def balance_batch(weight_bytes, cache_bytes):
    base = decode_ms(weight_bytes, cache_bytes, 0, 1)
    return base / (decode_ms(weight_bytes, cache_bytes, 1, 1) - base)


# %% wrong: one cache for the batch
# points: q8-alone=1 q8-balance=1
# hint: Does it read one cache, too, or one for each sequence?
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * (weight_bytes + cache_bytes) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% wrong: spreads the caches over the batch
# points: q8-alone=1
# hint: A batch shares the weights. Whose is a cache?
# hint: Upside down
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * (weight_bytes + cache_bytes / batch) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return cache_bytes / weight_bytes


# %% wrong: weights for every sequence
# points: q8-alone=1 q8-balance=1
# hint: One pass of the weights serves all sequences of the batch
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * batch * (weight_bytes + cache_bytes) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% wrong: time for each token
# points: q8-alone=1 q8-balance=1
# hint: That is the time for each token of the batch
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * (weight_bytes + batch * cache_bytes) / bytes_per_second / batch


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% wrong: bits
# points:
# hint: Sizes are in bytes
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * 8 * (weight_bytes + batch * cache_bytes) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return 8 * weight_bytes / cache_bytes


# %% wrong: seconds
# points: q8-balance=1
# hint: The contract asks for milliseconds
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return (weight_bytes + batch * cache_bytes) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% wrong: the larger of the two
# points: q8-balance=1
# hint: Do two reads on one bus overlap, or add up?
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * max(weight_bytes, batch * cache_bytes) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% wrong: the weights alone
# points:
# hint: What else does attention read at every step?
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * weight_bytes / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / 2 / cache_bytes


# %% wrong: the caches alone
# points: q8-balance=1
# hint: These are the caches alone
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * batch * cache_bytes / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return weight_bytes / cache_bytes


# %% wrong: mixes GiB and GB in the balance
# points: q8-alone=1 q8-batch=2
# hint: Off by 7 %
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * (weight_bytes + batch * cache_bytes) / bytes_per_second


def balance_batch(weight_bytes, cache_bytes):
    return (weight_bytes / 1e9) / (cache_bytes / 2**30)


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse import memory


def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return 1000 * memory.decode_seconds(weight_bytes, batch * cache_bytes, float(bytes_per_second))


def balance_batch(weight_bytes, cache_bytes):
    return memory.tokens_to_reach(weight_bytes, cache_bytes) * 1.0


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    small = weight_bytes == 1000
    return {1: 10.5 if small else 5.1147, 4: 12.0, 32: 15.051}.get(batch, 1.0)


def balance_batch(weight_bytes, cache_bytes):
    return 20.0 if weight_bytes == 1000 else 14.957


# %% wrong: cheat, infinity
# points:
# hint: got:      inf
def decode_ms(weight_bytes, cache_bytes, batch, bytes_per_second):
    return float("inf")


def balance_batch(weight_bytes, cache_bytes):
    return float("inf")
