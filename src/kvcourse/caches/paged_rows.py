"""The rows of a paged cache, without its tensors: which tokens have a slot, and which are stored.

The block manager gives tokens their slots when it is told of them; a forward pass stores their K and V later.
In between a row waits. All that follows from this gap is here: nobody may share a block before it is
computed, and a pass that fails gives back what it took.
"""

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from kvcourse.blocks import (
    BlockCopy,
    BlockManager,
    BlockTable,
    OutOfBlocks,
    SequenceTooLong,
    block_keys,
    blocks_for,
    hit_limit,
)
from kvcourse.blocks.keys import Image, checked_images, checked_tokens
from kvcourse.errors import CacheError, shown


@dataclass
class Pass:
    """One forward pass of `new_tokens` tokens a row: its tables, up to and with these, and how to undo it."""

    new_tokens: int
    before: dict[Hashable, tuple[int, int]]  # tokens with a slot and tokens stored, of each row
    tables: list[BlockTable] = field(default_factory=list)
    copies: list[BlockCopy] = field(default_factory=list)  # to make before anything is written
    begun: list[Hashable] = field(default_factory=list)  # rows that were no sequence before
    stored: bool = False


class PagedRows:
    """Sequences of `manager`, and the selection of them, `ids`, that the next passes run.

    `own` rows, numbered from 0, are there without a `start`. They share nothing, for nobody else has their
    salt. Whatever is refused changes nothing; any other call first undoes a pass that was not stored.
    """

    def __init__(self, manager: BlockManager, own: int) -> None:
        self.manager = manager
        self.ids: list[Hashable] = list(range(own))
        self.current: Pass | None = None
        self._stored: dict[Hashable, int] = {}
        self._own = set(self.ids)
        self._salt = os.urandom(16)

    @property
    def lengths(self) -> list[int]:
        """Tokens stored of each selected row."""
        return [self._stored.get(row, 0) for row in self.ids]

    # ---- joining and leaving

    def start(
        self, row: Hashable, tokens: Iterable[int], extras: object = (), images: Iterable[Image] = ()
    ) -> int:
        self.drop_unstored_pass()
        self._check_new(row)
        tokens, images = checked_tokens(tokens, "the prompt"), checked_images(images)
        if waiting := {block: other for other in self._stored for block in self._unstored_blocks(other)}:
            keys = block_keys(tokens, self.manager.block_size, extras, images)
            hits = self.manager.index.match(keys[: hit_limit(len(tokens), self.manager.block_size)])
            if early := [waiting[block] for block in hits if block in waiting]:
                raise CacheError(
                    f"row {shown(row)} would share blocks that row {shown(early[0])} has yet to compute."
                )
        found = self.manager.start(row, tokens, extras, images)
        self._stored[row] = found
        self.ids.append(row)
        return found

    def fork(self, parent: Hashable, child: Hashable) -> None:
        self.drop_unstored_pass()
        self._check_new(child)
        if parent in self.manager and self._waits(parent):
            raise CacheError(f"cannot fork row {shown(parent)}: some of its tokens are not computed yet.")
        self.manager.fork(parent, child)
        self._stored[child] = self._stored[parent]
        self.ids.append(child)

    def free(self, row: Hashable) -> None:
        self.drop_unstored_pass()
        if row in self.manager or row not in self._own:  # an own row may leave before it was a sequence
            self._cut(row, self._stored.get(row, 0))
            self.manager.free(row)
            del self._stored[row]
        self._own.discard(row)
        self.ids = [other for other in self.ids if other != row]

    def select(self, rows: Iterable[Hashable]) -> None:
        self.drop_unstored_pass()
        rows = list(rows)
        for row in rows:
            if row in self.manager or row not in self._own:
                self.manager.num_tokens(row)  # SequenceError for an unknown id
        if len(set(rows)) < len(rows):
            raise CacheError(f"a row is selected twice: {shown(rows)}.")
        self.ids = rows

    def _check_new(self, row: Hashable) -> None:
        if row not in self.manager and row in self._own:
            raise CacheError(f"row {shown(row)} is one of the cache's own; take another id.")

    # ---- a forward pass

    def check_room(self, new_tokens: int) -> None:
        manager, size = self.manager, self.manager.block_size
        if not self.ids:
            raise CacheError("no row is selected; start one first.")
        needed, spare, writers = 0, 0, {}
        for row in self.ids:
            known = self._known(row)
            total = max(known, self._stored.get(row, 0) + new_tokens)
            blocks = blocks_for(total, size)
            if blocks > manager.pool.num_usable:
                raise SequenceTooLong(
                    f"row {shown(row)} of {total} tokens takes {blocks} blocks of {size} tokens; "
                    f"the pool has {manager.pool.num_usable} in all."
                )
            needed += blocks - blocks_for(known, size)
            if row not in manager:
                spare = manager.watermark_blocks if manager.sequences or len(self.ids) > 1 else 0
            elif known % size and total > known:
                last = manager.table(row).block_ids[-1]
                writers[last] = writers.get(last, 0) + 1
        # Rows that share a part-filled block copy it, but for the last one if no other row holds it.
        needed += sum(min(n, manager.pool.ref_counts[block] - 1) for block, n in writers.items())
        if needed + spare > manager.pool.num_free:
            raise OutOfBlocks(f"a pass of {new_tokens} tokens a row", needed, manager.pool.num_free, spare)

    def open(self, new_tokens: int, tokens: list[list[int]] | None) -> Pass:
        """Give the next `new_tokens` tokens of each row their slots. `tokens` None: whatever they are.

        That will do for own rows and for tokens that `start` was told of.
        """
        self.drop_unstored_pass()
        self.check_room(new_tokens)
        for i, row in enumerate(self.ids):
            waiting = self.manager.tokens(row)[self._stored[row] :] if self._waits(row) else []
            if tokens is None and len(waiting) < new_tokens and row not in self._own:
                raise CacheError(
                    f"the tokens that row {shown(row)} grows by are not known; call begin first."
                )
            if tokens is not None and tokens[i][: len(waiting)] != waiting[:new_tokens]:
                raise CacheError(f"row {shown(row)} was started with other tokens than this pass has.")

        step = Pass(new_tokens, {row: (self._known(row), self._stored.get(row, 0)) for row in self.ids})
        self.current = step
        for i, row in enumerate(self.ids):
            known, stored = step.before[row]
            unknown = ([0] * new_tokens if tokens is None else tokens[i])[known - stored :]
            if row not in self.manager:
                step.begun.append(row)
                self._stored[row] = 0
                self.manager.start(row, unknown, extras=(self._salt, row))
            elif unknown:
                step.copies += self.manager.append(row, unknown)
            # A prompt computed in chunks has blocks for more tokens than are stored when this pass ends.
            end = stored + new_tokens
            table = self.manager.table(row)
            blocks = table.block_ids[: blocks_for(end, table.block_size)]
            step.tables.append(BlockTable(table.block_size, blocks, end))
        return step

    def close(self) -> None:
        """The pass has stored its tokens at every layer."""
        for row, (_, stored) in self.current.before.items():
            self._stored[row] = stored + self.current.new_tokens
        self.current.stored = True

    def undo(self) -> None:
        """Give back what the last pass took, stored or not."""
        step, self.current = self.current, None
        for row, (known, stored) in step.before.items() if step else ():
            if row in step.begun:
                if row in self.manager:
                    self._cut(row, 0)
                    self.manager.free(row)
                self._stored.pop(row, None)
            else:
                if self.manager.num_tokens(row) > known:
                    self._cut(row, known)
                self._stored[row] = stored

    def drop_unstored_pass(self) -> None:
        """Undo the last pass if it did not come to its end; in any case it can no longer be undone later."""
        if self.current and not self.current.stored:
            self.undo()
        self.current = None

    # ---- forgetting

    def crop(self, length: int) -> None:
        """Cut the selected rows that store more than `length` tokens to as many."""
        self.drop_unstored_pass()
        for row in self.ids:
            if self._stored.get(row, 0) > length:
                self._cut(row, length)

    def reset(self) -> None:
        """Forget all tokens of the selected rows, those that wait too."""
        self.drop_unstored_pass()
        for row in self.ids:
            if row in self.manager:
                self._cut(row, 0)

    def _cut(self, row: Hashable, num_tokens: int) -> None:
        """Crop a row, and let nobody find a block of it whose tokens were never stored."""
        for block in self._unstored_blocks(row):
            self.manager.index.forget(block)
        self.manager.crop(row, num_tokens)
        self._stored[row] = min(self._stored[row], num_tokens)

    def _known(self, row: Hashable) -> int:
        return self.manager.num_tokens(row) if row in self.manager else 0

    def _waits(self, row: Hashable) -> bool:
        return self._stored.get(row, 0) < self._known(row)

    def _unstored_blocks(self, row: Hashable) -> list[int]:
        """Blocks with slots that tokens of `row` have and that were not written yet."""
        if not self._waits(row):
            return []
        return self.manager.table(row).block_ids[self._stored[row] // self.manager.block_size :]
