"""What must hold after every operation. A violation is a bug in the allocator: AssertionError."""

from collections import Counter
from collections.abc import Hashable

from kvcourse.blocks.keys import extend_keys
from kvcourse.blocks.manager import BlockManager


def check(manager: BlockManager) -> None:
    """AssertionError with the violated fact unless pool, tables and prefix index of `manager` agree."""
    pool, sequences = manager.pool, manager._sequences
    usable = [block for block in range(pool.num_blocks) if block != pool.null_block]

    for seq_id in sequences:
        manager.table(seq_id).check(pool.num_blocks)
    holders = Counter(block for sequence in sequences.values() for block in sequence.block_ids)
    for block in range(pool.num_blocks):
        _must(
            pool.ref_counts[block] == holders[block],
            f"block {block} is in {holders[block]} tables, with reference count {pool.ref_counts[block]}",
        )

    free = pool.free_list
    _must(len(free) == len(set(free)), f"the free list holds a block twice: {free}")
    _must(
        sorted(free) == [block for block in usable if pool.ref_counts[block] == 0],
        f"free blocks {sorted(free)} are not those that nobody holds",
    )
    _must(
        pool.num_free + pool.num_used == len(usable),
        f"{pool.num_free} free + {pool.num_used} used blocks, of {len(usable)}",
    )

    for seq_id in sequences:
        _check_keys(manager, seq_id)
    index = manager.index
    lost = [block for block in pool._empty if block in index]
    _must(not lost, f"blocks {lost} can be found, and are reused before blocks that cannot")
    by_key = {block: key for key, blocks in index._blocks_of.items() for block in blocks}
    _must(index._key_of == by_key, "the prefix index lists other blocks by key than by block")


def _check_keys(manager: BlockManager, seq_id: Hashable) -> None:
    sequence = manager._sequences[seq_id]
    expected: list[bytes] = []
    if manager.prefix_caching:
        extend_keys(expected, sequence.tokens, manager.block_size, sequence.root, sequence.images)
    _must(sequence.keys == expected, f"sequence {seq_id!r} has keys that its tokens do not give")
    for key, block in zip(sequence.keys, sequence.block_ids, strict=False):
        indexed = manager.index.key(block)
        _must(
            indexed in (None, key), f"block {block} of sequence {seq_id!r} is indexed under another content"
        )


def _must(fact: bool, otherwise: str) -> None:
    if not fact:
        raise AssertionError(otherwise)
