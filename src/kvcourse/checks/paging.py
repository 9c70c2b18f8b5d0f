"""For problems on paged caches: a pool that a test lends to the learner, and places counted one by one.

What is counted in the pool stays with the test. Knows no formula: blocks are filled token by token.
"""

from collections.abc import Sequence
from typing import Any

from kvcourse.checks.plain import describe, whole


class LentPool:
    """Blocks handed out one at a time, in the order of `blocks`; one that comes back has its old place in it.

    So the order in which a learner's code gives blocks back does not matter. A test lends the pool:
    `share(pool, methods=LENT)`. `held` lists the blocks that are out, the newest last.
    """

    def __init__(self, blocks: Sequence[int]) -> None:
        self.held: list[int] = []
        self._order = list(blocks)
        self._free = list(blocks)

    @property
    def next(self) -> int:
        """The block that goes out next."""
        return self._free[0]

    def allocate(self) -> int:
        """A block that nobody holds; MemoryError if there is none."""
        if not self._free:
            raise MemoryError("out of blocks: no block of this pool is free.")
        self.held.append(self._free.pop(0))
        return self.held[-1]

    def free(self, block: int) -> None:
        """Take a block back; ValueError if it is not out."""
        if whole(block) not in self.held:
            raise ValueError(f"free({describe(block)}): this pool did not give it, or has it back already.")
        self.held.remove(whole(block))
        self._free = sorted([*self._free, whole(block)], key=self._order.index)

    def num_free(self) -> int:
        """How many blocks are left."""
        return len(self._free)


LENT = ("allocate", "free", "num_free")


def filled(tokens: int, block_size: int) -> list[int]:
    """Tokens in each block of a sequence, which is filled token by token."""
    blocks: list[int] = []
    for _token in range(tokens):
        if not blocks or blocks[-1] == block_size:
            blocks.append(0)
        blocks[-1] += 1
    return blocks


def places(table: Sequence[int], block_size: int) -> list[tuple[int, int]]:
    """(block, offset) of each position that the blocks of a table have room for."""
    return [(block, offset) for block in table for offset in range(block_size)]


def pair(got: Any) -> Any:
    """A named tuple of two as a list, for it is a tuple too; anything else as it came."""
    return [got[0], got[1]] if hasattr(got, "_fields") and len(got) == 2 else got


def locate_mistakes(table: Sequence[int], block_size: int, position: int) -> dict[str, tuple[int, int]]:
    """What known mistakes give for the (block, offset) of a position."""
    quotient, rest = divmod(position, block_size)
    all_places = places(table, block_size)
    return {
        "That is the number of the block within the sequence. Which block of the pool is it?": (
            quotient, rest,
        ),
        "Block and offset have changed places.": (rest, table[quotient]),
        "That is the place of the token before it. Positions count from 0.": all_places[position - 1],
        "The offset counts from 0: the first slot of a block is number 0.": (table[quotient], rest + 1),
        "The blocks are in the order of their ids. Their order in the table is that of the text.": (
            sorted(table)[quotient], rest,
        ),
        "The offset is a position of the text. Where in its block does the token lie?": (
            table[quotient], position,
        ),
    }  # fmt: skip


def slot_mistakes(table: Sequence[int], block_size: int, start: int, stop: int) -> dict[str, list[int]]:
    """What known mistakes give for the slots of positions start..stop-1."""
    found = places(table, block_size)
    slots = [block * block_size + offset for block, offset in found]
    run = range(start, stop)
    first = slots[start] if start < len(slots) else 0
    return {
        "The slots run on from the first one. At the end of a block, where does the text go on?": [
            first + step for step in range(len(run))
        ],
        "These are positions in the text, not slots of the pool.": list(run),
        "Positions are turned into slots as if block 0 of the sequence were block 0 of the pool.": [
            slots[0] + position for position in run
        ],
        "`stop` itself is not written: the run ends before it, as in Python's range.": (
            slots[start : stop + 1]
        ),
        "The run begins at `start`, not at 0.": slots[:stop],
        "Each is the first slot of a block. Where is the offset?": [found[p][0] * block_size for p in run],
        "Block and offset are added. How many slots lie before the block's first one?": [
            sum(found[p]) for p in run
        ],
        "The blocks are taken in the order of their ids. Their order in the table is that of the text.": [
            block * block_size + offset for block, offset in places(sorted(table), block_size)
        ][start:stop],
    }  # fmt: skip


class Ledger:
    """Who has which block, by name: what forks and appends must lead to. Keeps no count.

    Tables of names, as `tables`; the blocks come from a pool elsewhere.
    """

    def __init__(self, block_size: int) -> None:
        self.tables: dict[str, list[int]] = {}
        self._size = block_size
        self._tokens: dict[str, int] = {}

    def start(self, name: str, tokens: int, blocks: Sequence[int]) -> None:
        """A sequence that has these blocks."""
        self.tables[name], self._tokens[name] = list(blocks), tokens

    def fork(self, parent: str, child: str) -> None:
        self.start(child, self._tokens[parent], self.tables[parent])

    def append(self, name: str, next_block: int) -> list[int]:
        """The copy that one more token needs, [old, new] or []; `next_block` is the one a pool would give."""
        table, others = self.tables[name], [t for owner, t in self.tables.items() if owner != name]
        room = len(table) * self._size - self._tokens[name]
        self._tokens[name] += 1
        if room == 0:
            table.append(next_block)
        elif any(table[-1] in other for other in others):
            old, table[-1] = table[-1], next_block
            return [old, next_block]
        return []

    def free(self, name: str) -> None:
        del self.tables[name], self._tokens[name]

    def blocks(self) -> set[int]:
        """The blocks that are in a table: all others are free."""
        return {block for table in self.tables.values() for block in table}
