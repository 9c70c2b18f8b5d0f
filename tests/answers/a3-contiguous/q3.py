# ruff: noqa
# Problem 3: how many slabs a pool holds.

# %% right: in bytes
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 1024**3) // (kib_per_token * 1024)
    requests = slots // max_tokens
    left = slots - requests * max_tokens
    return {"slots": slots, "requests": requests, "left": left, "left_percent": left / slots * 100}


# %% right: NumPy
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = np.int64(np.floor(pool_gib * 2.0**20 / kib_per_token))
    requests, left = np.divmod(slots, max_tokens)
    return {"left_percent": 100 * left / slots, "left": left, "requests": requests, "slots": slots}


# %% right: takes slab after slab
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = left = math.floor(pool_gib * 1024 * 1024 / kib_per_token)
    requests = 0
    while left >= max_tokens:
        left -= max_tokens
        requests += 1
    return {"slots": slots, "requests": requests, "left": left, "left_percent": round(100 * left / slots, 4)}


# %% wrong: 12 GB for 12 GiB
# points:
# hint: Is the pool counted in GB?
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 1e9 // (kib_per_token * 1024))
    requests, left = divmod(slots, max_tokens)
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / slots}


# %% wrong: steps of 1000 throughout
# points:
# hint: Both sizes count in steps of 1024
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 10**6 // kib_per_token)
    requests, left = divmod(slots, max_tokens)
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / slots}


# %% wrong: rounds requests up
# points: q3-slots=1 q3-left=1 q3-percent=1
# hint: Rounded up. Does the last one have room, all of it?
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    requests, left = -(-slots // max_tokens), slots % max_tokens
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / slots}


# %% wrong: rounds requests to the nearest
# points: q3-slots=1 q3-left=1 q3-percent=1
# hint: Rounded up. Does the last one have room, all of it?
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    left = slots % max_tokens
    requests = round(slots / max_tokens)
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / slots}


# %% wrong: a fraction, not percent
# points: q3-slots=1 q3-requests=1 q3-left=1
# hint: A hundred times too small
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    requests, left = divmod(slots, max_tokens)
    return {"slots": slots, "requests": requests, "left": left, "left_percent": left / slots}


# %% wrong: percent of a slab
# points: q3-slots=1 q3-requests=1 q3-left=1
# hint: That is a share of one slab
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    requests, left = divmod(slots, max_tokens)
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / max_tokens}


# %% wrong: what one more slab lacks
# points: q3-slots=1 q3-requests=1
# hint: That many slots are missing for one more slab
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    requests = slots // max_tokens
    left = (requests + 1) * max_tokens - slots
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / slots}


# %% wrong: slots rounded up
# points: q3-requests=1
# hint: Rounded up
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 / kib_per_token) + 1
    requests, left = divmod(slots, max_tokens)
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100.2 * left / slots + 0.05}


# %% wrong: slots and not requests
# points: q3-slots=1
# hint: A request reserves many
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    return {"slots": slots, "requests": slots, "left": 1, "left_percent": 1}


# %% wrong: nothing is left over
# points: q3-slots=1 q3-requests=1
# hint: Does a whole number of slabs fill the pool?
def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    return {"slots": slots, "requests": slots // max_tokens, "left": 0, "left_percent": 0}


# %% wrong: cheat, the paper's numbers
# points:
# hint: slabs(1, 1024, 100)['slots']
def slabs(pool_gib, kib_per_token, max_tokens):
    return {"slots": 15_728, "requests": 7, "left": 1392, "left_percent": 8.85}


# %% wrong: cheat, the package's own slabs
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.reservation import SlabAllocator


def slabs(pool_gib, kib_per_token, max_tokens):
    slots = int(pool_gib * 2**20 // kib_per_token)
    holes = SlabAllocator(slots, max_tokens).holes()
    requests = sum(hole.size == max_tokens for hole in holes)
    left = slots - requests * max_tokens
    return {"slots": slots, "requests": requests, "left": left, "left_percent": 100 * left / slots}


# %% wrong: cheat, nan
# points:
# hint: a whole number
def slabs(pool_gib, kib_per_token, max_tokens):
    return dict.fromkeys(("slots", "requests", "left", "left_percent"), float("nan"))
