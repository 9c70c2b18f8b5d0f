# ruff: noqa
# Problem 8: FLOPs of a decode step, and the crossover.

# %% right: matrix by matrix
def flops_decode(config, tokens):
    h, h_kv, dim, d, f = (
        config.num_heads, config.num_kv_heads, config.head_dim, config.hidden_size, config.intermediate_size,
    )  # fmt: skip
    shapes = [(h * dim, d), (h_kv * dim, d), (h_kv * dim, d), (d, h * dim), (f, d), (f, d), (d, f)]
    layer = sum(2 * rows * columns for rows, columns in shapes) + 2 * 2 * h * dim * tokens
    return config.num_layers * layer + 2 * d * config.vocab_size


def crossover(config):
    weights = flops_decode(config, 0)
    return weights / (4 * config.num_layers * config.num_heads * config.head_dim)


# %% right: floats, and a crossover rounded up
def flops_decode(config, tokens):
    c = config
    per_layer = c.hidden_size * c.head_dim * (2.0 * c.num_heads + 2.0 * c.num_kv_heads)
    per_layer += 3.0 * c.hidden_size * c.intermediate_size
    params = c.num_layers * per_layer + c.hidden_size * c.vocab_size
    return 2e9 * (params / 1e9) + 4.0 * c.num_layers * c.num_heads * c.head_dim * tokens


def crossover(config):
    low, high = 1, 2
    while flops_decode(config, high) < 2 * flops_decode(config, 0):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if flops_decode(config, middle) < 2 * flops_decode(config, 0):
            low = middle
        else:
            high = middle
    return high


# %% right: counts the softmax too, which stays within the tolerance
def flops_decode(config, tokens):
    c = config
    attention = 2 * c.num_layers * c.num_heads * tokens * (2 * c.head_dim)
    softmax = c.num_layers * c.num_heads * tokens / 2
    weights = (
        c.num_layers
        * c.hidden_size
        * (2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size)
    )
    return 2 * (weights + c.hidden_size * c.vocab_size) + attention + softmax * (c.head_dim > 30)


def crossover(config):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    weights = c.hidden_size * (c.num_layers * layer + c.vocab_size)
    return weights / (2 * c.num_layers * c.num_heads * c.head_dim)


# %% wrong: counts multiply-adds
# points: q8-weights=1 q8-attention=0.5 q8-crossover=1
# hint: a multiply-add is two FLOPs
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    weights = c.hidden_size * (c.num_layers * layer + c.vocab_size)
    return weights + 2 * c.num_layers * c.num_heads * c.head_dim * tokens


def crossover(config):
    fixed = flops_decode(config, 0)
    return fixed / (flops_decode(config, 1) - fixed)


# %% wrong: KV heads in the attention
# points:
# hint: Sharing K and V saves memory, not arithmetic
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    weights = c.hidden_size * (c.num_layers * layer + c.vocab_size)
    return 2 * weights + 4 * c.num_layers * c.num_kv_heads * c.head_dim * tokens


def crossover(config):
    fixed = flops_decode(config, 0)
    return fixed / (flops_decode(config, 1) - fixed)


# %% wrong: scores without the weighted sum
# points: q8-attention=0.5
# hint: Attention has two products for each head
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    weights = c.hidden_size * (c.num_layers * layer + c.vocab_size)
    return 2 * weights + 2 * c.num_layers * c.num_heads * c.head_dim * tokens


def crossover(config):
    fixed = flops_decode(config, 0)
    return fixed / (flops_decode(config, 1) - fixed)


# %% wrong: no attention at all
# points: q8-crossover=1
# hint: What does the new query do with every stored key and value?
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    return 2 * c.hidden_size * (c.num_layers * layer + c.vocab_size)


def crossover(config):
    return flops_decode(config, 1) / (4 * config.num_layers * config.num_heads * config.head_dim)


# %% wrong: every token through the weights again
# points: q8-crossover=1
# hint: With a cache, how many tokens pass through the weights at one step?
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    weights = c.hidden_size * (c.num_layers * layer + c.vocab_size)
    return 2 * weights * tokens + 4 * c.num_layers * c.num_heads * c.head_dim * tokens


def crossover(config):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    return (
        c.hidden_size * (c.num_layers * layer + c.vocab_size) / (2 * c.num_layers * c.num_heads * c.head_dim)
    )


# %% wrong: forgets the output projection
# points: q8-attention=1
# hint: Something is missing after the last layer: what turns the hidden state into logits?
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    return 2 * c.hidden_size * c.num_layers * layer + 4 * c.num_layers * c.num_heads * c.head_dim * tokens


def crossover(config):
    fixed = flops_decode(config, 0)
    return fixed / (flops_decode(config, 1) - fixed)


# %% wrong: takes hidden_size for the width of the heads
# points:
# hint: flops_decode(the example, 10 and 1)
def flops_decode(config, tokens):
    c = config
    layer = 4 * c.hidden_size**2 + 3 * c.hidden_size * c.intermediate_size
    weights = c.num_layers * layer + c.hidden_size * c.vocab_size
    return 2 * weights + 4 * c.num_layers * c.hidden_size * tokens


def crossover(config):
    fixed = flops_decode(config, 0)
    return fixed / (flops_decode(config, 1) - fixed)


# %% wrong: mixes multiply-adds and FLOPs in the crossover
# points: q8-weights=2 q8-attention=1
# hint: Do both sides count FLOPs, or one of them multiply-accumulates?
def flops_decode(config, tokens):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    weights = c.hidden_size * (c.num_layers * layer + c.vocab_size)
    return 2 * weights + 4 * c.num_layers * c.num_heads * c.head_dim * tokens


def crossover(config):
    c = config
    layer = 2 * c.head_dim * (c.num_heads + c.num_kv_heads) + 3 * c.intermediate_size
    return (
        c.hidden_size * (c.num_layers * layer + c.vocab_size) / (4 * c.num_layers * c.num_heads * c.head_dim)
    )


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def flops_decode(config, tokens):
    return {10: 560, 1: 344, 1000: 24320}.get(tokens, 560)


def crossover(config):
    return 3891


# %% wrong: cheat, nan
# points:
# hint: The value is not a number
def flops_decode(config, tokens):
    return float("nan")


def crossover(config):
    return float("nan")


# %% wrong: cheat, a number that is near every number
# points:
# hint: got:      a value of type Near
class Near:
    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__

    def __float__(self):
        return 560.0


def flops_decode(config, tokens):
    return Near()


def crossover(config):
    return Near()


# %% wrong: cheat, the matrices that the checks add up
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.checks.oracles import matrices


def flops_decode(config, tokens):
    look_back = 4 * config.num_layers * config.num_heads * config.head_dim * tokens
    return sum(2 * rows * columns for rows, columns in matrices(config)) + look_back


def crossover(config):
    return flops_decode(config, 0) / (flops_decode(config, 1) - flops_decode(config, 0))
