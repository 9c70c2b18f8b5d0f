"""Free blocks in the order of their reuse: a doubly linked list in two arrays.

A queue would do if free blocks only left at the head. With prefix caching they also leave from the middle,
when a new sequence finds its prefix in a block that nobody holds any more, and finding a place in a queue
takes O(n).
"""

from collections.abc import Iterator, Sequence


class FreeList:
    """Block ids 0..capacity-1 in a row. Every operation is O(1) a block.

    The two arrays close to a ring through one extra place, the end: what follows it is the head of the list,
    what precedes it the tail. So no operation has a special case for an empty list, a first or a last block.
    The list does not know which blocks are in it: the pool does, by their reference count of 0, and checks
    before it calls.
    """

    __slots__ = ("_end", "_next", "_previous", "size")

    def __init__(self, capacity: int):
        self._end = capacity
        self._next = [self._end] * (capacity + 1)
        self._previous = [self._end] * (capacity + 1)
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        block = self._next[self._end]
        while block != self._end:
            yield block
            block = self._next[block]

    def pop_front(self, count: int) -> list[int]:
        """Take out the first `count` blocks; the list must have as many."""
        following = self._next
        block = self._end
        blocks = [block := following[block] for _ in range(count)]
        self._next[self._end] = head = following[block]
        self._previous[head] = self._end
        self.size -= count
        return blocks

    def push_front(self, blocks: Sequence[int]) -> None:
        """Put blocks that are not in the list before all others, the first of them at the very front."""
        self._insert_after(self._end, blocks)

    def push_back(self, blocks: Sequence[int]) -> None:
        """Put blocks that are not in the list after all others, the last of them at the very end."""
        self._insert_after(self._previous[self._end], blocks)

    def remove(self, block: int) -> None:
        """Take out a block of the list, wherever it stands."""
        before, after = self._previous[block], self._next[block]
        self._next[before] = after
        self._previous[after] = before
        self.size -= 1

    def _insert_after(self, before: int, blocks: Sequence[int]) -> None:
        following, previous = self._next, self._previous
        after = following[before]
        for block in blocks:
            following[before] = block
            previous[block] = before
            before = block
        following[before] = after
        previous[after] = before
        self.size += len(blocks)
