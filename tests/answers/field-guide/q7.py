# ruff: noqa
# Problem 7: what the flag leaves.


# %% right: exact fractions
from fractions import Fraction


def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    share = Fraction(fraction).limit_denominator(10_000)
    if engine == "TensorRT-LLM":
        room = share * (total - weights - other)
    else:
        room = share * total - weights
        room -= other if engine == "vLLM" else max(other - (1 - share) * total, 0)
    blocks = max(room, 0) // (token_bytes * block)
    return int(blocks) * block


# %% right: tokens first, then blocks
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    rules = {
        "vLLM": lambda: fraction * total - weights - other,
        "SGLang": lambda: (
            fraction * total - weights if other <= (1 - fraction) * total else total - weights - other
        ),
        "TensorRT-LLM": lambda: (total - weights - other) * fraction,
    }
    tokens = int(rules[engine]() / token_bytes)
    return tokens - tokens % block if tokens > 0 else 0


# %% right: NumPy
import numpy as np


def room_of(engine, total, weights, other, fraction):
    m, w, a = np.float64(total), np.float64(weights), np.float64(other)
    return {
        "vLLM": fraction * m - w - a,
        "SGLang": np.minimum(fraction * m - w, m - w - a),
        "TensorRT-LLM": fraction * (m - w - a),
    }[engine]


def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    room = np.maximum(room_of(engine, total, weights, other, fraction), 0)
    return np.int64(np.floor(room / token_bytes / block)) * block


# %% wrong: vLLM's rule for all
# points: q7-vllm=1
# hint: That is another server's rule
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = fraction * total - weights - other
    else:
        room = fraction * total - weights - other
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: TensorRT-LLM's rule for all
# points: q7-tensorrt=1
# hint: That is another server's rule
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * left
    elif engine == "SGLang":
        room = fraction * left
    else:
        room = fraction * left
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: SGLang pays activations from its share
# points: q7-vllm=1 q7-tensorrt=1 q7-nothing=1
# hint: That is another server's rule
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = fraction * total - weights - other
    else:
        room = fraction * left
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: SGLang's activations need no room
# points: q7-vllm=1 q7-tensorrt=1 q7-nothing=1
# hint: Do the activations fit
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = fraction * total - weights
    else:
        room = fraction * left
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: activations forgotten
# points:
# hint: Something besides the weights needs memory
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights
    elif engine == "SGLang":
        room = fraction * total - weights
    else:
        room = fraction * (total - weights)
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: weights forgotten
# points:
# hint: The weights lie on the same GPU
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - other
    elif engine == "SGLang":
        room = fraction * total
    else:
        room = fraction * (total - other)
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: the share of all memory
# points:
# hint: What else lies on the GPU?
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total
    elif engine == "SGLang":
        room = fraction * total
    else:
        room = fraction * total
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: tokens outside of blocks
# points:
# hint: Tokens come in whole blocks
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = min(fraction * total - weights, left)
    else:
        room = fraction * left
    return max(int(room // token_bytes), 0)


# %% wrong: blocks for tokens
# points:
# hint: How many tokens are they?
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = min(fraction * total - weights, left)
    else:
        room = fraction * left
    return max(int(room // (block * token_bytes)), 0)


# %% wrong: rounds up to a block
# points:
# hint: The last block does not fit
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = min(fraction * total - weights, left)
    else:
        room = fraction * left
    return -int(-room // (block * token_bytes)) * block


# %% wrong: less than nothing
# points: q7-vllm=1 q7-sglang=1 q7-tensorrt=1
# hint: May it have less?
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    if engine == "vLLM":
        room = fraction * total - weights - other
    elif engine == "SGLang":
        room = min(fraction * total - weights, left)
    else:
        room = fraction * left
    return int(room // (block * token_bytes)) * block


# %% wrong: takes the fraction as percent
# points:
# hint: Too small
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    left = total - weights - other
    share = fraction / 100
    room = {
        "vLLM": share * total - weights - other,
        "SGLang": share * total - weights,
        "TensorRT-LLM": share * left,
    }[engine]
    return max(int(room // (block * token_bytes)), 0) * block


# %% wrong: cheat, the package's engines
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.engines import Device, find_engine


def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    room = find_engine(engine).pool_bytes(Device(total, weights, other), fraction)
    return room // (block * token_bytes) * block


# %% wrong: cheat, the numbers of the example
# points:
# hint: pool_tokens('vLLM'
def pool_tokens(engine, total, weights, other, fraction, token_bytes, block):
    return {"vLLM": 4400, "SGLang": 4992, "TensorRT-LLM": 4848}[engine]
