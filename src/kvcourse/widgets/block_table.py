"""The block-table explorer: a few operations on a small pool, replayed by the package's block manager.

An explorer's state is the list of its operations, so undoing is dropping the last one, and another block size
is the same list again. `block_table.js` replays it with an allocator of its own; a test compares the two
after every operation of many lists.

    ["start", "A", 6]    ["append", "A", 1]    ["fork", "A", "B"]    ["free", "A"]
"""

from collections.abc import Sequence

from kvcourse.blocks import BlockManager
from kvcourse.errors import UserError, shown

SLOTS = 48  # of the pool, at any block size
BLOCK_SIZES = (2, 4, 8, 16)
NAMES = "ABCDE"  # more sequences than that no longer fit a phone's screen
MOST_TOKENS = 16  # that one operation adds
FORMS = '["start" or "append", name, tokens], ["fork", name, name] or ["free", name]'


def replay(operations: Sequence[Sequence], block_size: int) -> BlockManager:
    """The block manager after `operations`. Raises UserError for one that is unknown or cannot be done."""
    if block_size not in BLOCK_SIZES or isinstance(block_size, bool):
        known = ", ".join(map(str, BLOCK_SIZES))
        raise UserError(f"viz.block_table: expected a block size among {known}, got {shown(block_size)}.")
    manager = BlockManager(SLOTS // block_size, block_size, prefix_caching=False)
    for number, operation in enumerate(operations, start=1):
        where = f"viz.block_table: operation {number}"
        if not _is_known(operation):
            raise UserError(f"{where}: expected {FORMS}, got {shown(operation)}.")
        try:
            apply(manager, operation)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
    return manager


def apply(manager: BlockManager, operation: Sequence) -> None:
    """Carry out one operation, or raise the manager's own error; tokens are all alike, for nothing is shared
    by content here."""
    kind, name, *rest = operation
    if kind == "start":
        manager.start(name, [0] * rest[0])
    elif kind == "append":
        manager.append(name, [0] * rest[0])
    elif kind == "fork":
        manager.fork(name, rest[0])
    else:
        manager.free(name)


def _is_known(operation: object) -> bool:
    match operation:
        case ["start" | "append", name, int(tokens)]:
            return _is_name(name) and not isinstance(tokens, bool) and 1 <= tokens <= MOST_TOKENS
        case ["fork", parent, child]:
            return _is_name(parent) and _is_name(child)
        case ["free", name]:
            return _is_name(name)
    return False


def _is_name(name: object) -> bool:
    return isinstance(name, str) and len(name) == 1 and name in NAMES


def state(operations: Sequence[Sequence], block_size: int, sequence: str, position: int) -> dict:
    """The widget's first state. Raises UserError for operations or a choice that it cannot show."""
    manager = replay(operations, block_size)
    if not _is_name(sequence) or sequence not in manager:
        running = ", ".join(manager.sequences) or "none"
        raise UserError(f"viz.block_table: expected a running sequence ({running}), got {shown(sequence)}.")
    last = manager.num_tokens(sequence) - 1
    if type(position) is not int or not 0 <= position <= last:
        raise UserError(f"viz.block_table: expected a position from 0 to {last}, got {shown(position)}.")
    return {
        "block_size": block_size,
        "operations": [list(operation) for operation in operations],
        "sequence": sequence,
        "position": position,
    }
