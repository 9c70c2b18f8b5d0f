# ruff: noqa
# Problem 1: used and reserved.


# %% right: a loop over the layers, a set of blocks
def kv_hybrid(windows, tokens, layer_bytes):
    used = reserved = 0
    for window in windows:
        reserved += tokens * layer_bytes
        if window is None or window > tokens:
            used += tokens * layer_bytes
        else:
            used += window * layer_bytes
    return {"reserved": reserved, "used": used}


def window_blocks(tokens, window, block):
    blocks = set()
    for token in range(tokens):
        if token >= tokens - window:
            blocks.add(token // block)
    return len(blocks)


# %% right: NumPy, a slice of a range
import numpy as np


def kv_hybrid(windows, tokens, layer_bytes):
    limits = np.array([np.iinfo(np.int64).max if w is None else w for w in windows], dtype=np.int64)
    kept = np.minimum(limits, tokens)
    return {"used": kept.sum() * layer_bytes, "reserved": np.int64(tokens) * len(windows) * layer_bytes}


def window_blocks(tokens, window, block):
    kept = range(tokens)[-window:]
    return kept[-1] // block + 1 - kept[0] // block


# %% right: a helper for one layer, and blocks that were given up
def kept(window, tokens):
    return tokens if window is None else min(window, tokens)


def kv_hybrid(windows, tokens, layer_bytes):
    sizes = [layer_bytes * kept(w, tokens) for w in windows]
    return dict(used=sum(sizes), reserved=layer_bytes * tokens * len(sizes), note="in bytes")


def window_blocks(tokens, window, block):
    held = -(-tokens // block)
    outside = max(tokens - window, 0)
    return held - outside // block


# %% wrong: ignores the windows
# points: q1-reserved=1 q1-blocks=1
# hint: counts every token in every layer
def kv_hybrid(windows, tokens, layer_bytes):
    whole = len(windows) * tokens * layer_bytes
    return {"used": whole, "reserved": whole}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: the window in every layer
# points: q1-blocks=1
# hint: Not every layer of this model has a window
def kv_hybrid(windows, tokens, layer_bytes):
    window = min(w for w in [*windows, 10**9] if w)
    used = len(windows) * min(tokens, window) * layer_bytes
    return {"used": used, "reserved": used}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: the window where the text is shorter
# points: q1-reserved=1 q1-blocks=1
# hint: Too large
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(tokens if w is None else w for w in windows) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: the window beside the text
# points: q1-reserved=1 q1-blocks=1
# hint: Too large
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(tokens + (w or 0) for w in windows) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: leaves out the layers without a window
# points: q1-reserved=1 q1-blocks=1
# hint: Which layers are missing?
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w) for w in windows if w) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: reserved is what is used
# points: q1-used=2 q1-blocks=1
# hint: What does a server set aside
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return {"used": used, "reserved": used}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: the two sizes exchanged
# points: q1-blocks=1
# hint: What does a server set aside
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return {"reserved": used, "used": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return (tokens - 1) // block - max(0, tokens - window) // block + 1


# %% wrong: the window over the block, rounded up
# points: q1-used=2 q1-reserved=1
# hint: need not begin where a block does
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return -(-min(tokens, window) // block)


# %% wrong: always one block more
# points: q1-used=2 q1-reserved=1
# hint: A block too many
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return -(-min(tokens, window) // block) + 1


# %% wrong: one token too many
# points: q1-used=2 q1-reserved=1
# hint: A block too many
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return tokens // block - max(0, tokens - window) // block + 1


# %% wrong: all blocks of the text
# points: q1-used=2 q1-reserved=1
# hint: All blocks of the text
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return {"used": used, "reserved": len(windows) * tokens * layer_bytes}


def window_blocks(tokens, window, block):
    return -(-tokens // block)


# %% wrong: a pair for a dict, whole blocks alone
# points:
# hint: a dict with used
# hint: A block that holds one token of the window
def kv_hybrid(windows, tokens, layer_bytes):
    used = sum(min(tokens, w or tokens) for w in windows) * layer_bytes
    return used, len(windows) * tokens * layer_bytes


def window_blocks(tokens, window, block):
    return min(tokens, window) // block


# %% wrong: cheat, the package's layers
# points:
# hint: here you build it yourself, without kvcourse
def kv_hybrid(windows, tokens, layer_bytes):
    from kvcourse.checks.config_files import hybrid
    from kvcourse.memory.reserved import reserved

    model = hybrid(windows, layer_bytes)
    return {"used": model.bytes(tokens), "reserved": reserved(model).bytes(tokens)}


from kvcourse.checks.catalog import serving


def window_blocks(tokens, window, block):
    return serving._window_blocks(type("I", (), {"tokens": tokens, "window": window, "block": block}))


# %% wrong: cheat, a number that is every number
# points:
# hint: kv_hybrid(3 layers, 5, 12)['used']
# hint: a value of type Any
class Any(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def kv_hybrid(windows, tokens, layer_bytes):
    return {"used": Any(1), "reserved": Any(1)}


def window_blocks(tokens, window, block):
    return Any(1)
