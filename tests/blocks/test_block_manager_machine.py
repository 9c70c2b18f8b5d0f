"""Any order of operations, against plain lists of tokens and a memory in which every write is kept.

The memory holds, for each slot, what stands for keys and values there: the extras and all tokens up to that
place, since these decide them. So a stale key, a wrong hit, a missed copy or a block given to two sequences
shows as a sequence that reads something else than its own history. Free blocks come in the order of plain
lists: out from the front; back with the tail first, part-filled blocks to the front, full ones to the back.
"""

import copy
from itertools import takewhile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvcourse.blocks import (
    BlockError,
    BlockManager,
    OutOfBlocks,
    SequenceTooLong,
    blocks_for,
    check,
    hit_limit,
)

SEQUENCES = st.integers(0, 4)
TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
EXTRAS = st.sampled_from([(), "adapter", ("salt", 1)])


class Blocks(RuleBasedStateMachine):
    @initialize(
        num_blocks=st.integers(1, 9),
        block_size=st.integers(1, 4),
        null_block=st.sampled_from([None, 0]),
        watermark=st.integers(0, 1),
    )
    def begin(self, num_blocks, block_size, null_block, watermark):
        usable = num_blocks
        num_blocks += null_block is not None
        self.manager = BlockManager(num_blocks, block_size, watermark_blocks=watermark, null_block=null_block)
        self.usable, self.block_size, self.watermark = usable, block_size, watermark
        self.memory = {}
        self.tokens, self.extras, self.findable = {}, {}, {}

    # ---- what the model knows

    def content(self, seq_id, position):
        return self.extras[seq_id], tuple(self.tokens[seq_id][: position + 1])

    def write(self, seq_id, start):
        table = self.manager.table(seq_id)
        for position in range(start, len(self.tokens[seq_id])):
            self.memory[table.slot(position)] = self.content(seq_id, position)

    def surely_cached(self, tokens, extras):
        """Blocks of the prompt that a running sequence holds full."""
        best = 0
        for seq_id, other in self.tokens.items():
            if self.extras[seq_id] == extras and self.findable[seq_id]:
                same = sum(
                    1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(tokens, other, strict=False))
                )
                best = max(best, same // self.block_size)
        return min(best, hit_limit(len(tokens), self.block_size))

    def state(self):
        manager = self.manager
        parts = manager.pool.ref_counts, list(manager.pool.free_list), vars(manager.index), manager._sequences
        return copy.deepcopy((*parts, manager.counters))

    def free_order_without(self, seq_id, kept=0):
        """The free blocks once `seq_id` has given back all but its first `kept`, by plain lists."""
        manager = self.manager
        free = list(manager.pool.free_list)
        held = [block for other in self.tokens if other != seq_id for block in manager.table(other).block_ids]
        gone = [block for block in reversed(manager.table(seq_id).block_ids[kept:]) if block not in held]
        full = [block for block in gone if block in manager.index]
        return [block for block in gone if block not in full] + free + full

    def refused(self, error, operation, *args):
        before = self.state()
        with pytest.raises(error):
            operation(*args)
        assert self.state() == before, "an operation that raises must change nothing"

    # ---- operations

    @rule(seq_id=SEQUENCES, tokens=TOKENS, extras=EXTRAS)
    def start(self, seq_id, tokens, extras):
        manager = self.manager
        if seq_id in self.tokens:
            return self.refused(BlockError, manager.start, seq_id, tokens, extras)
        needed = blocks_for(len(tokens), self.block_size)
        if needed > self.usable:
            return self.refused(SequenceTooLong, manager.start, seq_id, tokens, extras)
        free = manager.pool.free_list
        hit = manager.hit_tokens(tokens, extras)
        assert hit % self.block_size == 0 and hit < len(tokens)
        assert hit // self.block_size >= self.surely_cached(tokens, extras)
        spare = self.watermark if self.tokens else 0
        held = {block for other in self.tokens for block in manager.table(other).block_ids}
        if self.usable - len(held) - spare >= needed:  # fits even if every hit has to leave the free list
            assert manager.start(seq_id, tokens, extras) == hit
        else:
            try:
                assert manager.start(seq_id, tokens, extras) == hit
            except OutOfBlocks as error:
                assert error.needed + error.spare > error.free == self.usable - len(held)
                return self.refused(OutOfBlocks, manager.start, seq_id, tokens, extras)
        hits = manager.table(seq_id).block_ids[: hit // self.block_size]
        free = [block for block in free if block not in hits]
        assert manager.table(seq_id).block_ids[len(hits) :] + manager.pool.free_list == free
        self.tokens[seq_id], self.extras[seq_id], self.findable[seq_id] = list(tokens), extras, True
        self.write(seq_id, hit)

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), new=st.lists(st.integers(0, 1), min_size=1, max_size=5))
    def append(self, data, new):
        seq_id = data.draw(st.sampled_from(sorted(self.tokens)))
        manager, length = self.manager, len(self.tokens[seq_id])
        held = {block for other in self.tokens for block in manager.table(other).block_ids}
        table = manager.table(seq_id).block_ids
        shared = sum(
            table[-1:] == manager.table(other).block_ids[len(table) - 1 : len(table)] for other in self.tokens
        )
        copied = int(length % self.block_size > 0 and shared > 1)
        needed = blocks_for(length + len(new), self.block_size) - len(table) + copied
        if blocks_for(length + len(new), self.block_size) > self.usable:
            return self.refused(SequenceTooLong, manager.append, seq_id, new)
        if needed > self.usable - len(held):
            return self.refused(OutOfBlocks, manager.append, seq_id, new)
        free = manager.pool.free_list
        copies = manager.append(seq_id, new)
        assert len(copies) == copied
        assert manager.table(seq_id).block_ids[len(table) - copied :] + manager.pool.free_list == free
        for source, target, num_tokens in copies:
            assert source != target and num_tokens == length % self.block_size
            for offset in range(num_tokens):
                self.memory[target * self.block_size + offset] = self.memory[
                    source * self.block_size + offset
                ]
        self.tokens[seq_id] += new
        self.write(seq_id, length)

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), child=SEQUENCES)
    def fork(self, data, child):
        parent = data.draw(st.sampled_from(sorted(self.tokens)))
        if child in self.tokens:
            return self.refused(BlockError, self.manager.fork, parent, child)
        used = self.manager.pool.num_used
        self.manager.fork(parent, child)
        assert self.manager.pool.num_used == used
        self.tokens[child] = list(self.tokens[parent])
        self.extras[child], self.findable[child] = self.extras[parent], self.findable[parent]

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def crop(self, data):
        seq_id = data.draw(st.sampled_from(sorted(self.tokens)))
        kept = data.draw(st.integers(0, len(self.tokens[seq_id])))
        free = self.free_order_without(seq_id, blocks_for(kept, self.block_size))
        self.manager.crop(seq_id, kept)
        assert self.manager.pool.free_list == free
        del self.tokens[seq_id][kept:]

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def free(self, data):
        seq_id = data.draw(st.sampled_from(sorted(self.tokens)))
        free = self.free_order_without(seq_id)
        self.manager.free(seq_id)
        assert self.manager.pool.free_list == free
        del self.tokens[seq_id], self.extras[seq_id], self.findable[seq_id]

    @rule()
    def clear_cache(self):
        self.manager.clear_cache()
        self.findable = dict.fromkeys(self.findable, False)

    @rule(seq_id=SEQUENCES, data=st.data())
    def wrong(self, seq_id, data):
        manager = self.manager
        if seq_id not in self.tokens:
            operation, *args = data.draw(
                st.sampled_from(
                    [
                        (manager.free,),
                        (manager.append, 1),
                        (manager.crop, 0),
                        (manager.fork, 9),
                        (manager.table,),
                    ]
                )
            )
            self.refused(BlockError, operation, seq_id, *args)
        else:
            operation, *args = data.draw(
                st.sampled_from(
                    [
                        (manager.append, []),
                        (manager.append, [0, 0.5]),
                        (manager.append, [0, 2**70]),
                        (manager.crop, -1),
                        (manager.crop, len(self.tokens[seq_id]) + 1),
                        (manager.fork, seq_id),
                    ]
                )
            )
            self.refused(BlockError, operation, seq_id, *args)
            self.refused(BlockError, manager.pool.free, [*manager.pool.free_list][:1] or [-1])

    # ---- what must hold after each

    @invariant()
    def every_sequence_reads_its_own_history(self):
        assert self.manager.sequences == list(self.tokens)
        for seq_id, tokens in self.tokens.items():
            assert self.manager.tokens(seq_id) == tokens
            table = self.manager.table(seq_id)
            for position in range(len(tokens)):
                assert self.memory[table.slot(position)] == self.content(seq_id, position)

    @invariant()
    def the_books_balance(self):
        check(self.manager)
        held = {block for seq_id in self.tokens for block in self.manager.table(seq_id).block_ids}
        assert self.manager.pool.num_used == len(held)
        assert self.manager.pool.num_free + self.manager.pool.num_used == self.usable
        slots = {slot for seq_id in self.tokens for slot in self.manager.table(seq_id).slot_mapping()}
        assert self.manager.filled_slots() == len(slots)

    @invariant()
    def every_indexed_block_holds_what_its_key_says(self):
        """The index has no stale key: a prompt made of a block's content hits exactly that content."""
        index, size = self.manager.index, self.block_size
        contents = {}
        for block in range(self.manager.pool.num_blocks):
            if block in index:
                content = self.memory[block * size + size - 1]
                assert contents.setdefault(index.key(block), content) == content
        assert len(set(contents.values())) == len(contents)
        for extras, tokens in contents.values():
            hit = self.manager.hit_tokens([*tokens, 0], extras)
            assert hit <= len(tokens)


TestBlocks = Blocks.TestCase
TestBlocks.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.full
class TestBlocksLong(Blocks.TestCase):
    settings = settings(max_examples=500, stateful_step_count=60, deadline=None)
