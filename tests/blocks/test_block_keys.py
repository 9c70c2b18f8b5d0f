"""Keys: which are equal and which are not. A decoder that inverts the encoding proves it unambiguous."""

import struct
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import BlockError, BlockManager, block_key, block_keys, encode, root_key

PROMPT = list(range(10, 22))  # three blocks of four

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda values: st.lists(values, max_size=4),
    max_leaves=12,
)


def decode(data):
    """(value, rest): reads back what `encode` wrote, and so shows that no two values are written alike."""
    letter, data = data[:1], data[1:]
    if letter in b"NFT":
        return {b"N": None, b"F": False, b"T": True}[letter], data
    (length,) = struct.unpack(">Q", data[:8])
    data = data[8:]
    if letter == b"l":
        values = []
        for _ in range(length):
            value, data = decode(data)
            values.append(value)
        return values, data
    content, rest = data[:length], data[length:]
    assert len(content) == length
    read = {
        b"i": lambda: int.from_bytes(content, "big", signed=True),
        b"s": lambda: content.decode("utf-8", "surrogatepass"),
        b"b": lambda: content,
    }
    return read[letter](), rest


def same(a, b):
    """Equal in value and type: True is not 1 here."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@settings(deadline=None)
@given(plain, st.binary(max_size=4))
def test_what_was_encoded_can_be_read_back_and_ends_where_it_ends(value, rest):
    decoded, left = decode(encode(value) + rest)
    assert same(decoded, value) and left == rest


@settings(deadline=None)
@given(plain, plain)
def test_two_values_have_the_same_bytes_only_if_they_are_the_same(a, b):
    assert (encode(a) == encode(b)) == same(a, b)


def test_pieces_do_not_run_into_each_other():
    alike = [
        ["ab", "c"],
        ["a", "bc"],
        ["abc"],
        "abc",
        b"abc",
        [["ab"], "c"],
        ["ab", "c", ""],
        [],
        "",
        None,
        0,
    ]
    assert len({encode(value) for value in alike}) == len(alike)
    assert encode((1, "a")) == encode([1, "a"])
    assert encode(np.int64(7)) == encode(7)
    assert encode("\ud800") != encode("?")


@pytest.mark.parametrize("value", [1.5, {"a": 1}, {1}, object(), [1, [2.0]]])
def test_a_value_without_a_canonical_form_is_refused(value):
    with pytest.raises(BlockError, match="a block key is made of"):
        encode(value)


def test_the_key_is_the_hash_the_docstring_says():
    parent = root_key(["adapter-7"])
    expected_root = (
        b"kvcourse-block-key-1l" + struct.pack(">Q", 1) + b"s" + struct.pack(">Q", 9) + b"adapter-7"
    )
    assert parent == sha256(expected_root).digest()
    images = b"l" + struct.pack(">Q", 0)
    assert block_key(parent, [5, 6]) == sha256(parent + struct.pack(">Qqq", 2, 5, 6) + images).digest()


def test_only_full_blocks_have_a_key():
    assert [len(block_keys(PROMPT[:n], 4)) for n in (1, 3, 4, 5, 8, 12)] == [0, 0, 1, 1, 2, 3]
    assert block_keys(PROMPT[:11], 4) == block_keys(PROMPT, 4)[:2]


def test_a_changed_token_changes_its_block_and_all_later_ones():
    keys = block_keys(PROMPT, 4)
    for position in range(12):
        changed = block_keys([*PROMPT[:position], 99, *PROMPT[position + 1 :]], 4)
        assert [a == b for a, b in zip(keys, changed, strict=True)] == [
            number < position // 4 for number in range(3)
        ]


def test_the_same_tokens_after_other_ones_are_another_block():
    keys = block_keys([1, 2, 1, 2, 1, 2], 2)
    assert len(set(keys)) == 3


def test_block_sizes_do_not_mix():
    assert not set(block_keys(PROMPT, 2)) & set(block_keys(PROMPT, 4))


@pytest.mark.parametrize("extras", ["adapter-7", ("adapter", 7), ["salt", b"x"], 0, False, None])
def test_extras_set_every_block_apart(extras):
    assert not set(block_keys(PROMPT, 4)) & set(block_keys(PROMPT, 4, extras))
    assert block_keys(PROMPT, 4, extras) == block_keys(PROMPT, 4, extras)


def test_an_image_sets_apart_the_blocks_it_stands_in_and_those_after():
    bare = block_keys(PROMPT, 4)
    cat = block_keys(PROMPT, 4, images=[(5, 7, "cat")])
    dog = block_keys(PROMPT, 4, images=[(5, 7, "dog")])
    assert bare[0] == cat[0] == dog[0], "text before an image is shared"
    for number in (1, 2):
        assert len({bare[number], cat[number], dog[number]}) == 3


def test_where_an_image_starts_and_ends_matters_and_an_image_reaches_over_blocks():
    tokens = [0] * 12  # placeholders only: nothing but the image tells the blocks apart
    assert len({block_keys(tokens, 4, images=[(start, 8, "cat")])[1] for start in (3, 4, 5)}) == 3
    assert len({block_keys(tokens, 4, images=[(3, stop, "cat")])[1] for stop in (5, 6, 8)}) == 3
    assert len({block_keys(tokens, 4, images=[(3, stop, "cat")])[1] for stop in (8, 9, 20)}) == 1
    assert (
        block_keys(tokens, 4, images=[(2, 9, "cat")])[2] != block_keys(tokens, 4, images=[(2, 8, "cat")])[2]
    )


@pytest.mark.parametrize(
    "images", [[(0, 0, "a")], [(-1, 2, "a")], [(0, 2, 3)], [(0, 2, "")], [(0, 2)], [7], 7]
)
def test_an_image_is_two_positions_and_a_hash(images):
    with pytest.raises(BlockError, match="image"):
        block_keys(PROMPT, 4, images=images)


@pytest.mark.parametrize("tokens", [[], [1.5], ["a"], [2**63], None, "abc"])
def test_tokens_are_64_bit_whole_numbers(tokens):
    with pytest.raises(BlockError, match="tokens"):
        block_keys(tokens, 4)


def test_the_block_size_is_above_zero():
    for block_size in (0, -4, 1.5, True):
        with pytest.raises(BlockError, match="block size"):
            block_keys(PROMPT, block_size)


def test_lists_too_deep_for_a_key_are_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    endless = []
    endless.append(endless)
    for extras in (deep, endless):
        with pytest.raises(BlockError, match="not this deep"):
            root_key(extras)
        with pytest.raises(BlockError, match="not this deep"):
            BlockManager(4).start("a", [1], extras)
    while deep:  # one at a time: freeing it at once would recurse
        deep = deep[0]
