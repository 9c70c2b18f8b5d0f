"""Attention through block tables on a GPU: FlexAttention with a block mask that is made of the tables.

FlexAttention (arXiv:2412.05496) attends to one row of keys, of which a mask says for each query which count,
and a list for each group of queries which blocks of keys are worth loading. Here the row of keys is the whole
pool, in the order of its slots; the list is the block table, and the mask finds the position of a slot in its
sequence by the table read backwards. So the compiled kernel loads the blocks of a row and no others. Without
compilation, as on a CPU in the tests, it computes all scores and hides most: right, and slow.
"""

from functools import cache

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def fits(q: Tensor, block_size: int) -> bool:
    """Whether the compiled kernel takes q `(B, H, T_new, D)` and blocks of this many tokens."""
    return (
        q.device.type == "cuda"
        and q.dtype in DTYPES
        and q.shape[-1] >= 16
        and block_size >= 16
        and block_size.bit_count() == 1
    )


class FlexAttention:
    """The plan of one forward pass, for all layers.

    `tables` `(B, width)`: the blocks of each row, short rows filled up with their first; `lengths` `(B,)`:
    their tokens, the `new_tokens` newest of which ask.
    """

    def __init__(
        self, tables: Tensor, lengths: Tensor, new_tokens: int, block_size: int, num_blocks: int
    ) -> None:
        (rows, width), device, size = tables.shape, tables.device, block_size
        last = -(-lengths // size) - 1  # (B,): the number of each row's last block
        number = torch.arange(width, device=device).expand(rows, -1)  # (B, width)
        number = number.where(number <= last[:, None], -1)
        # The tables read backwards: which of a row's blocks a block of the pool is, -1 for none.
        place = tables.new_full((rows, num_blocks), -1).scatter_reduce_(1, tables, number, "amax")
        first = lengths - new_tokens  # (B,): the position of each row's first query

        def visible(row: Tensor, head: Tensor, query: Tensor, slot: Tensor) -> Tensor:
            block = place[row, slot // size]
            return (block >= 0) & (block * size + slot % size <= first[row] + query)

        group = 16 if new_tokens <= 16 else 64  # queries that load blocks together
        ends = torch.arange(group, new_tokens + group, group, device=device).clamp(max=new_tokens)  # (n,)
        counts = -(-(first[:, None] + ends) // size)  # (B, n): blocks that the last query of a group sees
        self._mask = BlockMask.from_kv_blocks(
            counts[:, None].int(),  # (B, 1, n)
            tables[:, None, None].expand(-1, -1, len(ends), -1).int().contiguous(),  # (B, 1, n, width)
            BLOCK_SIZE=(group, size),
            mask_mod=visible,
            seq_lengths=(new_tokens, num_blocks * size),
            compute_q_blocks=False,  # they are for the backward pass
        )
        # A kernel's tiles divide the blocks of the mask; 32 and 64 are what vLLM takes (its FlexAttention
        # backend, 0.32). It also keeps to the general kernel, for which blocks of 16 are not too small.
        self._options = {
            "FORCE_USE_FLEX_ATTENTION": True,
            "BLOCK_M": min(group, 32),
            "BLOCK_N": min(size, 32),
        }
        self._tails = tables.gather(1, last[:, None])[:, 0]  # (B,): the last block of each row
        self._unused = (
            torch.arange(size, device=device) >= (lengths - last * size)[:, None]
        )  # (B, block_size)

    def __call__(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """q `(B, H, T_new, D)`, the pools of one layer as in paged_attention.py; returns `(B, H, T_new, D)`.

        Where the pools lie in memory by KV head, then by slot, they are read as they are; otherwise copied.
        What is not finite in the unused slots of a row's last block becomes 0, in `values` itself: the kernel
        loads whole blocks, and a probability of 0 does not hide a NaN.
        """
        tails = values[self._tails]  # (B, H_kv, block_size, D)
        values[self._tails] = tails.masked_fill(self._unused[:, None, :, None] & ~tails.isfinite(), 0)
        k = keys.permute(1, 0, 3, 2).flatten(1, 2)[None]  # (1, H_kv, num_blocks block_size, D)
        v = values.transpose(0, 1).flatten(1, 2)[None]  # (1, H_kv, num_blocks block_size, D)
        attend = _compiled() if q.device.type == "cuda" else flex_attention
        return attend(
            q, k, v, block_mask=self._mask, enable_gqa=q.shape[1] != k.shape[1], kernel_options=self._options
        )


@cache
def _compiled():
    return torch.compile(flex_attention)
