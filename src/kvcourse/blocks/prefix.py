"""The prefix index: from the key of a block's content to the blocks that hold it."""

from collections.abc import Iterable

from kvcourse.blocks.errors import whole_number


def hit_limit(num_tokens: int, block_size: int) -> int:
    """Blocks of a prompt that a hit may cover: its last token must run, or there are no logits to sample.

    Whole blocks only, so a prompt that fills its blocks exactly loses a whole one: 32 tokens in blocks of 16
    hit 16.
    """
    num_tokens = whole_number(num_tokens, "the number of tokens", 1)
    return (num_tokens - 1) // whole_number(block_size, "the block size")


class PrefixIndex:
    """Keys of full blocks, held or free. A block has one key at most; a key may stand for several blocks.

    Two sequences that fill equal blocks at the same time keep one each: a block table never changes under a
    running sequence, so copies are not merged. A hit takes the one that was indexed first.
    """

    def __init__(self):
        self._key_of: dict[int, bytes] = {}
        self._blocks_of: dict[bytes, dict[int, None]] = {}  # a dict is a set that keeps its order

    def __contains__(self, block: int) -> bool:
        return block in self._key_of

    def __len__(self) -> int:
        return len(self._key_of)

    def key(self, block: int) -> bytes | None:
        return self._key_of.get(block)

    def blocks(self, key: bytes) -> list[int]:
        return list(self._blocks_of.get(key, ()))

    def insert(self, key: bytes, block: int) -> None:
        self.forget(block)
        self._key_of[block] = key
        self._blocks_of.setdefault(key, {})[block] = None

    def match(self, keys: Iterable[bytes]) -> list[int]:
        """Blocks for the longest run of keys from the first one on: a match after a miss is of no use."""
        hits = []
        for key in keys:
            if key not in self._blocks_of:
                break
            hits.append(next(iter(self._blocks_of[key])))
        return hits

    def forget(self, block: int) -> bool:
        """Drop the block's key, since its content is about to change; False if it had none."""
        key = self._key_of.pop(block, None)
        if key is None:
            return False
        del self._blocks_of[key][block]
        if not self._blocks_of[key]:
            del self._blocks_of[key]
        return True

    def clear(self) -> None:
        self._key_of.clear()
        self._blocks_of.clear()
