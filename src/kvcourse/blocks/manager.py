"""The block manager: sequences start, grow, branch and end; it says which blocks hold their tokens.

It moves no data. Who calls it computes keys and values and writes them to the slots of the table; `append`
says which blocks to copy first. A call that raises has changed nothing.

A full block can be found by others as soon as `start` or `append` has returned. So the caller computes a
sequence's new tokens before it starts a sequence that may hit them, or in the same forward pass. A prompt
that is computed in chunks is started with the first of them, and grows by the others.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kvcourse.blocks.errors import OutOfBlocks, SequenceError, SequenceTooLong, whole_number
from kvcourse.blocks.keys import Image, checked_images, checked_tokens, extend_keys, root_key
from kvcourse.blocks.pool import BlockPool
from kvcourse.blocks.prefix import PrefixIndex, hit_limit
from kvcourse.blocks.table import BlockTable, blocks_for
from kvcourse.errors import shown


class BlockCopy(NamedTuple):
    """Before writing, copy the first `num_tokens` slots of block `source` to `target`, at every layer."""

    source: int
    target: int
    num_tokens: int


@dataclass(slots=True)
class Counters:
    """What has happened since the manager was made."""

    prompt_tokens: int = 0  # of the sequences started
    hit_tokens: int = 0  # of these, found in the prefix index
    blocks_allocated: int = 0
    blocks_evicted: int = 0  # of these, blocks whose old content could still have been found
    blocks_copied: int = 0  # by copy-on-write
    tokens_copied: int = 0


@dataclass(slots=True)
class _Sequence:
    tokens: list[int]
    block_ids: list[int]
    keys: list[bytes]  # of its full blocks
    root: bytes  # what the first of them chains to
    images: list[Image]


class BlockManager:
    """Block tables of many sequences over one pool, with prefix sharing and copy-on-write.

    `watermark_blocks` stay free when a sequence starts beside running ones, as room for those to grow.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int = 16,
        *,
        prefix_caching: bool = True,
        watermark_blocks: int = 0,
        null_block: int | None = None,
    ):
        self.pool = BlockPool(num_blocks, null_block)
        self.block_size = whole_number(block_size, "the block size")
        self.watermark_blocks = whole_number(watermark_blocks, "the watermark", 0, self.pool.num_usable)
        self.prefix_caching = prefix_caching
        self.index = PrefixIndex()
        self.counters = Counters()
        self._sequences: dict[Hashable, _Sequence] = {}

    # ---- the life of a sequence

    def start(
        self, seq_id: Hashable, tokens: Iterable[int], extras: object = (), images: Iterable[Image] = ()
    ) -> int:
        """Give a new sequence blocks for its prompt, and return how many of its tokens need not be computed.

        `extras` and `images` set apart prompts with equal tokens (keys.py). Errors: SequenceError for an id
        in use, SequenceTooLong if the prompt can never fit, OutOfBlocks if it does not fit now.
        """
        if seq_id in self:
            raise SequenceError(f"sequence {shown(seq_id)} is already here; free it or take another id.")
        sequence, hits = self._look_up(tokens, extras, images)
        missing = self._blocks_in_all(seq_id, len(sequence.tokens)) - len(hits)
        revived = sum(self.pool.ref_counts[block] == 0 for block in hits)  # free, but not for others
        spare = self.watermark_blocks if self._sequences else 0
        self._require(f"starting sequence {shown(seq_id)}", missing + revived, spare)

        self.pool.share(hits)
        sequence.block_ids = hits + self._allocate(missing)
        self._sequences[seq_id] = sequence
        self._index_full_blocks(sequence, len(hits))
        self.counters.prompt_tokens += len(sequence.tokens)
        self.counters.hit_tokens += len(hits) * self.block_size
        return len(hits) * self.block_size

    def append(self, seq_id: Hashable, tokens: int | Iterable[int]) -> list[BlockCopy]:
        """Make room for one more token, or for several, and return the copies to make before writing them.

        A part-filled last block that another sequence shares is copied on this first write to it.
        SequenceTooLong if it can never fit, OutOfBlocks if it does not fit now.
        """
        sequence = self._get(seq_id)
        tokens = checked_tokens(tokens, f"the tokens to append to sequence {shown(seq_id)}")
        length = len(sequence.tokens)
        missing = self._blocks_in_all(seq_id, length + len(tokens)) - len(sequence.block_ids)
        part_filled = length % self.block_size
        shared = part_filled > 0 and self.pool.ref_counts[sequence.block_ids[-1]] > 1
        self._require(f"appending to sequence {shown(seq_id)}", missing + shared)

        copies = []
        if shared:
            copies = [self._copy_on_write(sequence, part_filled)]
        elif part_filled:  # after a crop it may still be found under its old content
            self.index.forget(sequence.block_ids[-1])
        sequence.block_ids += self._allocate(missing)
        sequence.tokens += tokens
        self._index_full_blocks(sequence, length // self.block_size)
        return copies

    def fork(self, parent_id: Hashable, child_id: Hashable) -> None:
        """Start a sequence as a copy of another: it shares all its blocks; nothing is allocated or copied."""
        parent = self._get(parent_id)
        if child_id in self:
            raise SequenceError(f"cannot fork to {shown(child_id)}: that sequence is already here.")
        self.pool.share(parent.block_ids)
        self._sequences[child_id] = _Sequence(
            list(parent.tokens), list(parent.block_ids), list(parent.keys), parent.root, parent.images
        )

    def crop(self, seq_id: Hashable, num_tokens: int) -> None:
        """Keep the first `num_tokens` tokens, as after rejected drafts; blocks past them are given back."""
        sequence = self._get(seq_id)
        num_tokens = whole_number(
            num_tokens, f"the tokens to keep of {shown(seq_id)}", 0, len(sequence.tokens)
        )
        kept = blocks_for(num_tokens, self.block_size)
        self.pool.free(sequence.block_ids[kept:], cached=self.index)
        del sequence.block_ids[kept:]
        del sequence.keys[num_tokens // self.block_size :]
        del sequence.tokens[num_tokens:]

    def free(self, seq_id: Hashable) -> None:
        """End a sequence. Its full blocks can still be found until others need them, its last ones first."""
        sequence = self._get(seq_id)
        self.pool.free(sequence.block_ids, cached=self.index)
        del self._sequences[seq_id]

    # ---- questions

    def __contains__(self, seq_id: Hashable) -> bool:
        try:
            return seq_id in self._sequences
        except TypeError:
            raise SequenceError(f"a sequence id must be hashable; got {shown(seq_id)}.") from None

    @property
    def sequences(self) -> list[Hashable]:
        """Ids of the running sequences, oldest first."""
        return list(self._sequences)

    def table(self, seq_id: Hashable) -> BlockTable:
        """A copy of the sequence's block table."""
        sequence = self._get(seq_id)
        return BlockTable(self.block_size, list(sequence.block_ids), len(sequence.tokens))

    def tokens(self, seq_id: Hashable) -> list[int]:
        return list(self._get(seq_id).tokens)

    def num_tokens(self, seq_id: Hashable) -> int:
        return len(self._get(seq_id).tokens)

    def hit_tokens(self, tokens: Iterable[int], extras: object = (), images: Iterable[Image] = ()) -> int:
        """How many tokens of this prompt `start` would find now; nothing changes."""
        return len(self._look_up(tokens, extras, images)[1]) * self.block_size

    def filled_slots(self) -> int:
        """Slots that hold a token of a running sequence; a shared token counts once."""
        filled: dict[int, int] = {}
        for sequence in self._sequences.values():
            for number, block in enumerate(sequence.block_ids):
                tokens = min(self.block_size, len(sequence.tokens) - number * self.block_size)
                filled[block] = max(tokens, filled.get(block, 0))
        return sum(filled.values())

    def clear_cache(self) -> None:
        """Forget all keys, as a change of the weights requires; running sequences stay."""
        self.index.clear()

    # ---- inside

    def _get(self, seq_id: Hashable) -> _Sequence:
        if seq_id not in self:
            raise SequenceError(f"no sequence {shown(seq_id)} here: it was never started, or has been freed.")
        return self._sequences[seq_id]

    def _look_up(
        self, tokens: Iterable[int], extras: object, images: Iterable[Image]
    ) -> tuple[_Sequence, list[int]]:
        """The sequence a prompt would make, without blocks, and the blocks it would hit."""
        tokens = checked_tokens(tokens, "the prompt")
        sequence = _Sequence(tokens, [], [], root_key(extras), checked_images(images))
        if not self.prefix_caching:
            return sequence, []
        extend_keys(sequence.keys, tokens, self.block_size, sequence.root, sequence.images)
        return sequence, self.index.match(sequence.keys[: hit_limit(len(tokens), self.block_size)])

    def _blocks_in_all(self, seq_id: Hashable, num_tokens: int) -> int:
        needed = blocks_for(num_tokens, self.block_size)
        if needed > self.pool.num_usable:
            raise SequenceTooLong(
                f"sequence {shown(seq_id)} of {num_tokens} tokens takes {needed} blocks of "
                f"{self.block_size} tokens; the pool has {self.pool.num_usable} in all."
            )
        return needed

    def _require(self, what: str, needed: int, spare: int = 0) -> None:
        if needed + spare > self.pool.num_free:
            raise OutOfBlocks(what, needed, self.pool.num_free, spare)

    def _allocate(self, count: int) -> list[int]:
        """`count` blocks without their old content: from here on nobody can find it."""
        blocks = self.pool.allocate(count) if count else []
        self.counters.blocks_allocated += count
        self.counters.blocks_evicted += sum(map(self.index.forget, blocks))
        return blocks

    def _copy_on_write(self, sequence: _Sequence, part_filled: int) -> BlockCopy:
        source, target = sequence.block_ids[-1], self._allocate(1)[0]
        self.pool.free([source])
        sequence.block_ids[-1] = target
        self.counters.blocks_copied += 1
        self.counters.tokens_copied += part_filled
        return BlockCopy(source, target, part_filled)

    def _index_full_blocks(self, sequence: _Sequence, first: int) -> None:
        """Let others find the full blocks from number `first` on."""
        if not self.prefix_caching:
            return
        extend_keys(sequence.keys, sequence.tokens, self.block_size, sequence.root, sequence.images)
        for number in range(first, len(sequence.keys)):
            self.index.insert(sequence.keys[number], sequence.block_ids[number])
