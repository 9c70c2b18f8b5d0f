"""The paged pool in the terms of the contiguous ones: same requests, same split, blocks on demand."""

from collections.abc import Hashable
from dataclasses import dataclass

from kvcourse.blocks import BlockPool, BlockTable, OutOfBlocks, blocks_for
from kvcourse.blocks.errors import whole_number
from kvcourse.errors import shown
from kvcourse.reservation.errors import RequestTooLong, ReservationError
from kvcourse.reservation.pool import Pool, grown
from kvcourse.reservation.split import Holding


@dataclass(slots=True)
class Paged:
    """A running request: where its tokens are stored, and how many it will have in the end."""

    table: BlockTable
    final: int


class PagedPool(Pool):
    """`num_slots // block_size` blocks. A request holds those its tokens need, the last one part empty.

    The end of the pool, too small for a block, counts as external. `watermark_blocks` stay free when a
    request is admitted beside running ones, as room for those to grow.
    """

    requests: dict[Hashable, Paged]

    def __init__(self, num_slots: int, block_size: int = 16, watermark_blocks: int = 0):
        super().__init__(num_slots)
        self.block_size = whole_number(
            block_size, "the block size", 1, self.num_slots, error=ReservationError
        )
        self.blocks = BlockPool(self.num_slots // self.block_size)
        self.watermark_blocks = whole_number(
            watermark_blocks, "the watermark", 0, self.blocks.num_usable, error=ReservationError
        )

    def admit(self, request_id: Hashable, prompt: int, output: int) -> None:
        """Take blocks for `prompt` tokens; `output` more will follow.

        Errors: RequestTooLong if it can never fit, OutOfBlocks if its prompt does not fit now, RequestError
        for an id in use.
        """
        prompt, output = self._check_new(request_id, prompt, output)
        most = self.blocks.num_usable * self.block_size
        if prompt + output > most:
            raise RequestTooLong(
                f"request {shown(request_id)} has {prompt} + {output} tokens; the blocks hold {most}."
            )
        table = BlockTable(self.block_size)
        self._extend(table, request_id, prompt, self.watermark_blocks if self.requests else 0)
        self.requests[request_id] = Paged(table, prompt + output)

    def append(self, request_id: Hashable, count: int = 1) -> None:
        """Store `count` more tokens, or none of them. Every block_size-th needs a block: OutOfBlocks."""
        request = self._get(request_id)
        stored = grown(request_id, request.table.num_tokens, count, request.final)
        self._extend(request.table, request_id, stored)

    def finish(self, request_id: Hashable) -> None:
        self.blocks.free(self._get(request_id).table.block_ids)
        del self.requests[request_id]

    def holding(self, request_id: Hashable) -> Holding:
        request = self._get(request_id)
        held = len(request.table.block_ids) * self.block_size
        return Holding(request.table.num_tokens, min(request.final, held), held, held)

    def _extend(self, table: BlockTable, request_id: Hashable, num_tokens: int, spare: int = 0) -> None:
        missing = blocks_for(num_tokens, self.block_size) - len(table.block_ids)
        if missing:
            if missing + spare > self.blocks.num_free:
                raise OutOfBlocks(f"request {shown(request_id)}", missing, self.blocks.num_free, spare)
            table.block_ids += self.blocks.allocate(missing)
        table.num_tokens = num_tokens
