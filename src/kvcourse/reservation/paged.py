"""The paged pool in the terms of the contiguous ones: same requests, same split, blocks on demand."""

from collections.abc import Hashable

from kvcourse.blocks import BlockManager, blocks_for
from kvcourse.blocks.errors import whole_number
from kvcourse.errors import shown
from kvcourse.reservation.contiguous import check_request, grown, split_of
from kvcourse.reservation.errors import RequestTooLong, ReservationError
from kvcourse.reservation.split import Extent, PoolSplit


class PagedPool:
    """`num_slots // block_size` blocks. A request holds those its tokens need, the last one part empty.

    The end of the pool, too small for a block, counts as external. Blocks that run out raise OutOfBlocks.
    """

    def __init__(self, num_slots: int, block_size: int = 16, watermark_blocks: int = 0):
        self.num_slots = whole_number(num_slots, "the number of slots", error=ReservationError)
        block_size = whole_number(block_size, "the block size", 1, self.num_slots, error=ReservationError)
        self.blocks = BlockManager(
            self.num_slots // block_size, block_size, prefix_caching=False, watermark_blocks=watermark_blocks
        )
        self.requests: dict[Hashable, int] = {}  # tokens each will have in the end

    def admit(self, request_id: Hashable, prompt: int, output: int) -> None:
        """Take blocks for `prompt` tokens; `output` more will follow, one by one."""
        check_request(self.requests, request_id, prompt, output)
        most = self.blocks.pool.num_usable * self.blocks.block_size
        if prompt + output > most:
            raise RequestTooLong(
                f"request {shown(request_id)} has {prompt} + {output} tokens; the blocks hold {most}."
            )
        self.blocks.start(request_id, [0] * prompt)  # which tokens they are does not matter without sharing
        self.requests[request_id] = prompt + output

    def append(self, request_id: Hashable, count: int = 1) -> None:
        """Store `count` more tokens. Every block_size-th one needs a block; without it none is stored."""
        grown(request_id, self.blocks.num_tokens(request_id), count, self.requests[request_id])
        self.blocks.append(request_id, [0] * count)

    def finish(self, request_id: Hashable) -> None:
        self.blocks.free(request_id)
        del self.requests[request_id]

    def extent(self, request_id: Hashable) -> Extent:
        """What the request holds. Its tokens need no memory until `held` of them are stored."""
        stored = self.blocks.num_tokens(request_id)
        held = blocks_for(stored, self.blocks.block_size) * self.blocks.block_size
        return Extent(stored, min(self.requests[request_id], held), held, held)

    def split(self) -> PoolSplit:
        return split_of(self)
