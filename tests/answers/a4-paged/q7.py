# ruff: noqa
# Problem 7: write the keys and values.

# %% right: a loop over the rows
def write_kv(k_pool, v_pool, k, v, slots):
    size = k_pool.size(1)
    for row, slot in enumerate(slots):
        block, offset = divmod(slot, size)
        k_pool[block, offset] = k[row]
        v_pool[block, offset].copy_(v[row])


# %% right: index_put_ for both pools
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.as_tensor(slots, dtype=torch.int64)
    places = (torch.div(where, k_pool.shape[1], rounding_mode="floor"), where.remainder(k_pool.shape[1]))
    for pool, rows in ((k_pool, k), (v_pool, v)):
        pool.index_put_(places, rows)


# %% right: lists as indices
def write_kv(k_pool, v_pool, k, v, slots):
    if not slots:
        return
    size = k_pool.shape[1]
    blocks, offsets = [slot // size for slot in slots], [slot % size for slot in slots]
    k_pool[blocks, offsets] = k
    v_pool[blocks, offsets] = v


# %% right: one block after the other, scattered into a view of each
def write_kv(k_pool, v_pool, k, v, slots):
    num_blocks, size = k_pool.shape[:2]
    for block in range(num_blocks):
        rows = [row for row, slot in enumerate(slots) if slot // size == block]
        for row in rows:
            k_pool.select(0, block).select(0, slots[row] - block * size)[...] = k[row]
            v_pool.select(0, block).select(0, slots[row] - block * size)[...] = v[row]


# %% wrong: writes into a flattened copy
# points: q7-rows=2
# hint: Nothing was written: the rows went into a copy of the pool
def write_kv(k_pool, v_pool, k, v, slots):
    k_pool.flatten(0, 1)[slots] = k
    v_pool.flatten(0, 1)[slots] = v


# %% wrong: reshapes
# points: q7-rows=2
# hint: Nothing was written: the rows went into a copy of the pool
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots, dtype=torch.long)
    k_pool.reshape(-1, *k_pool.shape[2:]).index_copy_(0, where, k)
    v_pool.reshape(-1, *v_pool.shape[2:]).index_copy_(0, where, v)


# %% wrong: asks for a view
# points: q7-rows=2
# hint: RuntimeError: view size is not compatible
def write_kv(k_pool, v_pool, k, v, slots):
    k_pool.view(-1, *k_pool.shape[2:])[slots] = k
    v_pool.view(-1, *v_pool.shape[2:])[slots] = v


# %% wrong: writes the rows one behind the other
# points:
# hint: The rows lie one behind the other from the first slot on
def write_kv(k_pool, v_pool, k, v, slots):
    size = k_pool.shape[1]
    for row in range(len(slots)):
        slot = (slots[0] + row) % (len(k_pool) * size)
        k_pool[slot // size, slot % size] = k[row]
        v_pool[slot // size, slot % size] = v[row]


# %% wrong: keys in both pools
# points:
# hint: Keys and values have changed places, or one of them is written to both
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots, dtype=torch.long)
    k_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = k
    v_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = k


# %% wrong: values for keys
# points:
# hint: Keys and values have changed places, or one of them is written to both
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots, dtype=torch.long)
    k_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = v
    v_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = k


# %% wrong: new pools
# points:
# hint: The pool is as it was. It must be changed in place: a new tensor is lost.
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots, dtype=torch.long)
    k_pool, v_pool = k_pool.clone(), v_pool.clone()
    k_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = k
    v_pool[where // v_pool.shape[1], where % v_pool.shape[1]] = v
    return k_pool, v_pool


# %% wrong: takes a slot for a block
# points:
# hint: IndexError
def write_kv(k_pool, v_pool, k, v, slots):
    for row, slot in enumerate(slots):
        k_pool[slot, 0] = k[row]
        v_pool[slot, 0] = v[row]


# %% wrong: sorts the slots
# points:
# hint: The rows are written in the order of the slots. Row i belongs to slots[i].
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(sorted(slots), dtype=torch.long)
    k_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = k
    v_pool[where // v_pool.shape[1], where % v_pool.shape[1]] = v


# %% wrong: clears the pool first
# points:
# hint: The slots that are not named have lost what they held
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots, dtype=torch.long)
    for pool, rows in ((k_pool, k), (v_pool, v)):
        pool.zero_()
        pool[where // pool.shape[1], where % pool.shape[1]] = rows


# %% wrong: forgets that a step may have no new token
# points: q7-view=2
# hint: IndexError: tensors used as indices must be long
def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots)
    k_pool[where // k_pool.shape[1], where % k_pool.shape[1]] = k
    v_pool[where // v_pool.shape[1], where % v_pool.shape[1]] = v


# %% wrong: whole blocks
# points:
# hint: write_kv, 4 blocks of 2, slots [5, 0]: k_pool
def write_kv(k_pool, v_pool, k, v, slots):
    size = k_pool.shape[1]
    for row, slot in enumerate(slots):
        k_pool[slot // size] = k[row]
        v_pool[slot // size] = v[row]


# %% wrong: cheat, nan everywhere
# points:
# hint: nan (float)
def write_kv(k_pool, v_pool, k, v, slots):
    k_pool.fill_(float("nan"))
    v_pool.fill_(float("nan"))


# %% wrong: cheat, the course's own write
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.caches import paged_attention as ready


def write_kv(k_pool, v_pool, k, v, slots):
    where = torch.tensor(slots, dtype=torch.long)
    blocks, offsets = where // k_pool.shape[1], where % k_pool.shape[1]
    ready.write(
        k_pool.permute(0, 2, 3, 1), v_pool.transpose(1, 2), blocks, offsets,
        k.transpose(0, 1)[None], v.transpose(0, 1)[None],
    )  # fmt: skip


# %% wrong: cheat, what the checks compare with
# points:
# hint: here you build it yourself, without kvcourse
def write_kv(k_pool, v_pool, k, v, slots):
    from kvcourse.checks.paged_oracles import written

    k_pool.copy_(written(k_pool, k, slots))
    v_pool.copy_(written(v_pool, v, slots))


# %% wrong: cheat, does nothing
# points:
# hint: The pool is as it was
def write_kv(k_pool, v_pool, k, v, slots):
    return k_pool, v_pool
