"""A paged KV cache's bookkeeping: which block holds which tokens. No tensor in it; numbers of blocks only."""

from kvcourse.blocks.errors import (
    BlockError,
    DoubleFree,
    OutOfBlocks,
    SequenceError,
    SequenceTooLong,
    TableError,
)
from kvcourse.blocks.invariants import check
from kvcourse.blocks.keys import block_key, block_keys, encode, root_key
from kvcourse.blocks.manager import BlockCopy, BlockManager, Counters
from kvcourse.blocks.pool import BlockPool
from kvcourse.blocks.prefix import PrefixIndex, hit_limit
from kvcourse.blocks.table import BlockTable, blocks_for, last_block_tokens, unused_slots

__all__ = [
    "BlockCopy",
    "BlockError",
    "BlockManager",
    "BlockPool",
    "BlockTable",
    "Counters",
    "DoubleFree",
    "OutOfBlocks",
    "PrefixIndex",
    "SequenceError",
    "SequenceTooLong",
    "TableError",
    "block_key",
    "block_keys",
    "blocks_for",
    "check",
    "encode",
    "hit_limit",
    "last_block_tokens",
    "root_key",
    "unused_slots",
]
