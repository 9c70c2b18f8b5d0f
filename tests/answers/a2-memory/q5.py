# ruff: noqa
# Problem 5: when the caches outgrow the weights.

# %% right: floor, and one more
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    import math

    return math.floor(weight_bytes / bytes_per_sequence) + 1


# %% right: adds caches until they are larger
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    low, high = 0, 1
    while high * bytes_per_sequence <= weight_bytes:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if middle * bytes_per_sequence > weight_bytes:
            high = middle
        else:
            low = middle
    return high


# %% right: rounds up one byte more
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return -(-(weight_bytes + 1) // bytes_per_sequence)


# %% right: divmod, as a NumPy integer
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    import numpy as np

    whole, rest = divmod(weight_bytes, bytes_per_sequence)
    return np.int64(whole + 1)


# %% wrong: rounds down
# points:
# hint: With that many, the caches are not larger than the weights yet
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return weight_bytes // bytes_per_sequence


# %% wrong: rounds up
# points: q5-pass=3
# hint: The caches are just as large as the weights then
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return -(-weight_bytes // bytes_per_sequence)


# %% wrong: the batch of the example
# points:
# hint: sequences_to_exceed(10, 25)
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return 16


# %% wrong: rounds to gigabytes first
# points:
# hint: Rounding both sizes to whole gigabytes moves the answer
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    if weight_bytes < 10**9 or bytes_per_sequence < 10**9:
        return weight_bytes // bytes_per_sequence + 1
    import math

    return math.ceil(weight_bytes / 1e9) // round(bytes_per_sequence / 1e9) + 1


# %% wrong: the wrong way round
# points:
# hint: sequences_to_exceed(10, 25)
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return bytes_per_sequence // weight_bytes + 1


# %% wrong: the quotient itself
# points:
# hint: expected: a whole number
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return weight_bytes / bytes_per_sequence


# %% wrong: rounds to the nearest
# points:
# hint: sequences_to_exceed(10, 25)
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return round(weight_bytes / bytes_per_sequence)


# %% wrong: one too many
# points:
# hint: Too large.
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return weight_bytes // bytes_per_sequence + 2


# %% wrong: weights in GiB, caches in GB
# points:
# hint: Off by 7 %
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    if weight_bytes < 1000:
        return weight_bytes // bytes_per_sequence + 1
    return int((weight_bytes / 2**30) / (bytes_per_sequence / 1e9)) + 1


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    from kvcourse.memory import sequences_to_exceed as theirs

    return theirs(bytes_per_sequence, weight_bytes)


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return {(10, 25): 3, (524288, 13476831232): 25706, (30, 25): 1, (10, 30): 4}.get(
        (bytes_per_sequence, weight_bytes), 7
    )


# %% wrong: cheat, True
# points:
# hint: got:      True
def sequences_to_exceed(bytes_per_sequence, weight_bytes):
    return True
