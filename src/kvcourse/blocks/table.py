"""The block table: where in the pool the token at a position of one sequence is stored."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvcourse.blocks.errors import BlockError, TableError, whole_number, whole_numbers
from kvcourse.errors import shown


def blocks_for(num_tokens: int, block_size: int) -> int:
    """Blocks that hold `num_tokens` tokens: num_tokens / block_size, rounded up."""
    if type(num_tokens) is not int or type(block_size) is not int or num_tokens < 0 or block_size < 1:
        num_tokens, block_size = _checked(num_tokens, block_size)
    return -(-num_tokens // block_size)


def last_block_tokens(num_tokens: int, block_size: int) -> int:
    """Tokens in the last block of a sequence: block_size when it is full, not 0."""
    num_tokens, block_size = _checked(num_tokens, block_size)
    return (num_tokens - 1) % block_size + 1 if num_tokens else 0


def unused_slots(lengths: Iterable[int], block_size: int) -> int:
    """Slots held but empty, over sequences of these lengths that share nothing: less than one block each."""
    lengths = whole_numbers(lengths, "the lengths")
    return sum(blocks_for(length, block_size) * block_size - length for length in lengths)


def _checked(num_tokens: object, block_size: object) -> tuple[int, int]:
    return whole_number(num_tokens, "the number of tokens", 0), whole_number(block_size, "the block size")


def _position(value: object) -> int:
    """A whole number of any sign: who asks says which ones lie in the table."""
    try:
        return whole_numbers([value], "positions")[0]
    except BlockError:
        raise TableError(f"a position is a whole number; got {shown(value)}.") from None


@dataclass(slots=True)
class BlockTable:
    """The blocks of one sequence, in the order of its tokens; the last one may be part empty."""

    block_size: int
    block_ids: list[int] = field(default_factory=list)
    num_tokens: int = 0

    def locate(self, position: int) -> tuple[int, int]:
        """(block, offset in it) of the token at `position`; TableError outside 0..num_tokens-1."""
        position = _position(position)
        if not 0 <= position < self.num_tokens:
            raise TableError(f"position {position} is outside the {self.num_tokens} tokens of this table.")
        return self._block(position // self.block_size), position % self.block_size

    def slot(self, position: int) -> int:
        """Index of the token's place in the pool seen as one row of slots."""
        block, offset = self.locate(position)
        return block * self.block_size + offset

    def slot_mapping(self, start: int = 0, stop: int | None = None) -> list[int]:
        """Slots of the tokens at positions start..stop-1: where a step writes their keys and values."""
        start, stop = _position(start), self.num_tokens if stop is None else _position(stop)
        if not 0 <= start <= stop <= self.num_tokens:
            raise TableError(
                f"positions {start} to {stop} are outside the {self.num_tokens} tokens of this table."
            )
        size, blocks = self.block_size, self.block_ids
        if stop > start:
            self._block((stop - 1) // size)
        return [blocks[position // size] * size + position % size for position in range(start, stop)]

    def _block(self, number: int) -> int:
        try:
            return self.block_ids[number]
        except IndexError:
            raise TableError(
                f"{self.num_tokens} tokens in blocks of {self.block_size} need block number {number} of the "
                f"table, which has {len(self.block_ids)}: {shown(self.block_ids)}."
            ) from None

    def check(self, num_blocks: int) -> None:
        """TableError unless all blocks lie in a pool of `num_blocks`, none twice, and they fit the length."""
        whole_number(num_blocks, "the number of blocks")
        whole_number(self.block_size, "the block size")
        whole_number(self.num_tokens, "the number of tokens", 0)
        blocks = whole_numbers(self.block_ids, "the blocks of a table")
        outside = [block for block in blocks if not 0 <= block < num_blocks]
        if outside:
            raise TableError(
                f"the table points to blocks {shown(outside)} of a pool that has 0 to {num_blocks - 1}."
            )
        if len(set(blocks)) < len(blocks):
            raise TableError(f"the table {shown(blocks)} names a block twice.")
        expected = blocks_for(self.num_tokens, self.block_size)
        if len(blocks) != expected:
            raise TableError(
                f"{self.num_tokens} tokens in blocks of {self.block_size} take {expected} blocks; "
                f"the table has {len(blocks)}: {shown(blocks)}."
            )
