"""The pool: who holds each block, and which one goes out next. It knows nothing of tokens or sequences."""

from collections.abc import Container, Iterable

from kvcourse.blocks.errors import BlockError, DoubleFree, OutOfBlocks, whole_number, whole_numbers
from kvcourse.blocks.free_list import FreeList
from kvcourse.errors import shown


class BlockPool:
    """`num_blocks` blocks with a reference count each; a block with no reference is in the free list.

    `null_block` is one of them that is never handed out: block tables of a batch are padded with it (vLLM
    uses 0).
    """

    def __init__(self, num_blocks: int, null_block: int | None = None):
        self.num_blocks = whole_number(num_blocks, "the number of blocks")
        if null_block is not None:
            null_block = whole_number(null_block, "the null block", 0, self.num_blocks - 1)
        self.null_block = null_block
        self.ref_counts = [0] * self.num_blocks
        self.free_list = FreeList(self.num_blocks)
        self.free_list.push_back([block for block in range(self.num_blocks) if block != null_block])

    @property
    def num_usable(self) -> int:
        """Blocks that can be handed out: all but the null block."""
        return self.num_blocks - (self.null_block is not None)

    @property
    def num_free(self) -> int:
        return len(self.free_list)

    @property
    def num_used(self) -> int:
        return self.num_usable - self.num_free

    def allocate(self, count: int = 1) -> list[int]:
        """The first `count` blocks of the free list, one reference each; OutOfBlocks if there are fewer."""
        if type(count) is not int or not 0 < count <= self.free_list.size:
            count = whole_number(count, "the number of blocks to allocate")
            if count > self.num_free:
                raise OutOfBlocks("this allocation", count, self.num_free)
        blocks = self.free_list.pop_front(count)
        ref_counts = self.ref_counts
        for block in blocks:
            ref_counts[block] = 1
        return blocks

    def share(self, block_ids: Iterable[int]) -> None:
        """Add a reference to each block; a free one leaves the free list, with its content as it was."""
        block_ids = whole_numbers(block_ids, "block ids")
        for block in block_ids:
            if not 0 <= block < self.num_blocks or block == self.null_block:
                raise BlockError(f"cannot share block {block}: {self._ids()}.")
        for block in block_ids:
            if self.ref_counts[block] == 0:
                self.free_list.remove(block)
            self.ref_counts[block] += 1

    def free(self, block_ids: Iterable[int], cached: Container[int] = ()) -> None:
        """Give back one reference to each block; those with none left are free, for reuse in this order.

        Blocks in `cached` hold content that may be found again: they go to the back, so the one unused for
        the longest time is lost first (LRU). The others can never be found again and go to the front, in
        place of something useful.
        """
        block_ids = whole_numbers(
            block_ids, "block ids"
        )  # all of them, before the first one changes anything
        ref_counts = self.ref_counts
        front, back, still_held = [], [], []
        try:
            for block in block_ids:
                references = ref_counts[block]
                if references == 0 or block < 0:  # a list takes negative numbers for places from its end
                    raise IndexError
                group = still_held if references > 1 else back if block in cached else front
                ref_counts[block] = references - 1
                group.append(block)
        except BaseException as problem:
            for earlier in front + back + still_held:
                ref_counts[earlier] += 1
            if not isinstance(problem, IndexError):
                raise
            raise DoubleFree(f"cannot free block {shown(block)}: nobody holds it; {self._ids()}.") from None
        if front:
            self.free_list.push_front(front)
        if back:
            self.free_list.push_back(back)

    def _ids(self) -> str:
        never = "" if self.null_block is None else f", without the null block {self.null_block}"
        return f"blocks are 0 to {self.num_blocks - 1}{never}"
