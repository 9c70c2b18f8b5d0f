"""The free list against a plain list that does the same the slow way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import FreeList

CAPACITY = 8


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["pop", "front", "back", "remove"]), st.integers(0, CAPACITY))))
def test_it_does_what_a_plain_list_does(operations):
    free, plain = FreeList(CAPACITY), []
    for name, number in operations:
        outside = [block for block in range(CAPACITY) if block not in plain]
        if name == "pop":
            number = min(number, len(plain))
            assert free.pop_front(number) == plain[:number]
            del plain[:number]
        elif name == "front":
            free.push_front(outside[:number])
            plain[:0] = outside[:number]
        elif name == "back":
            free.push_back(outside[:number])
            plain += outside[:number]
        elif plain:
            block = plain.pop(number % len(plain))
            free.remove(block)
        assert list(free) == plain
        assert len(free) == len(plain)


def test_a_list_of_one_block_empties_and_fills_again():
    free = FreeList(1)
    for push in (free.push_front, free.push_back):
        push([0])
        assert list(free) == [0]
        free.remove(0)
        assert list(free) == [] and len(free) == 0
