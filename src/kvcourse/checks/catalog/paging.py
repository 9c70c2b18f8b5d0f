"""Known mistakes in counting blocks: how many, how full, how much of a pool is really used, who gets in."""

from types import SimpleNamespace

from kvcourse.checks.catalog.kinds import Quantity, Slip, Way

PERCENT = "A hundred times too much: a share of the whole is 1."
PACKED = "The tokens are laid end to end. May two sequences that share nothing lie in one block?"
EXTRA = "A block more than needed. What if the last block is exactly full?"
DOWN = "Tokens are left over after the last full block. Where do they go?"


def _blocks(tokens: int, size: int) -> int:
    return -(-tokens // size)


def _all_blocks(i: SimpleNamespace) -> int:
    return sum(_blocks(n, i.block_size) for n in i.lengths)


def _unused(i: SimpleNamespace) -> int:
    return sum(-n % i.block_size for n in i.lengths)


def _gauge(i: SimpleNamespace) -> float:
    return _all_blocks(i) / i.num_blocks


def _stored(i: SimpleNamespace) -> float:
    return sum(i.lengths) / (i.num_blocks * i.block_size)


def _admitted(i: SimpleNamespace, spare: int, strict: int = 0, skip: bool = False) -> int:
    free, count = i.num_blocks - spare, 0
    for needed in (_blocks(n, i.block_size) for n in i.lengths):
        if needed + strict <= free:
            free, count = free - needed, count + 1
        elif not skip:
            break
    return count


def _by_slots(i: SimpleNamespace) -> int:
    free, count = (i.num_blocks - i.watermark_blocks) * i.block_size, 0
    for tokens in i.lengths:
        if tokens > free:
            break
        free, count = free - tokens, count + 1
    return count


def _each_time(i: SimpleNamespace) -> int:
    free, count = i.num_blocks, 0
    for needed in (_blocks(n, i.block_size) + i.watermark_blocks for n in i.lengths):
        if needed > free:
            break
        free, count = free - needed, count + 1
    return count


BLOCKS = Quantity(
    "blocks_for",
    ("tokens", "block_size"),
    lambda i: _blocks(i.tokens, i.block_size),
    ways=(
        Way("rounds down", lambda i: i.tokens // i.block_size, DOWN),
        Way("adds a block to full ones", lambda i: i.tokens // i.block_size + 1, EXTRA),
        Way("rounds to the nearest", lambda i: round(i.tokens / i.block_size),
            "Rounded to the nearest whole number. Does one token more than a full block need a block?"),
        Way("counts slots", lambda i: _blocks(i.tokens, i.block_size) * i.block_size,
            "These are slots. How many blocks are they?"),
    ),
)  # fmt: skip

LAST = Quantity(
    "last_block_tokens",
    ("tokens", "block_size"),
    lambda i: (i.tokens - 1) % i.block_size + 1 if i.tokens else 0,
    ways=(
        Way("takes the remainder", lambda i: i.tokens % i.block_size,
            "The remainder of the division. What does it say of a last block that is full?"),
        Way("counts the empty slots", lambda i: -i.tokens % i.block_size,
            "These are the slots of the last block that are empty."),
        Way("takes every last block for full", lambda i: i.block_size, "Not every last block is full."),
        Way("counts the empty slots, a full block's too", lambda i: i.block_size - i.tokens % i.block_size,
            "These are empty slots, and a full block has none."),
    ),
)  # fmt: skip

UNUSED = Quantity(
    "unused_slots",
    ("lengths", "block_size"),
    _unused,
    ways=(
        Way("counts a whole block where the last one is full",
            lambda i: sum(i.block_size - n % i.block_size for n in i.lengths),
            "A sequence that ends with its block leaves no slot empty."),
        Way("counts the tokens in the last blocks", lambda i: sum(n % i.block_size for n in i.lengths),
            "These slots hold tokens. How many are left beside them?"),
        Way("packs all sequences together", lambda i: -sum(i.lengths) % i.block_size, PACKED),
        Way("counts every slot held", lambda i: _all_blocks(i) * i.block_size,
            "These are all slots of the blocks. Some of them hold a token."),
        Way("takes the most that can be empty", lambda i: (i.block_size - 1) * len(i.lengths),
            "That is the most a sequence can leave empty. How much does each one of these leave?"),
    ),
)  # fmt: skip

GAP = Quantity(
    "usage_gap",
    ("lengths", "block_size", "num_blocks"),
    lambda i: _gauge(i) - _stored(i),
    tolerance=0.001,
    ways=(
        Way("reads the gauge alone", _gauge,
            "That is what the gauge shows. What share of the slots is filled?"),
        Way("takes the filled slots alone", _stored,
            "That is the share of filled slots. What does the gauge show?"),
        Way("takes the share of the blocks in use",
            lambda i: _all_blocks(i) and _unused(i) / (_all_blocks(i) * i.block_size),
            "That is a share of the blocks in use. The gauge is a share of the whole pool."),
        Way("counts slots or blocks, no share", _unused, "That counts slots. Of how many?"),
        Way("subtracts the wrong way round", lambda i: _stored(i) - _gauge(i),
            "The sign: can fewer slots be held than are filled?"),
        Way("counts tokens against blocks", lambda i: _gauge(i) - sum(i.lengths) / i.num_blocks,
            "Tokens are divided by blocks. How many slots has a block?"),
    ),
    slips=(Slip("gives percent", lambda i: 100.0, PERCENT, "scale"),),
)  # fmt: skip

FREE = Quantity(
    "num_free",
    ("num_blocks", "held"),
    lambda i: i.num_blocks - i.held,
    optional=("asked",),  # by a request that was refused
    ways=(
        Way("loses what a refused request had taken", lambda i: 0 if i.asked else None,
            "A refused request has taken blocks, and nobody holds them now. Ask before you take."),
        Way("counts the blocks in use", lambda i: i.held, "These blocks are out. How many are left?"),
        Way("never changes", lambda i: i.num_blocks, "That is the whole pool. Are there none out?"),
    ),
)  # fmt: skip

ENTRIES = Quantity(
    "table_entries",
    ("lengths", "block_size"),
    _all_blocks,
    ways=(
        Way("rounds down", lambda i: sum(n // i.block_size for n in i.lengths), DOWN),
        Way("adds a block to full ones", lambda i: sum(n // i.block_size + 1 for n in i.lengths), EXTRA),
        Way("packs all sequences together", lambda i: _blocks(sum(i.lengths), i.block_size), PACKED),
        Way("counts the longest table", lambda i: max(_blocks(n, i.block_size) for n in i.lengths),
            "That is one table. Each sequence has its own."),
        Way("counts tokens", lambda i: sum(i.lengths),
            "A table has an entry for each block, not for each token."),
    ),
)  # fmt: skip

WASTE = Quantity(
    "waste_share",
    ("lengths", "block_size"),
    lambda i: _unused(i) / (_all_blocks(i) * i.block_size),
    tolerance=0.0005,
    ways=(
        Way("divides by the tokens", lambda i: _unused(i) / sum(i.lengths),
            "Divided by the slots that hold a token. The share is of all slots held."),
        Way("gives the filled share", lambda i: sum(i.lengths) / (_all_blocks(i) * i.block_size),
            "That is the share that is used."),
        Way("averages the sequences' shares",
            lambda i: sum(-n % i.block_size / (_blocks(n, i.block_size) * i.block_size) for n in i.lengths)
            / len(i.lengths),
            "Averaged over sequences, so that a short one counts as much as a long one. Count slots."),
        Way("packs all sequences together",
            lambda i: -sum(i.lengths) % i.block_size / (_blocks(sum(i.lengths), i.block_size) * i.block_size),
            PACKED),
        Way("counts slots, no share", _unused, "That counts slots. Of how many?"),
    ),
    slips=(Slip("gives percent", lambda i: 100.0, PERCENT, "scale"),),
)  # fmt: skip

CHOICE = Quantity(
    "chosen_block_size",
    ("waste", "most"),
    lambda i: max(size for size, share in i.waste.items() if share <= i.most),
    ways=(
        Way("takes the least waste", lambda i: min(i.waste, key=i.waste.get),
            "That one wastes least. Is there a larger one that wastes no more than is allowed?"),
        Way("takes the smallest that will do",
            lambda i: min(s for s, share in i.waste.items() if share <= i.most),
            "It will do, and needs the longest tables. Which of those that will do has the shortest?"),
        Way("takes the largest", lambda i: max(i.waste), "That one wastes more than is allowed."),
        Way("takes the waste nearest to the limit",
            lambda i: min(i.waste, key=lambda size: abs(i.waste[size] - i.most)),
            "Nearest to the limit, from whichever side. The limit is not to be passed."),
        Way("leaves the limit itself out",
            lambda i: max((s for s, share in i.waste.items() if share < i.most), default=None),
            "`most` is allowed itself."),
    ),
)  # fmt: skip

ADMITTED = Quantity(
    "admitted",
    ("lengths", "num_blocks", "block_size", "watermark_blocks"),
    lambda i: _admitted(i, i.watermark_blocks),
    ways=(
        Way("forgets the watermark", lambda i: _admitted(i, 0),
            "No block is left for the sequences to grow. What does the watermark ask for?"),
        Way("counts slots, not blocks", _by_slots,
            "Tokens against slots. A block that one sequence has begun is closed to the others."),
        Way("lets later ones pass the first that must wait",
            lambda i: _admitted(i, i.watermark_blocks, skip=True),
            "Somebody was let in past a sequence that waits. First come, first served."),
        Way("asks for one block more", lambda i: _admitted(i, i.watermark_blocks, strict=1),
            "Exactly the watermark may be left."),
        Way("sets the watermark aside for each sequence", _each_time,
            "The watermark is taken off once for the pool, not again for each sequence."),
        Way("adds a block to full ones",
            lambda i: _admitted(SimpleNamespace(**vars(i) | {"lengths": [n + 1 for n in i.lengths]}),
                                i.watermark_blocks),
            EXTRA),
    ),
)  # fmt: skip

ALL = (BLOCKS, LAST, UNUSED, GAP, FREE, ENTRIES, WASTE, CHOICE, ADMITTED)
