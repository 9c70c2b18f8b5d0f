"""The paged KV cache: tokens lie in blocks of one pool, wherever there is room; a block manager knows where.

Each row of the batch is a sequence of the manager, with a length of its own. Rows join by `start`, which may
find a prefix that is stored already, or by `fork`; they leave by `free`. `select` says which of them the next
forward passes run, for a pass feeds as many tokens to every row:

    cache = PagedCache(model.config, num_blocks=64, batch=0)
    found = cache.start("a", prompt)                      # the first `found` tokens are stored already
    model.forward([prompt[found:]], cache)
    cache.fork("a", "b")                                  # copies nothing until one of the two writes
    model.forward([[token_a], [token_b]], cache)

Used like the other caches, on `batch` rows that grow together, it needs none of these calls.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kvcourse.blocks import BlockManager
from kvcourse.blocks.errors import whole_number
from kvcourse.blocks.keys import Image
from kvcourse.caches.base import CacheCounters, KVCache, _positive
from kvcourse.caches.paged_attention import InPlaceAttention, gather, gathered_attention, pools, write
from kvcourse.caches.paged_rows import PagedRows, Pass
from kvcourse.configs import ModelConfig
from kvcourse.errors import CacheError, shown
from kvcourse.projection import WeightMemory
from kvcourse.units import both

METHODS = ("in place", "gather")


@dataclass
class PagedCounters(CacheCounters):
    """`bytes_copied` are those of copy-on-write. What sharing saves is counted by `PagedCache.manager`."""

    bytes_gathered: int = (
        0  # K and V copied together only to be read: by `update`, and by the method "gather"
    )


class PagedCache(KVCache):
    """K and V of many sequences in `num_blocks` blocks of `block_size` tokens, taken as the sequences grow.

    `batch` rows, numbered from 0, are there from the beginning and share nothing; 0 if all rows `start`.
    `attention` "in place" reads the pool through the block tables; "gather", the oracle, copies the K and V
    of a row together first. Errors beside CacheError: OutOfBlocks and SequenceTooLong where there is no room,
    before any row has grown; SequenceError for ids that are unknown or in use.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_blocks: int,
        block_size: int = 16,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        *,
        prefix_caching: bool = True,
        watermark_blocks: int = 0,
        attention: str = "in place",
    ) -> None:
        none = type(batch) is int and batch == 0
        super().__init__(config, 1 if none else batch, dtype, device)
        if attention not in METHODS:
            raise CacheError(f"attention is {shown(attention)}; expected one of {', '.join(METHODS)}.")
        self.attention = attention
        num_blocks = whole_number(num_blocks, "the number of blocks")
        self.block_size = block_size = whole_number(block_size, "the block size")
        c = config
        count = num_blocks * block_size * self._token_bytes // dtype.itemsize
        try:
            # Blocks are read in no order, which pages of 2 MiB make faster (projection.py). Nothing is
            # cleared: what was never written is never read to any effect.
            pool = WeightMemory(count, dtype, self.device).take(count)
        except (MemoryError, RuntimeError, ValueError) as error:
            raise CacheError(
                f"cannot reserve {both(count * dtype.itemsize)} for {num_blocks} blocks."
            ) from error
        self.keys, self.values = pools(pool, c.num_layers, num_blocks, c.num_kv_heads, block_size)
        self.manager = BlockManager(
            num_blocks, block_size, prefix_caching=prefix_caching, watermark_blocks=watermark_blocks
        )
        self.counters = PagedCounters()
        self._rows = PagedRows(self.manager, 0 if none else batch)
        self._attend: InPlaceAttention | None = None  # of the pass under way, and where it writes
        self._places: tuple[Tensor, Tensor] | None = None
        self._next_layer = 0
        self.batch = len(self.rows)

    # ---- rows

    def start(
        self, row: Hashable, tokens: Iterable[int], extras: object = (), images: Iterable[Image] = ()
    ) -> int:
        """A row for the prompt `tokens` joins the batch; returns how many of its tokens need no computing.

        These come first; later passes compute the others, at once or in chunks. CacheError if the prompt
        would share blocks that another row has yet to compute.
        """
        found = self._rows.start(row, tokens, extras, images)
        self.batch = len(self.rows)
        return found

    def fork(self, parent: Hashable, child: Hashable) -> None:
        """A row that shares all blocks of `parent` joins the batch; the first to write to one copies it."""
        self._rows.fork(parent, child)
        self.batch = len(self.rows)

    def free(self, row: Hashable) -> None:
        """The row leaves. What it stored can still be found until its blocks are needed for others."""
        self._rows.free(row)
        self.batch = len(self.rows)

    def select(self, *rows: Hashable) -> None:
        """The next passes run these rows, in this order; the others keep what they have."""
        self._rows.select(rows)
        self.batch = len(self.rows)

    @property
    def rows(self) -> list[Hashable]:
        """Ids of the rows of the next pass, in its order."""
        return list(self._rows.ids)

    @property
    def lengths(self) -> list[int]:
        """Tokens stored of each of these rows."""
        return self._rows.lengths

    @property
    def length(self) -> int:
        """Tokens stored of the longest of these rows."""
        return max(self.lengths, default=0)

    # ---- a forward pass

    def positions(self, new_tokens: int) -> Tensor:
        self.check_room(new_tokens)
        starts = torch.tensor(self.lengths, device=self.device)  # (B,)
        return starts[:, None] + torch.arange(new_tokens, device=self.device)  # (B, T_new)

    def check_room(self, new_tokens: int) -> None:
        """OutOfBlocks or SequenceTooLong unless every row of the batch can grow by `new_tokens` tokens."""
        self._rows.check_room(_positive("new_tokens", new_tokens))

    def begin(self, ids: Tensor) -> Tensor:
        """Give the tokens `ids` `(B, T_new)` their slots, copying shared blocks; returns their positions.

        CacheError if they are not the ones that `start` was told of.
        """
        self._rows.drop_unstored_pass()
        positions = self.positions(ids.shape[1])
        self._open(ids.shape[1], ids.tolist())
        return positions

    def abandon(self, length: int) -> None:
        self._rows.undo()

    def _open(self, new_tokens: int, tokens: list[list[int]] | None) -> None:
        step = self._rows.open(new_tokens, tokens)
        for source, target, count in step.copies:  # at every layer
            self.keys[:, target, ..., :count] = self.keys[:, source, ..., :count]
            self.values[:, target, :, :count] = self.values[:, source, :, :count]
            self.counters.bytes_copied += count * self._token_bytes
        slots = [table.slot_mapping(table.num_tokens - new_tokens) for table in step.tables]
        slots = torch.tensor(slots, device=self.device).flatten()  # (B T_new,)
        self._places = slots // self.block_size, slots % self.block_size
        self._attend = InPlaceAttention(step.tables, new_tokens, self.manager.pool.num_blocks, self.device)
        self._next_layer = 0

    def _write(self, layer: int, k: Tensor, v: Tensor) -> Pass:
        """Store k and v through the slot mapping."""
        new_tokens = self._check_update(layer, k, v)
        step = self._rows.current
        if step is None or step.stored:
            if layer:
                raise CacheError(f"got layer {layer}; a pass begins with layer 0.")
            self._open(new_tokens, None)
            step = self._rows.current
        elif (layer, new_tokens) != (self._next_layer, step.new_tokens):
            raise CacheError(
                f"got {new_tokens} tokens a row for layer {layer}; this pass has {step.new_tokens} and comes "
                f"to layer {self._next_layer}."
            )
        write(self.keys[layer], self.values[layer], *self._places, k, v)
        self._count(layer, k, v)
        self._next_layer = layer + 1
        if self._next_layer == self.config.num_layers:
            self._rows.close()
        return step

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write k and v; return a copy of all that `layer` stores, gathered: `(B, H_kv, T, D)` each.

        T is that of the longest row; shorter rows end with zeros.
        """
        step = self._write(layer, k, v)
        longest = max(table.num_tokens for table in step.tables)
        rows = [gather(self.keys[layer], self.values[layer], table) for table in step.tables]
        self.counters.bytes_gathered += sum(part.nbytes for row in rows for part in row)
        stored_k, stored_v = (
            torch.cat([F.pad(part, (0, 0, 0, longest - part.shape[2])) for part in parts])
            for parts in zip(*rows, strict=True)
        )
        return stored_k, stored_v

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        step = self._write(layer, k, v)
        if self.attention == "in place":
            return self._attend(q, self.keys[layer], self.values[layer])
        tokens = sum(table.num_tokens for table in step.tables)
        self.counters.bytes_gathered += tokens * self._token_bytes // self.config.num_layers
        return gathered_attention(q, self.keys[layer], self.values[layer], step.tables)

    def crop(self, length: int) -> None:
        """Forget all but the first `length` tokens of each row of the batch, and a pass that did not end."""
        self._check_crop(length)
        self._rows.crop(length)

    def reset(self) -> None:
        """Forget all tokens of the rows of the batch, those yet to be computed too; the counters go on."""
        self._rows.reset()

    # ---- bytes

    @property
    def _token_bytes(self) -> int:
        c = self.config
        return 2 * c.num_layers * c.num_kv_heads * c.head_dim * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    @property
    def used_bytes(self) -> int:
        """Bytes of the slots that tokens of all rows have; a token that several rows share counts once."""
        return self.manager.filled_slots() * self._token_bytes
