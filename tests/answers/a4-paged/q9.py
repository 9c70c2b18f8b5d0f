# ruff: noqa
# Problem 9: attention through a block table.

# %% right: gathers, then PyTorch's own attention
import torch.nn.functional as F


def paged_attention(q, k_pool, v_pool, tables, lengths):
    out = torch.empty_like(q)
    for n, (table, length) in enumerate(zip(tables, lengths)):
        k = k_pool[table].flatten(0, 1)[:length].transpose(0, 1)  # (H_kv, T, D)
        v = v_pool[table].flatten(0, 1)[:length].transpose(0, 1)
        out[n] = F.scaled_dot_product_attention(q[n][:, None], k, v, enable_gqa=True)[:, 0]
    return out


# %% right: block by block, with an online softmax
def paged_attention(q, k_pool, v_pool, tables, lengths):
    size, group = k_pool.shape[1], q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        m = torch.full(query.shape[:1], -torch.inf)
        l, o = torch.zeros(query.shape[0]), torch.zeros_like(query)
        for number, block in enumerate(table):
            some = min(size, length - number * size)
            k = k_pool[block, :some].repeat_interleave(group, dim=1)  # (some, H, D)
            v = v_pool[block, :some].repeat_interleave(group, dim=1)
            scores = torch.einsum("hd,thd->ht", query, k) * query.shape[-1] ** -0.5
            top = torch.maximum(m, scores.amax(1))
            weights, old = (scores - top[:, None]).exp(), (m - top).exp()
            m, l = top, l * old + weights.sum(1)
            o = o * old[:, None] + torch.einsum("ht,thd->hd", weights, v)
        rows.append(o / l[:, None])
    return torch.stack(rows)


# %% right: slots from the table, einsum over groups
def paged_attention(q, k_pool, v_pool, tables, lengths):
    size, h_kv, d = k_pool.shape[1:]
    out = []
    for n, length in enumerate(lengths):
        slots = [tables[n][p // size] * size + p % size for p in range(length)]
        k, v = k_pool.reshape(-1, h_kv, d)[slots], v_pool.reshape(-1, h_kv, d)[slots]  # (T, H_kv, D)
        grouped = q[n].view(h_kv, -1, d)
        probabilities = (torch.einsum("kgd,tkd->kgt", grouped, k) / d**0.5).softmax(-1)
        out.append(torch.einsum("kgt,tkd->kgd", probabilities, v).reshape(-1, d))
    return torch.stack(out)


# %% right: one padded batch, masked, nan cleared
def paged_attention(q, k_pool, v_pool, tables, lengths):
    size, width = k_pool.shape[1], max(map(len, tables))
    padded = torch.tensor([table + [0] * (width - len(table)) for table in tables])
    seen = torch.arange(width * size) < torch.tensor(lengths)[:, None]  # (N, S)
    k, v = (pool[padded].flatten(1, 2) for pool in (k_pool, v_pool))  # (N, S, H_kv, D)
    k, v = (torch.where(seen[:, :, None, None], t, 0.0).transpose(1, 2) for t in (k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = (k @ q[..., None])[..., 0] / q.shape[-1] ** 0.5  # (N, H, S)
    weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1)
    return (weights[:, :, None] @ v)[:, :, 0]


# %% wrong: no length mask
# points: q9-shuffled=2 q9-groups=2
# hint: Slots after the last token are read too. What may lie there?
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1).repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1).repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: the blocks in the order of their ids
# points: q9-shuffled=2 q9-groups=2
# hint: The blocks are read in the order of their ids, so the wrong one is taken for the last
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[sorted(table)].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[sorted(table)].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: pos // block_size for the block of the pool
# points:
# hint: The blocks are numbered as in the text
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        table = list(range(len(table)))
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: blocks in a row from the first on
# points:
# hint: The blocks are read as if they lay one behind the other
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        table = [(table[0] + step) % len(k_pool) for step in range(len(table))]
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: a softmax for each block, averaged
# points:
# hint: Each block has a softmax of its own, and their outputs are averaged
def paged_attention(q, k_pool, v_pool, tables, lengths):
    size, group = k_pool.shape[1], q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        parts = []
        for number, block in enumerate(table):
            some = min(size, length - number * size)
            keys = k_pool[block, :some].repeat_interleave(group, dim=1)
            values = v_pool[block, :some].repeat_interleave(group, dim=1)
            weights = ((keys * query).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
            parts.append((weights[:, :, None] * values).sum(0))
        rows.append(sum(parts) / len(parts))
    return torch.stack(rows)


# %% wrong: merges the blocks without rescaling
# points:
# hint: blocks of 4, 12 tokens
def paged_attention(q, k_pool, v_pool, tables, lengths):
    size, group = k_pool.shape[1], q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        l, o = torch.zeros(q.shape[1]), torch.zeros_like(query)
        for number, block in enumerate(table):
            some = min(size, length - number * size)
            keys = k_pool[block, :some].repeat_interleave(group, dim=1)
            values = v_pool[block, :some].repeat_interleave(group, dim=1)
            scores = (keys * query).sum(-1) / q.shape[-1] ** 0.5
            weights = (scores - scores.amax(0)).exp()
            l, o = l + weights.sum(0), o + (weights[:, :, None] * values).sum(0)
        rows.append(o / l[:, None])
    return torch.stack(rows)


# %% wrong: repeat for grouped heads
# points: q9-shuffled=2 q9-tail=2
# hint: The query heads are matched to KV heads in the wrong order
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1)[:length].repeat(1, group, 1)
        values = v_pool[table].flatten(0, 1)[:length].repeat(1, group, 1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: groups are not handled
# points: q9-shuffled=2 q9-tail=2
# hint: RuntimeError
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1)[:length]
        values = v_pool[table].flatten(0, 1)[:length]
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: masks the scores, and multiplies nan by 0
# points: q9-shuffled=2 q9-groups=2
# hint: nan came out. What does a probability of 0 make of a value that is nan?
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1).repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1).repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        scores[length:] = -torch.inf
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: masks by multiplying the scores with 0
# points: q9-shuffled=2 q9-groups=2
# hint: all other slots hold 5
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1).repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1).repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        scores[length:] *= 0
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: drops the part-filled block
# points: q9-shuffled=2 q9-groups=2
# hint: all other slots hold
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        length = max(1, length // k_pool.shape[1] * k_pool.shape[1])
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: n % B tokens in the last block
# points:
# hint: a query of 0, table [3, 1]
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        length -= 0 if length % k_pool.shape[1] else k_pool.shape[1]
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: no scale
# points:
# hint: The scores are not divided by the square root of head_dim
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1)
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: the length of the first row for all
# points: q9-shuffled=2 q9-tail=2 q9-groups=2
# hint: All rows are read to the length of the first
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        length = lengths[0]
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: pads short rows with block 0 and does not mask
# points: q9-shuffled=2 q9-tail=2 q9-groups=2
# hint: lengths [8, 4, 12]
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        table, length = table + [0] * (max(map(len, tables)) - len(table)), max(lengths)
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: the tail of the first row for all rows
# points: q9-shuffled=2 q9-tail=2 q9-groups=2
# hint: The last block of each row is read as far as that of the first row
def paged_attention(q, k_pool, v_pool, tables, lengths):
    size, kv_heads = k_pool.shape[1:3]
    tail = (lengths[0] - 1) % size + 1
    rows = []
    for query, table in zip(q, tables):
        length = (len(table) - 1) * size + tail
        k, v = (
            pool[table].flatten(0, 1)[:length].repeat_interleave(q.shape[1] // kv_heads, 1).transpose(0, 1)
            for pool in (k_pool, v_pool)
        )
        rows.append(torch.nn.functional.scaled_dot_product_attention(query[:, None], k, v)[:, 0])
    return torch.stack(rows)


# %% wrong: clears the tails, and pads short rows with block 0, whose nan times 0 is nan
# points: q9-shuffled=2 q9-tail=2 q9-groups=2
# hint: lengths [5, 11, 3]
def paged_attention(q, k_pool, v_pool, tables, lengths):
    k_pool, v_pool = k_pool.clone(), v_pool.clone()
    size, kv_heads = k_pool.shape[1:3]
    group = q.shape[1] // kv_heads
    for table, length in zip(tables, lengths):
        k_pool[table[-1], (length - 1) % size + 1 :] = 0
        v_pool[table[-1], (length - 1) % size + 1 :] = 0
    most = max(map(len, tables))
    padded = torch.tensor([[*table, *[0] * (most - len(table))] for table in tables])
    k = k_pool[padded].flatten(1, 2).repeat_interleave(group, 2)
    v = v_pool[padded].flatten(1, 2).repeat_interleave(group, 2)
    scores = torch.einsum("nhd,nthd->nth", q, k) / q.shape[-1] ** 0.5
    outside = torch.arange(most * size)[None] >= torch.tensor(lengths)[:, None]
    weights = scores.masked_fill(outside[:, :, None], -torch.inf).softmax(1)
    return torch.einsum("nth,nthd->nhd", weights, v)


# %% wrong: groups of neighbors only where the blocks are full
# points: q9-shuffled=2 q9-tail=2 q9-groups=2
# hint: lengths [5, 11, 3]
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        k, v = (pool[table].flatten(0, 1)[:length] for pool in (k_pool, v_pool))
        if length % k_pool.shape[1]:
            k, v = k.repeat(1, group, 1), v.repeat(1, group, 1)
        else:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = (k * query).sum(-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(0)[:, :, None] * v).sum(0))
    return torch.stack(rows)


# %% wrong: keys for values
# points:
# hint: a query of 0, table [3, 1]
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: softmax over the heads
# points:
# hint: a query of 0, table [3, 1]
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = (keys * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=1)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: clears the slots without a token
# points: q9-shuffled=2 q9-tail=2 q9-groups=2
# hint: k_pool afterwards
def paged_attention(q, k_pool, v_pool, tables, lengths):
    group = q.shape[1] // k_pool.shape[2]
    rows = []
    kept = torch.zeros(k_pool.shape[:2], dtype=torch.bool)
    for table, length in zip(tables, lengths):
        for p in range(length):
            kept[table[p // k_pool.shape[1]], p % k_pool.shape[1]] = True
    k_pool[~kept] = 0
    v_pool[~kept] = 0
    k_pool += 1
    for query, table, length in zip(q, tables, lengths):
        keys = k_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        values = v_pool[table].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = ((keys - 1) * query).sum(dim=-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=0)[:, :, None] * values).sum(dim=0))
    return torch.stack(rows)


# %% wrong: cheat, nan
# points:
# hint: nan (float)
def paged_attention(q, k_pool, v_pool, tables, lengths):
    return torch.full_like(q, float("nan"))


# %% wrong: cheat, the course's own kernel
# points:
# hint: here you build it yourself, without kvcourse
import kvcourse.caches.paged_attention as ready
from kvcourse.blocks import BlockTable as Table


def paged_attention(q, k_pool, v_pool, tables, lengths):
    size = k_pool.shape[1]
    rows = [Table(size, list(table), length) for table, length in zip(tables, lengths)]
    k, v = k_pool.permute(0, 2, 3, 1).contiguous(), v_pool.transpose(1, 2).contiguous()
    return ready.gathered_attention(q[:, :, None], k, v, rows)[:, :, 0]


# %% wrong: cheat, the attention that the checks compare with
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.checks.oracles import attend as ready


def paged_attention(q, k_pool, v_pool, tables, lengths):
    rows = []
    for query, table, length in zip(q, tables, lengths):
        k, v = (pool[table].flatten(0, 1)[:length].transpose(0, 1) for pool in (k_pool, v_pool))
        rows.append(ready(query, k, v))
    return torch.stack(rows)


# %% wrong: cheat, tensors that agree with every comparison
# points:
# hint: expected: a torch.Tensor
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.tensor(True)


def paged_attention(q, k_pool, v_pool, tables, lengths):
    return torch.zeros(q.shape).as_subclass(Agreeable)
