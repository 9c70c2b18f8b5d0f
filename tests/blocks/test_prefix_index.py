import pytest

from kvcourse.blocks import BlockError, PrefixIndex, hit_limit

A, B, C = b"a" * 32, b"b" * 32, b"c" * 32


def test_at_least_the_last_token_must_run():
    assert [hit_limit(n, 16) * 16 for n in (1, 15, 16, 17, 32, 33, 8192)] == [0, 0, 0, 16, 16, 32, 8176]
    assert [hit_limit(n, 1) for n in (1, 2, 5)] == [0, 1, 4]


@pytest.mark.parametrize("bad", [0, -1, 1.5, "4", None, True])
def test_no_prompt_is_empty_and_no_block(bad):
    for sizes in ((bad, 4), (4, bad)):
        with pytest.raises(BlockError, match="must be a whole number"):
            hit_limit(*sizes)


def test_a_match_ends_at_the_first_miss():
    index = PrefixIndex()
    index.insert(A, 1)
    index.insert(C, 3)
    assert index.match([A, B, C]) == [1]
    assert index.match([B, C]) == []
    assert index.match([]) == []


def test_equal_blocks_are_kept_side_by_side_and_the_first_is_found():
    index = PrefixIndex()
    index.insert(A, 5)
    index.insert(A, 2)
    assert index.match([A]) == [5]
    assert index.blocks(A) == [5, 2]
    assert index.forget(5)
    assert index.match([A]) == [2]
    assert index.forget(2)
    assert index.match([A]) == [] and len(index) == 0
    assert not index.forget(2)


def test_a_block_has_one_key():
    index = PrefixIndex()
    index.insert(A, 1)
    index.insert(B, 1)
    assert index.match([A]) == [] and index.match([B]) == [1]
    assert index.key(1) == B and len(index) == 1


def test_clear_forgets_everything():
    index = PrefixIndex()
    index.insert(A, 1)
    index.clear()
    assert index.match([A]) == [] and 1 not in index and index.key(1) is None
