# ruff: noqa
# Problem 10: what the waste costs.

# %% right: floors, and a step in milliseconds
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return math.floor(pool_slots / slots_each)


# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    milliseconds = 1000 * (weight_bytes + batch * cache_bytes) / bytes_per_second
    return batch * 1000 / milliseconds


# cell: q10-why
def why_not_more():
    return "B"


# %% right: takes request after request
# cell: q10-fit
def at_once(pool_slots, slots_each):
    count = 0
    while pool_slots >= slots_each:
        pool_slots -= slots_each
        count += 1
    return count


# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return bytes_per_second / (weight_bytes / batch + cache_bytes)


# cell: q10-why
def why_not_more():
    return " b "


# %% right: NumPy
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return np.int64(pool_slots) // np.int64(slots_each)


# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    read = np.float64(weight_bytes) + np.float64(cache_bytes) * batch
    return np.round(batch * bytes_per_second / read, 2)


# cell: q10-why
def why_not_more():
    return "abcd"[1]


# %% wrong: rounds up
# points: q10-rate=2 q10-reason=1
# hint: Rounded up
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return -(-pool_slots // slots_each)


# %% wrong: rounds to the nearest
# points: q10-rate=2 q10-reason=1
# hint: Rounded up
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return round(pool_slots / slots_each)


# %% wrong: at least one
# points: q10-rate=2 q10-reason=1
# hint: at_once(20, 30)
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return max(1, pool_slots // slots_each)


# %% wrong: the quotient
# points: q10-rate=2 q10-reason=1
# hint: a whole number
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return pool_slots / slots_each


# %% wrong: over-commits by a tenth
# points: q10-rate=2 q10-reason=1
# hint: at_once(15728, 2048)
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return int(1.1 * pool_slots) // slots_each


# %% wrong: steps a second
# points: q10-requests=1 q10-reason=1
# hint: How many tokens does a step make?
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return bytes_per_second / (weight_bytes + batch * cache_bytes)


# %% wrong: one cache for all
# points: q10-requests=1 q10-reason=1
# hint: Each request's cache is read, not one for all
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return batch * bytes_per_second / (weight_bytes + cache_bytes)


# %% wrong: the weights for every request
# points: q10-requests=1
# hint: The weights are read once a step
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return batch * bytes_per_second / (batch * weight_bytes + batch * cache_bytes)


# cell: q10-why
def why_not_more():
    return "a"


# %% wrong: forgets the caches
# points: q10-requests=1 q10-reason=1
# hint: That is what the weights alone would allow
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return batch * bytes_per_second / weight_bytes


# %% wrong: forgets the weights
# points: q10-requests=1
# hint: That is what the caches alone would allow
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return batch * bytes_per_second / (batch * cache_bytes)


# cell: q10-why
def why_not_more():
    return "d"


# %% wrong: seconds of a step
# points: q10-requests=1
# hint: That is how long a step takes
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return (weight_bytes + batch * cache_bytes) / bytes_per_second


# cell: q10-why
def why_not_more():
    return "c"


# %% wrong: tokens a millisecond
# points: q10-requests=1 q10-reason=1
# hint: A second has 1000 ms
# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return batch * bytes_per_second / (weight_bytes + batch * cache_bytes) / 1000


# %% wrong: some wait
# points: q10-requests=1 q10-rate=2
# hint: Compute both steps
# cell: q10-why
def why_not_more():
    return "c"


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
# cell: q10-fit
def at_once(pool_slots, slots_each):
    from kvcourse.reservation import SlabAllocator

    return len([hole for hole in SlabAllocator(pool_slots, slots_each).holes() if hole.size == slots_each])


# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    from kvcourse.checks import right_value

    sizes = {"weight_bytes": weight_bytes, "kv_bytes": cache_bytes}
    return right_value("tokens_per_second", batch=batch, bytes_per_second=bytes_per_second, **sizes)


# cell: q10-why
def why_not_more():
    return "abcd"


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return {100: 3, 90: 3, 20: 0}.get(pool_slots, 7 if slots_each == 2048 else 30)


# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return {4: 333.33, 1: 95.238, 7: 385.70, 30: 1278.08}.get(batch, 1.0)


# cell: q10-why
def why_not_more():
    return "a"


# %% wrong: cheat, nan
# points:
# hint: got:      nan (float)
# hint: one of a, b, c, d
# cell: q10-fit
def at_once(pool_slots, slots_each):
    return float("nan")


# cell: q10-step
def tokens_per_second(batch, weight_bytes, cache_bytes, bytes_per_second):
    return float("nan")


# cell: q10-why
def why_not_more():
    return ""
