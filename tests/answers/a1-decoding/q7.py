# ruff: noqa
# Problem 7: attention, one token at a time. Two solution cells: q7-attend and q7-class.

# %% right: einsum, and keys rotated on every read
# cell: q7-attend
def attend(q, keys, values):
    h_kv, _, d = keys.shape
    grouped = q.reshape(h_kv, -1, d)  # (H_kv, g, D)
    scores = torch.einsum("hgd,htd->hgt", grouped, keys) * d**-0.5
    return torch.einsum("hgt,htd->hgd", scores.softmax(dim=-1), values).reshape(-1, d)


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim
        self.keys, self.values, self.positions = [], [], []

    def step(self, x, position):
        q = torch.einsum("ij,j->i", self.w["q"], x).reshape(self.h, self.d)
        self.keys.append(torch.einsum("ij,j->i", self.w["k"], x).reshape(self.h_kv, self.d))
        self.values.append(torch.einsum("ij,j->i", self.w["v"], x).reshape(self.h_kv, self.d))
        self.positions.append(position)
        turned = [rope(k, p) for k, p in zip(self.keys, self.positions)]
        out = grouped_attention(rope(q, position), torch.stack(turned, 1), torch.stack(self.values, 1))
        return self.w["o"] @ out.reshape(-1)


# %% right: loops, and a cache that is reserved and written in place
# cell: q7-attend
def attend(q, keys, values):
    out = torch.empty_like(q)
    group = len(q) // len(keys)
    for head in range(len(q)):
        k, v = keys[head // group], values[head // group]
        weights = torch.exp(k @ q[head] / q.shape[1] ** 0.5)
        out[head] = weights @ v / weights.sum()
    return out


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.weights, self.num_heads, self.num_kv_heads, self.head_dim = (
            weights,
            num_heads,
            num_kv_heads,
            head_dim,
        )
        self.kv = torch.zeros(2, num_kv_heads, 64, head_dim)
        self.length = 0

    def step(self, x, position):
        q, k, v = (self.weights[name] @ x for name in "qkv")
        self.kv[0, :, self.length] = rope(k.view(self.num_kv_heads, self.head_dim), position)
        self.kv[1, :, self.length] = v.view(self.num_kv_heads, self.head_dim)
        self.length += 1
        keys, values = self.kv[:, :, : self.length]
        q = rope(q.view(self.num_heads, self.head_dim), position)
        return (self.weights["o"] @ grouped_attention(q, keys, values).flatten()).clone()


# %% right: the class uses attend, and lists inside
# cell: q7-attend
def attend(q, keys, values):
    group = q.shape[0] // keys.shape[0]
    keys = keys[:, None].expand(-1, group, -1, -1).flatten(0, 1)
    values = values[:, None].expand(-1, group, -1, -1).flatten(0, 1)
    weights = torch.softmax((keys * q[:, None]).sum(-1) / q.shape[-1] ** 0.5, dim=-1)
    return (weights[..., None] * values).sum(1)


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.weights, self.heads, self.kv_heads, self.dim = weights, num_heads, num_kv_heads, head_dim
        self.k_list, self.v_list = [], []

    def step(self, x, position):
        self.k_list.append(rope((self.weights["k"] @ x).view(self.kv_heads, self.dim), position))
        self.v_list.append((self.weights["v"] @ x).view(self.kv_heads, self.dim))
        q = rope((self.weights["q"] @ x).view(self.heads, self.dim), position)
        mixed = attend(q, torch.stack(self.k_list, dim=1), torch.stack(self.v_list, dim=1))
        return self.weights["o"] @ mixed.flatten()


# %% wrong: repeats the heads in tiled order
# points: q7-heads=1 q7-apart=1
# hint: The query heads are matched to KV heads in the wrong order
# cell: q7-attend
def attend(q, keys, values):
    group = q.shape[0] // keys.shape[0]
    keys, values = keys.repeat(group, 1, 1), values.repeat(group, 1, 1)
    scores = (keys @ q[:, :, None])[:, :, 0] / q.shape[1] ** 0.5
    return (scores.softmax(dim=-1)[:, None, :] @ values)[:, 0]


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.weights, self.heads, self.kv_heads, self.dim = weights, num_heads, num_kv_heads, head_dim
        self.k_list, self.v_list = [], []

    def step(self, x, position):
        self.k_list.append(rope((self.weights["k"] @ x).view(self.kv_heads, self.dim), position))
        self.v_list.append((self.weights["v"] @ x).view(self.kv_heads, self.dim))
        q = rope((self.weights["q"] @ x).view(self.heads, self.dim), position)
        mixed = attend(q, torch.stack(self.k_list, dim=1), torch.stack(self.v_list, dim=1))
        return self.weights["o"] @ mixed.flatten()


# %% wrong: no scale
# points: q7-steps=2 q7-positions=1 q7-apart=1
# hint: The scores are not divided by the square root of head_dim
# cell: q7-attend
def attend(q, keys, values):
    group = q.shape[0] // keys.shape[0]
    keys, values = keys.repeat_interleave(group, 0), values.repeat_interleave(group, 0)
    return ((keys @ q[:, :, None])[:, :, 0].softmax(dim=-1)[:, None, :] @ values)[:, 0]


# %% wrong: softmax over the heads
# points: q7-steps=2 q7-positions=1 q7-apart=1
# hint: attend(a query of zeros, 2 tokens)
# cell: q7-attend
def attend(q, keys, values):
    group = q.shape[0] // keys.shape[0]
    keys, values = keys.repeat_interleave(group, 0), values.repeat_interleave(group, 0)
    scores = (keys @ q[:, :, None])[:, :, 0] / q.shape[1] ** 0.5
    return (scores.softmax(dim=0)[:, None, :] @ values)[:, 0]


# %% wrong: groups are not handled
# points: q7-heads=1 q7-steps=2 q7-positions=1 q7-apart=1
# hint: RuntimeError
# cell: q7-attend
def attend(q, keys, values):
    scores = (keys @ q[:, :, None])[:, :, 0] / q.shape[1] ** 0.5
    return (scores.softmax(dim=-1)[:, None, :] @ values)[:, 0]


# %% wrong: calls PyTorch's own attention
# points: q7-steps=2 q7-positions=1 q7-apart=1
# hint: scaled_dot_product_attention is not allowed here
# cell: q7-attend
def attend(q, keys, values):
    return F.scaled_dot_product_attention(q[:, None], keys, values, enable_gqa=True)[:, 0]


# %% wrong: rotates the stored keys again at every step
# points: q7-heads=1 q7-groups=2
# hint: Stored keys are rotated again at every step
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.weights, self.num_heads, self.num_kv_heads, self.head_dim = (
            weights,
            num_heads,
            num_kv_heads,
            head_dim,
        )
        self.keys = torch.empty(num_kv_heads, 0, head_dim)
        self.values = torch.empty(num_kv_heads, 0, head_dim)

    def step(self, x, position):
        q, k, v = (self.weights[name] @ x for name in "qkv")
        k, v = (part.view(self.num_kv_heads, 1, self.head_dim) for part in (k, v))
        self.keys = rope(torch.cat((self.keys, k), dim=1), position)
        self.values = torch.cat((self.values, v), dim=1)
        mixed = grouped_attention(
            rope(q.view(self.num_heads, self.head_dim), position), self.keys, self.values
        )
        return self.weights["o"] @ mixed.flatten()


# %% wrong: rotates when storing and again when reading
# points: q7-heads=1 q7-groups=2
# hint: Keys are rotated twice
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim
        self.keys, self.values, self.positions = [], [], []

    def step(self, x, position):
        q, k, v = (self.w[name] @ x for name in "qkv")
        self.keys.append(rope(k.view(self.h_kv, self.d), position))
        self.values.append(v.view(self.h_kv, self.d))
        self.positions.append(position)
        turned = torch.stack([rope(k, p) for k, p in zip(self.keys, self.positions)], 1)
        out = grouped_attention(rope(q.view(self.h, self.d), position), turned, torch.stack(self.values, 1))
        return self.w["o"] @ out.flatten()


# %% wrong: the position stays 0
# points: q7-heads=1 q7-groups=2
# hint: The outputs are those of position 0 at every step
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim
        self.keys, self.values = [], []

    def step(self, x, position):
        q, k, v = (self.w[name] @ x for name in "qkv")
        self.keys.append(rope(k.view(self.h_kv, self.d), 0))
        self.values.append(v.view(self.h_kv, self.d))
        q = rope(q.view(self.h, self.d), 0)
        out = grouped_attention(q, torch.stack(self.keys, 1), torch.stack(self.values, 1))
        return self.w["o"] @ out.flatten()


# %% wrong: counts positions itself
# points: q7-heads=1 q7-groups=2 q7-steps=2 q7-apart=1
# hint: step 2, position 9
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim
        self.keys, self.values = [], []

    def step(self, x, position):
        place = len(self.keys)
        q, k, v = (self.w[name] @ x for name in "qkv")
        self.keys.append(rope(k.view(self.h_kv, self.d), place))
        self.values.append(v.view(self.h_kv, self.d))
        q = rope(q.view(self.h, self.d), place)
        out = grouped_attention(q, torch.stack(self.keys, 1), torch.stack(self.values, 1))
        return self.w["o"] @ out.flatten()


# %% wrong: rotates the values too
# points: q7-heads=1 q7-groups=2
# hint: The values are rotated too
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim
        self.keys, self.values = [], []

    def step(self, x, position):
        q, k, v = (self.w[name] @ x for name in "qkv")
        self.keys.append(rope(k.view(self.h_kv, self.d), position))
        self.values.append(rope(v.view(self.h_kv, self.d), position))
        q = rope(q.view(self.h, self.d), position)
        out = grouped_attention(q, torch.stack(self.keys, 1), torch.stack(self.values, 1))
        return self.w["o"] @ out.flatten()


# %% wrong: one list for all objects
# points: q7-heads=1 q7-groups=2
# hint: A new object remembers an older one's tokens. Is its memory made in `__init__`?
# cell: q7-class
class CachedAttention:
    keys, values = [], []

    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim

    def step(self, x, position):
        q, k, v = (self.w[name] @ x for name in "qkv")
        self.keys.append(rope(k.view(self.h_kv, self.d), position))
        self.values.append(v.view(self.h_kv, self.d))
        q = rope(q.view(self.h, self.d), position)
        out = grouped_attention(q, torch.stack(self.keys, 1), torch.stack(self.values, 1))
        return self.w["o"] @ out.flatten()


# %% wrong: remembers nothing
# points: q7-heads=1 q7-groups=2
# hint: step 1, position 1
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim

    def step(self, x, position):
        v = (self.w["v"] @ x).view(self.h_kv, self.d)
        return self.w["o"] @ v.repeat_interleave(self.h // self.h_kv, 0).flatten()


# %% wrong: changes its input
# points: q7-heads=1 q7-groups=2 q7-steps=2 q7-positions=1
# hint: x after sequence 0, step 0
# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.w, self.h, self.h_kv, self.d = weights, num_heads, num_kv_heads, head_dim
        self.keys, self.values = [], []

    def step(self, x, position):
        q, k, v = (self.w[name] @ x for name in "qkv")
        self.keys.append(rope(k.view(self.h_kv, self.d), position))
        self.values.append(v.view(self.h_kv, self.d))
        q = rope(q.view(self.h, self.d), position)
        out = grouped_attention(q, torch.stack(self.keys, 1), torch.stack(self.values, 1))
        return x.copy_(self.w["o"] @ out.flatten())


# %% wrong: cheat, tensors that agree with every comparison
# points:
# hint: expected: a torch.Tensor
# cell: q7-attend
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.tensor(True)


def attend(q, keys, values):
    return torch.zeros(q.shape).as_subclass(Agreeable)


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        pass

    def step(self, x, position):
        return torch.zeros(x.shape).as_subclass(Agreeable)


# %% wrong: cheat, nan everywhere
# points:
# hint: nan (float)
# cell: q7-attend
def attend(q, keys, values):
    return torch.full_like(q, float("nan"))


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        pass

    def step(self, x, position):
        return torch.full_like(x, float("nan"))


# %% wrong: cheat, empty tensors
# points:
# hint: expected: shape (1, 2) (H, D)
# cell: q7-attend
def attend(q, keys, values):
    return torch.empty(0)


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        pass

    def step(self, x, position):
        return torch.empty(0)


# %% wrong: cheat, the attention and the rows that the checks compare with
# points:
# hint: here you build it yourself, without kvcourse
# cell: q7-attend
from kvcourse.checks.oracles import attend


# cell: q7-class
class CachedAttention:
    def __init__(self, weights, num_heads, num_kv_heads, head_dim):
        self.weights, self.heads, self.kept, self.positions = weights, (num_heads, num_kv_heads), [], []

    def step(self, x, position):
        from kvcourse.checks.oracles import attention_rows

        self.kept.append(x)
        self.positions.append(position)
        return attention_rows(torch.stack(self.kept), self.weights, *self.heads, self.positions)[-1]
