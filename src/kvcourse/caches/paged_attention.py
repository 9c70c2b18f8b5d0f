"""Attention through block tables: by gather, and in place.

Both read the same two pools of one layer:

    keys    (num_blocks, H_kv, D, block_size)
    values  (num_blocks, H_kv, block_size, D)

The newest T_new tokens of a row ask; the newest of them sees every token of its table. What lies in other
slots and blocks, NaN included, has no influence.

Why keys lie the other way round: on a CPU, `embedding_bag` is the one operation of PyTorch that reads rows of
a large table by number and sums them with weights, without a copy of them in between. Attention is two such
sums. The output is a sum over slots of V's rows, weighted by the probabilities; and the scores of a whole
block are a sum over the D elements of q, which weigh the D rows of that block's transposed keys. vLLM's first
kernel kept keys and values in two layouts too, for loads of 16 bytes. A head's part of a block lies together
in both, so that it is read in one go.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kvcourse.attention import causal_attention
from kvcourse.blocks import BlockTable
from kvcourse.caches.paged_flex import FlexAttention, fits
from kvcourse.errors import CacheError

BAG_TOKENS = 4096  # tokens a part: of scores and indices only, so parts may be long
COPY_TOKENS = 256  # of keys and values too, which should stay in the processor's cache between two uses


class Partial(NamedTuple):
    """Attention over some of the keys, not yet divided (arXiv:2205.14135, section 3.1).

    `o` = sum of exp(score - m) v and `l` = sum of exp(score - m), where `m` is the largest score. Over no
    keys at all m is -inf, l and o are 0.
    """

    m: Tensor  # (..., 1)
    l: Tensor  # (..., 1)  # noqa: E741, the papers' name
    o: Tensor  # (..., D)


def exponentials(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """m and l `(..., 1)` of scores `(..., n)`, and exp(score - m) `(..., n)`; a score of -inf is no key."""
    m = scores.amax(-1, keepdim=True)
    p = (scores - _finite(m)).exp_()
    return m, p.sum(-1, keepdim=True), p


def merge(a: Partial, b: Partial) -> Partial:
    """Attention over the keys of both. The order of merging does not matter, up to rounding.

    Both are brought to the larger m, so every exponent is 0 or less and nothing overflows.
    """
    m = torch.maximum(a.m, b.m)
    from_a, from_b = (a.m - _finite(m)).exp(), (b.m - _finite(m)).exp()
    return Partial(m, a.l * from_a + b.l * from_b, a.o * from_a + b.o * from_b)


def finish(part: Partial) -> Tensor:
    """The attention output `(..., D)`; 0 over no keys."""
    return part.o / part.l.clamp(min=1)  # only over no keys is l below 1, the share of the largest score


def _finite(m: Tensor) -> Tensor:
    return m.masked_fill(m == -torch.inf, 0)  # -inf - -inf would be NaN


def pools(
    flat: Tensor, layers: int, num_blocks: int, kv_heads: int, block_size: int
) -> tuple[Tensor, Tensor]:
    """Keys and values of all layers, `(L, num_blocks, H_kv, D, block_size)` and `(..., block_size, D)`.

    Both are views of `flat`. On a GPU a KV head's slots of the whole pool lie together, keys like values, for
    so FlexAttention reads them; elsewhere they lie as their shapes say.
    """
    if flat.device.type == "cuda":
        by_head = flat.view(2, layers, kv_heads, num_blocks, block_size, -1).transpose(2, 3)
        return by_head[0].transpose(-1, -2), by_head[1]
    keys, values = flat.view(2, layers, num_blocks, kv_heads, -1)
    return keys.unflatten(-1, (-1, block_size)), values.unflatten(-1, (block_size, -1))


def write(keys: Tensor, values: Tensor, blocks: Tensor, offsets: Tensor, k: Tensor, v: Tensor) -> None:
    """Store k and v `(B, H_kv, T_new, D)` in the pools at blocks and offsets in them, `(B T_new,)` each.

    They are slot // block_size and slot % block_size of a slot mapping, the same for every layer.
    """
    rows_k, rows_v = (t.transpose(1, 2).flatten(0, 1) for t in (k, v))  # (B T_new, H_kv, D)
    keys[blocks, :, :, offsets] = rows_k
    values[blocks, :, offsets] = rows_v


def gather(keys: Tensor, values: Tensor, table: BlockTable) -> tuple[Tensor, Tensor]:
    """K and V of one row copied together, in the order of its tokens: `(1, H_kv, T, D)` each.

    TableError for a table that does not fit the pool.
    """
    table.check(len(keys))
    blocks = torch.tensor(table.block_ids, device=keys.device)  # (n,)
    k = keys[blocks].permute(1, 0, 3, 2).flatten(1, 2)  # (H_kv, n block_size, D)
    v = values[blocks].transpose(0, 1).flatten(1, 2)  # (H_kv, n block_size, D)
    return k[None, :, : table.num_tokens], v[None, :, : table.num_tokens]


def gathered_attention(q: Tensor, keys: Tensor, values: Tensor, tables: Sequence[BlockTable]) -> Tensor:
    """Attention of q `(B, H, T_new, D)`: copy each row's K and V together, then attend as over a dense cache.

    The oracle: it costs a copy of all keys and values for every layer of every step.
    """
    rows = [causal_attention(q[i : i + 1], *gather(keys, values, t)) for i, t in enumerate(tables)]
    return torch.cat(rows)  # (B, H, T_new, D)


class _Bags(NamedTuple):
    """For some blocks of every row: the rows of the two pools that each bag sums."""

    keys: Tensor  # (B n H, D)
    values: Tensor  # (B H, n block_size)
    hidden: Tensor  # (B, 1, some): which of the last scores are of no key; all before these are of keys
    queries: Tensor  # (B, n, H, D): room for the weights of the sums over keys, a copy of q for each block


class InPlaceAttention:
    """The same attention without gathering a row: one plan a forward pass, called once for each layer.

    Which of three ways it takes follows from what it is given:

    - on a CUDA device, in blocks of 16, 32, 64 ... tokens: FlexAttention (paged_flex.py), which loads the
      blocks in one compiled kernel;
    - one new token a row in float32 on a CPU: `embedding_bag` on the pool;
    - all else: a copy of one part at a time, as a GPU kernel loads blocks into its own memory.

    The last two read `blocks_per_part` blocks of every row at a time and merge the parts; the default is
    chosen for speed, 1 is the textbook's loop, and who asks for a number gets one of these two.
    Errors: TableError for a table that does not fit the pool, CacheError for one shorter than T_new.
    """

    def __init__(
        self,
        tables: Sequence[BlockTable],
        new_tokens: int,
        num_blocks: int,
        device: torch.device | str = "cpu",
        blocks_per_part: int | None = None,
    ) -> None:
        for i, table in enumerate(tables):
            table.check(num_blocks)
            if table.num_tokens < new_tokens:
                raise CacheError(f"row {i} holds {table.num_tokens} tokens; {new_tokens} new ones are of it.")
        self.new_tokens, self.block_size, self.num_blocks = new_tokens, tables[0].block_size, num_blocks
        self._part = blocks_per_part
        width = max(len(table.block_ids) for table in tables)
        # Short rows are filled up with a block of their own: read, and masked.
        filled = [table.block_ids + table.block_ids[:1] * (width - len(table.block_ids)) for table in tables]
        self._tables = torch.tensor(filled, device=device)  # (B, width)
        self._lengths = torch.tensor([table.num_tokens for table in tables], device=device)  # (B,)
        self._plans: dict[tuple[int, int], _Bags] = {}  # they are the same for all layers
        self._flex: FlexAttention | None = None

    def __call__(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """q `(B, H, T_new, D)` and the pools of one layer; returns `(B, H, T_new, D)`."""
        if self._part is None and fits(q, self.block_size):
            self._flex = self._flex or FlexAttention(
                self._tables, self._lengths, self.new_tokens, self.block_size, self.num_blocks
            )
            return self._flex(q, keys, values)
        bags = self.new_tokens == 1 and q.dtype == torch.float32 and q.device.type == "cpu"
        step = self._part or max(1, (BAG_TOKENS if bags else COPY_TOKENS) // self.block_size)
        width = self._tables.shape[1]
        if bags and width <= step:  # one part is all there is: nothing to merge, and softmax is one operation
            bag = self._bags(0, width, q, keys)
            return self._sum_values(self._scores(q, keys, bag).softmax(-1), values, bag).view(q.shape)
        read = self._read_bags if bags else self._read_copies
        parts = (read(q, keys, values, first, step) for first in range(0, width, step))
        return finish(reduce(merge, parts)).view(q.shape).to(q.dtype)

    def _visible(self, first: int, count: int) -> Tensor:
        """Which tokens of blocks first..first+count-1 each new token sees: `(B, T_new, n)`."""
        begin, size = first * self.block_size, count * self.block_size
        keys = torch.arange(begin, begin + size, device=self._tables.device)  # (n,)
        new = torch.arange(1, self.new_tokens + 1, device=self._tables.device) - self.new_tokens  # (T_new,)
        return keys < (self._lengths[:, None] + new)[..., None]

    # ---- in the pool itself

    def _read_bags(self, q: Tensor, keys: Tensor, values: Tensor, first: int, step: int) -> Partial:
        """m, l `(B, H, 1)` and o `(B, H, D)` of one part."""
        bags = self._bags(first, step, q, keys)
        m, total, p = exponentials(self._scores(q, keys, bags))
        return Partial(m, total, self._sum_values(p, values, bags))

    def _scores(self, q: Tensor, keys: Tensor, bags: _Bags) -> Tensor:
        """q K^T / sqrt(D), `(B, H, n block_size)`: a bag for each row, block and head."""
        (b, h, _, d), size = q.shape, self.block_size
        n = bags.values.shape[1] // size
        torch.mul(q.transpose(1, 2).expand(b, n, h, d), d**-0.5, out=bags.queries)
        weights = bags.queries.view(-1, d)  # (B n H, D)
        flat = keys.reshape(-1, size)  # (num_blocks H_kv D, block_size)
        scores = F.embedding_bag(
            bags.keys, flat, mode="sum", per_sample_weights=weights
        )  # (B n H, block_size)
        scores = scores.view(b, n, h, size).transpose(1, 2).reshape(b, h, n * size)  # (B, H, n block_size)
        scores[..., n * size - bags.hidden.shape[-1] :].masked_fill_(bags.hidden, -torch.inf)
        return scores

    def _sum_values(self, p: Tensor, values: Tensor, bags: _Bags) -> Tensor:
        """p V, `(B, H, D)`, of p `(B, H, n block_size)`: a bag for each row and head."""
        flat = values.reshape(-1, values.shape[-1])  # (num_blocks H_kv block_size, D)
        weights = p.reshape(bags.values.shape)  # (B H, n block_size)
        return F.embedding_bag(bags.values, flat, mode="sum", per_sample_weights=weights).view(
            *p.shape[:2], -1
        )

    def _bags(self, first: int, step: int, q: Tensor, keys: Tensor) -> _Bags:
        if (first, step) in self._plans:
            return self._plans[first, step]
        (_, h, _, d), (num_blocks, h_kv), size = q.shape, keys.shape[:2], self.block_size
        blocks = self._tables[:, first : first + step]  # (B, n)
        head = torch.arange(h_kv).repeat_interleave(h // h_kv)  # (H,): the KV head of each query head
        hidden = ~self._visible(first, blocks.shape[1])  # (B, 1, n block_size)
        key_rows = (blocks[..., None] * h_kv + head)[..., None] * d + torch.arange(d)  # (B, n, H, D)
        # A hidden key's weight is 0, but 0 x NaN is NaN: its bag reads the first slot of the block, which
        # no block of a table leaves empty.
        offset = torch.arange(size).repeat(blocks.shape[1]) * ~hidden[:, 0]  # (B, n block_size)
        owner = blocks.repeat_interleave(size, 1)  # (B, n block_size)
        value_rows = (owner[:, None] * h_kv + head[:, None]) * size + offset[:, None]  # (B, H, n block_size)
        # Half the bytes of index to read, if the row numbers allow it.
        narrow = torch.int32 if num_blocks * h_kv * max(d, size) < 2**31 else torch.int64
        full = int((~hidden).all(0).sum())
        bags = _Bags(
            key_rows.to(narrow).view(-1, d),
            value_rows.to(narrow).flatten(0, 1),
            hidden[..., full:],
            torch.empty(key_rows.shape),
        )
        self._plans[first, step] = bags
        return bags

    # ---- one part at a time copied out of the pool

    def _read_copies(self, q: Tensor, keys: Tensor, values: Tensor, first: int, step: int) -> Partial:
        """m, l `(B, H_kv, G, T_new, 1)` and o `(B, H_kv, G, T_new, D)` of one part."""
        (b, h, t_new, d), h_kv = q.shape, keys.shape[1]
        blocks = self._tables[:, first : first + step]  # (B, n)
        real = torch.promote_types(q.dtype, torch.float32)  # half precision is for storing, not for sums
        k = keys[blocks].permute(0, 2, 3, 1, 4).flatten(3).to(real)  # (B, H_kv, D, n block_size)
        v = values[blocks].transpose(1, 2).flatten(2, 3).to(real)  # (B, H_kv, n block_size, D)
        visible = self._visible(first, blocks.shape[1])  # (B, T_new, n block_size)
        stored = visible[:, -1, :, None]  # (B, n block_size, 1): the newest token sees all that is stored
        v = v.masked_fill(~stored[:, None], 0)  # 0 x NaN is NaN: a probability of 0 does not hide it
        grouped = q.to(real).reshape(b, h_kv, -1, d) * d**-0.5  # (B, H_kv, G T_new, D)
        scores = (grouped @ k).view(b, h_kv, h // h_kv, t_new, -1)  # (B, H_kv, G, T_new, n block_size)
        m, total, p = exponentials(scores.masked_fill_(~visible[:, None, None], -torch.inf))
        return Partial(m, total, (p.flatten(2, 3) @ v).view(b, h_kv, h // h_kv, t_new, d))
