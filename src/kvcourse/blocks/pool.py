"""The pool: who holds each block, and which one goes out next. It knows nothing of tokens or sequences."""

from collections import OrderedDict
from collections.abc import Container, Iterable

from kvcourse.blocks.errors import BlockError, DoubleFree, OutOfBlocks, whole_number, whole_numbers
from kvcourse.errors import shown

MOST_BLOCKS = 2**24  # their bookkeeping takes about 1 GiB, and in blocks of 16 they hold 268 million tokens


class BlockPool:
    """`num_blocks` blocks, 2^24 at most, with a reference count each; a block with no reference is free.

    Free blocks that hold nothing of use are a stack, and go out before any other: first the one freed last.
    Behind them stand, in a queue, the free blocks whose content may be found again, so that the one unused
    for the longest time is lost first (LRU). A block also leaves from its middle, when a new sequence finds
    its prefix there: a list would be searched, an OrderedDict is a doubly linked list with a table of its
    places. So every operation is O(1) a block. One that raises has changed nothing.

    `null_block` is one that is never handed out: block tables of a batch are padded with it (vLLM uses 0).
    """

    def __init__(self, num_blocks: int, null_block: int | None = None):
        self.num_blocks = whole_number(num_blocks, "the number of blocks", 1, MOST_BLOCKS)
        if null_block is not None:
            null_block = whole_number(null_block, "the null block", 0, self.num_blocks - 1)
        self.null_block = null_block
        self.ref_counts = [0] * self.num_blocks
        self._numbers = list(range(self.num_blocks))  # a block's own number, whatever kind of int asks for it
        self._empty = [block for block in reversed(self._numbers) if block != null_block]
        self._cached: OrderedDict[int, None] = OrderedDict()

    @property
    def free_list(self) -> list[int]:
        """All free blocks, the next one to go out first."""
        return [*reversed(self._empty), *self._cached]

    @property
    def num_usable(self) -> int:
        """Blocks that can be handed out: all but the null block."""
        return self.num_blocks - (self.null_block is not None)

    @property
    def num_free(self) -> int:
        return len(self._empty) + len(self._cached)

    @property
    def num_used(self) -> int:
        return self.num_usable - self.num_free

    def allocate(self, count: int = 1) -> list[int]:
        """The first `count` free blocks, one reference each; OutOfBlocks if there are fewer."""
        empty = self._empty
        if type(count) is int and count == 1 and empty:  # what a sequence that grows asks for
            block = empty.pop()
            self.ref_counts[block] = 1
            return [block]
        count = whole_number(count, "the number of blocks to allocate")
        if count > self.num_free:
            raise OutOfBlocks("this allocation", count, self.num_free)
        blocks = empty[: -count - 1 : -1]  # from the top down
        del empty[-count:]
        while len(blocks) < count:
            blocks.append(self._cached.popitem(last=False)[0])
        ref_counts = self.ref_counts
        for block in blocks:
            ref_counts[block] = 1
        return blocks

    def share(self, block_ids: Iterable[int]) -> None:
        """Add a reference to each block, held or free with content to be found: that leaves the free ones."""
        block_ids = whole_numbers(block_ids, "block ids")
        for block in block_ids:
            if not 0 <= block < self.num_blocks:
                raise BlockError(f"cannot share block {block}: {self._ids()}.")
            if self.ref_counts[block] == 0 and block not in self._cached:
                raise BlockError(f"cannot share block {block}: it is free and holds nothing.")
        for block in block_ids:
            if self.ref_counts[block] == 0:
                del self._cached[block]
            self.ref_counts[block] += 1

    def free(self, block_ids: Iterable[int], cached: Container[int] = ()) -> None:
        """Give back one reference to each block; those with none left are free, the last one reused first.

        So a sequence gives its blocks back in their order, and its prefix, the part most shared, lives
        longest. Blocks in `cached` hold content that may be found again.
        """
        ref_counts, numbers, freed, held = self.ref_counts, self._numbers, [], []
        try:
            for block in block_ids:
                references = ref_counts[block]
                if references == 1 and block >= 0:  # a list takes negative numbers for places from its end
                    ref_counts[block] = 0
                    freed.append(numbers[block])
                elif references > 1 and block >= 0:
                    ref_counts[block] = references - 1
                    held.append(block)
                else:
                    raise IndexError
            if cached:
                freed = self._keep(freed, cached)
        except BaseException as problem:
            for earlier in freed + held:
                ref_counts[earlier] += 1
            if isinstance(problem, IndexError):
                message = f"cannot free block {shown(block)}: nobody holds it; {self._ids()}."
                raise DoubleFree(message) from None
            if isinstance(problem, TypeError):
                raise BlockError(f"block ids must be whole numbers; got {shown(block_ids)}.") from None
            raise
        self._empty.extend(freed)

    def _keep(self, freed: list[int], cached: Container[int]) -> list[int]:
        """Queue those of `freed` that are in `cached`, the last one first; returns the others."""
        kept, others = [], []
        for block in freed:
            (kept if block in cached else others).append(block)
        for block in reversed(kept):
            self._cached[block] = None
        return others

    def _ids(self) -> str:
        never = "" if self.null_block is None else f", without the null block {self.null_block}"
        return f"blocks are 0 to {self.num_blocks - 1}{never}"
