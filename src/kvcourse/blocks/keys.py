"""The key of a block's content: two blocks have the same one exactly when what they cache is the same.

The KV of a token depends on every token before it, so a block's key chains its parent's. It depends on more
than tokens: another adapter, or an image behind a placeholder token, gives other KV for the same ids. And
some must not share although they could: a salt per tenant keeps one from timing what another has cached.

The encoding. A key is a hash of bytes, so two different inputs must never give the same bytes. Plain
concatenation would: "ab" + "c" and "a" + "bc". Every value is written as a type letter, a length, and its
content; such a piece says where it ends, so a row of them can be read back in one way only.

    letters    N None, F False, T True (these three end there), i int (two's complement), s text (UTF-8),
               b bytes, l list or tuple (its length is the number of items, its content the items)
    root key   SHA-256 of: "kvcourse-block-key-1", encode(extras)
    block key  SHA-256 of: the parent's key, the number of tokens, each token, encode(images)

Lengths, the number of tokens and tokens are big-endian 64-bit numbers, a key is 32 bytes. SHA-256 because
Python's `hash()` and other fast hashes can be made to collide on purpose, and a collision hands out another
user's KV (vLLM advisory GHSA-rm76-4mrf-v9r8, 2025).
"""

import operator
import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256

from kvcourse.blocks.errors import BlockError, whole_number, whole_numbers
from kvcourse.errors import shown

Image = tuple[int, int, str | bytes]  # it stands at positions start..stop-1; hash of its content


def encode(value: object) -> bytes:
    """The bytes of a plain value, different for every two different values. A list equals a tuple."""
    try:
        return _encoded(value)
    except RecursionError:
        raise BlockError("a block key is made of lists in lists, but not this deep.") from None


def _encoded(value: object) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, str):
        return _piece(b"s", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return _piece(b"b", value)
    if isinstance(value, list | tuple):
        return b"l" + struct.pack(">Q", len(value)) + b"".join(map(_encoded, value))
    try:
        number = operator.index(value)
    except TypeError:
        raise BlockError(
            f"a block key is made of None, bool, int, text, bytes and lists of these; got {shown(value)}."
        ) from None
    return _piece(b"i", number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def _piece(letter: bytes, content: bytes) -> bytes:
    return letter + struct.pack(">Q", len(content)) + content


def root_key(extras: object = ()) -> bytes:
    """The parent of a first block: all that sets a whole sequence apart, such as its adapter and its salt."""
    return sha256(b"kvcourse-block-key-1" + encode(extras)).digest()


def block_key(parent: bytes, tokens: Sequence[int], images: Sequence[Image] = ()) -> bytes:
    """The key of one full block. Positions of `images` are counted from its first token here.

    BlockError for a parent that is no bytes, and for tokens that are no 64-bit whole numbers.
    """
    try:
        packed = parent + struct.pack(f">Q{len(tokens)}q", len(tokens), *tokens)
    except (struct.error, TypeError):
        if not isinstance(parent, bytes):
            raise BlockError(f"the parent of a block is a key in bytes; got {shown(parent)}.") from None
        raise BlockError(
            f"the tokens of a block must be 64-bit whole numbers; got {shown(tokens)}."
        ) from None
    return sha256(packed + encode(images)).digest()


def block_keys(
    tokens: Iterable[int], block_size: int, extras: object = (), images: Iterable[Image] = ()
) -> list[bytes]:
    """The chained keys of all full blocks of `tokens`; a part-filled last block has none."""
    block_size = whole_number(block_size, "the block size")
    keys: list[bytes] = []
    extend_keys(keys, checked_tokens(tokens), block_size, root_key(extras), checked_images(images))
    return keys


def extend_keys(
    keys: list[bytes], tokens: Sequence[int], block_size: int, root: bytes, images: Sequence[Image]
) -> None:
    """Add to `keys`, those of the first blocks, the ones of all further full blocks of `tokens`."""
    for begin in range(len(keys) * block_size, len(tokens) - block_size + 1, block_size):
        end = begin + block_size
        inside = [
            (start - begin, min(stop, end) - begin, content)
            for start, stop, content in images
            if start < end and stop > begin
        ]
        keys.append(block_key(keys[-1] if keys else root, tokens[begin:end], inside))


def checked_tokens(tokens: int | Iterable[int], name: str = "the tokens") -> list[int]:
    """One token or several as a list; a BlockError for none, or for one that does not fit in 64 bits."""
    try:
        tokens = [operator.index(tokens)]
    except TypeError:
        tokens = whole_numbers(tokens, name)
    if not tokens or not -(2**63) <= min(tokens) <= max(tokens) < 2**63:
        raise BlockError(f"{name} must be one or more 64-bit whole numbers; got {shown(tokens)}.")
    return tokens


def checked_images(images: Iterable[Image]) -> list[Image]:
    """`images` as (start, stop, hash) with 0 <= start < stop, or a BlockError."""
    try:
        images = [(start, stop, content) for start, stop, content in images]
    except (TypeError, ValueError):
        raise BlockError(f"images are given as (start, stop, hash) each; got {shown(images)}.") from None
    checked = []
    for start, stop, content in images:
        start = whole_number(start, "an image's first position", 0)
        stop = whole_number(stop, "the position after an image", start + 1)
        if not isinstance(content, str | bytes) or not content:
            raise BlockError(f"an image's hash must be text or bytes; got {shown(content)}.")
        checked.append((start, stop, content))
    return checked
