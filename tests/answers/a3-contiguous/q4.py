# ruff: noqa
# Problem 4: free, and yet no room.

# %% right: sorted
# cell: q4-room
def can_fit(extents, size):
    return bool(extents) and sorted(extents)[-1] >= size


# cell: q4-holes
def external_fragmentation(extents):
    if not extents:
        return 0
    return (sum(extents) - max(extents)) / sum(extents)


# %% right: NumPy
# cell: q4-room
def can_fit(extents, size):
    return bool((np.array(extents, dtype=int) >= size).any())


# cell: q4-holes
def external_fragmentation(extents):
    holes = np.array(extents, dtype=float)
    return 1 - holes.max() / holes.sum() if holes.size else np.float64(0)


# %% right: loops
# cell: q4-room
def can_fit(extents, size):
    for hole in extents:
        if hole >= size:
            return True
    return False


# cell: q4-holes
def external_fragmentation(extents):
    largest = total = 0
    for hole in extents:
        largest, total = max(largest, hole), total + hole
    try:
        return 1 - largest / total
    except ZeroDivisionError:
        return 0.0


# %% right: NumPy's own truth
# cell: q4-room
def can_fit(extents, size):
    return np.any(np.array(extents) >= size)


# cell: q4-holes
def external_fragmentation(extents):
    return float(1 - np.max(extents) / np.sum(extents)) if len(extents) else 0


# %% right: fractions
# cell: q4-room
def can_fit(extents, size):
    return bool(extents) and max(extents) >= size


# cell: q4-holes
from fractions import Fraction


def external_fragmentation(extents):
    return 1 - Fraction(max(extents), sum(extents)) if extents else Fraction(0)


# %% wrong: the sum is enough
# points: q4-share=2
# hint: A region lies in one piece: it fits if a hole has it
# cell: q4-room
def can_fit(extents, size):
    return sum(extents) >= size


# %% wrong: strictly larger
# points: q4-share=2
# hint: can_fit([4, 2, 2], 4)
# cell: q4-room
def can_fit(extents, size):
    return any(hole > size for hole in extents)


# %% wrong: the first hole decides
# points: q4-share=2
# hint: the largest hole has 7
# cell: q4-room
def can_fit(extents, size):
    return bool(extents) and extents[0] >= size


# %% wrong: every hole must do
# points: q4-share=2
# hint: can_fit([4, 2, 2], 4)
# cell: q4-room
def can_fit(extents, size):
    return bool(extents) and all(hole >= size for hole in extents)


# %% wrong: the hole itself
# points: q4-share=2
# hint: expected: True or False
# cell: q4-room
def can_fit(extents, size):
    return next((hole for hole in extents if hole >= size), None)


# %% wrong: the largest hole's share
# points: q4-fit=1
# hint: That share one request can have
# cell: q4-holes
def external_fragmentation(extents):
    return max(extents) / sum(extents) if extents else 0.0


# %% wrong: percent
# points: q4-fit=1
# hint: a fraction is asked for
# cell: q4-holes
def external_fragmentation(extents):
    return 100 * (1 - max(extents) / sum(extents)) if extents else 0.0


# %% wrong: counts holes
# points: q4-fit=1
# hint: That counts holes
# cell: q4-holes
def external_fragmentation(extents):
    return 1 - 1 / len(extents) if extents else 0.0


# %% wrong: all is lost where nothing is free
# points: q4-fit=1
# hint: Nothing is free, so nothing free is lost
# cell: q4-holes
def external_fragmentation(extents):
    return 1 - max(extents) / sum(extents) if extents else 1.0


# %% wrong: slots, not a share
# points: q4-fit=1
# hint: Which share of the free ones?
# cell: q4-holes
def external_fragmentation(extents):
    return sum(extents) - max(extents, default=0)


# %% wrong: falls over an empty list
# points: q4-fit=1
# hint: ZeroDivisionError
# cell: q4-holes
def external_fragmentation(extents):
    return 1 - max(extents, default=0) / sum(extents)


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
# cell: q4-room
from kvcourse.reservation import can_fit


# cell: q4-holes
from kvcourse.reservation import external_fragmentation


# %% wrong: cheat, always the same
# points:
# hint: can_fit([4, 2, 2], 5)
# hint: external_fragmentation([10])
# cell: q4-room
def can_fit(extents, size):
    return True


# cell: q4-holes
def external_fragmentation(extents):
    return 0.5


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
# cell: q4-room
def can_fit(extents, size):
    return {4: True, 5: False, 1: False, 7: True}.get(size, False)


# cell: q4-holes
def external_fragmentation(extents):
    return {0: 0.0, 10: 0.0, 8: 0.5, 20: 0.4, 40: 0.25}.get(sum(extents), 0.5)


# %% wrong: cheat, the package's own in a list
# points:
# hint: here you build it yourself, without kvcourse
# cell: q4-room
from kvcourse.reservation import can_fit as _ready, external_fragmentation as _ready2

tools = []
tools.append(_ready)
tools.append(_ready2)


def can_fit(extents, size):
    return tools[0](extents, size)


# cell: q4-holes
def external_fragmentation(extents):
    return tools[1](extents)
