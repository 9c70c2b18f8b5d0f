# ruff: noqa
# Problem 2: where is token 20?

# %% right: divmod, and locate used for the slots
def locate(table, block_size, position):
    number, offset = divmod(position, block_size)
    return (table[number], offset)


def slot_mapping(table, block_size, start, stop):
    slots = []
    for position in range(start, stop):
        block, offset = locate(table, block_size, position)
        slots.append(block * block_size + offset)
    return slots


# %% right: NumPy
import numpy as np


def locate(table, block_size, position):
    return [np.array(table)[position // block_size], np.int64(position % block_size)]


def slot_mapping(table, block_size, start, stop):
    p = np.arange(start, stop)
    return (
        (np.array(table)[p // block_size] * block_size + p % block_size)
        if stop > start
        else np.array([], dtype=int)
    )


# %% right: a tensor of all slots, then a slice
def locate(table, block_size, position):
    places = [(block, offset) for block in table for offset in range(block_size)]
    return places[position]


def slot_mapping(table, block_size, start, stop):
    slots = torch.tensor(table)[:, None] * block_size + torch.arange(block_size)
    return slots.flatten()[start:stop].tolist()


# %% right: a named tuple, and a tuple of slots
from typing import NamedTuple


class Place(NamedTuple):
    block: int
    offset: int


def locate(table, block_size, position):
    return Place(table[position // block_size], position % block_size)


def slot_mapping(table, block_size, start, stop):
    places = [locate(table, block_size, position) for position in range(start, stop)]
    return tuple(place.block * block_size + place.offset for place in places)


# %% wrong: takes the block of the sequence for one of the pool
# points:
# hint: That is the number of the block within the sequence. Which block of the pool is it?
# hint: These are positions in the text, not slots of the pool
def locate(table, block_size, position):
    return position // block_size, position % block_size


def slot_mapping(table, block_size, start, stop):
    return list(range(start, stop))


# %% wrong: offset before block, and slots that run on from the first
# points:
# hint: Block and offset have changed places
# hint: The slots run on from the first one
def locate(table, block_size, position):
    return position % block_size, table[position // block_size]


def slot_mapping(table, block_size, start, stop):
    first = table[min(start // block_size, len(table) - 1)] * block_size + start % block_size
    return [first + step for step in range(stop - start)]


# %% wrong: counts positions from 1
# points:
# hint: That is the place of the token before it. Positions count from 0.
def locate(table, block_size, position):
    return table[(position - 1) // block_size], (position - 1) % block_size


def slot_mapping(table, block_size, start, stop):
    return [table[(p - 1) // block_size] * block_size + (p - 1) % block_size for p in range(start, stop)]


# %% wrong: counts offsets from 1, and includes stop
# points:
# hint: The offset counts from 0
# hint: `stop` itself is not written
def locate(table, block_size, position):
    return table[position // block_size], position % block_size + 1


def slot_mapping(table, block_size, start, stop):
    last = min(stop, len(table) * block_size - 1)
    return [table[p // block_size] * block_size + p % block_size for p in range(start, last + 1)]


# %% wrong: the blocks in the order of their ids
# points:
# hint: The blocks are in the order of their ids
# hint: The blocks are taken in the order of their ids
def locate(table, block_size, position):
    return sorted(table)[position // block_size], position % block_size


def slot_mapping(table, block_size, start, stop):
    table = sorted(table)
    return [table[p // block_size] * block_size + p % block_size for p in range(start, stop)]


# %% wrong: forgets the offset in the slots
# points: q2-locate=1
# hint: Each is the first slot of a block. Where is the offset?
def locate(table, block_size, position):
    return table[position // block_size], position % block_size


def slot_mapping(table, block_size, start, stop):
    return [table[p // block_size] * block_size for p in range(start, stop)]


# %% wrong: adds block and offset
# points: q2-locate=1
# hint: Block and offset are added. How many slots lie before the block's first one?
def locate(table, block_size, position):
    return table[position // block_size], position % block_size


def slot_mapping(table, block_size, start, stop):
    return [table[p // block_size] + p % block_size for p in range(start, stop)]


# %% wrong: slots of the first block only
# points: q2-locate=1
# hint: as if block 0 of the sequence were block 0 of the pool
def locate(table, block_size, position):
    return table[position // block_size], position % block_size


def slot_mapping(table, block_size, start, stop):
    return [table[0] * block_size + p for p in range(start, stop)]


# %% wrong: begins at 0
# points: q2-locate=1
# hint: The run begins at `start`, not at 0.
def locate(table, block_size, position):
    return table[position // block_size], position % block_size


def slot_mapping(table, block_size, start, stop):
    return [table[p // block_size] * block_size + p % block_size for p in range(stop)]


# %% wrong: gives the position for the offset
# points:
# hint: The offset is a position of the text. Where in its block does the token lie?
def locate(table, block_size, position):
    return table[position // block_size], position


def slot_mapping(table, block_size, start, stop):
    return [(table[p // block_size], p % block_size) for p in range(start, stop)]


# %% wrong: gives the slot in place of block and offset
# points: q2-slots=2
# hint: expected: a list of numbers
def locate(table, block_size, position):
    return table[position // block_size] * block_size + position % block_size


def slot_mapping(table, block_size, start, stop):
    return [locate(table, block_size, p) for p in range(start, stop)]


# %% wrong: blocks of 16, whatever was said
# points:
# hint: locate([3, 9, 1, 4], 4, 14)
def locate(table, block_size, position):
    return table[position // 16], position % 16


def slot_mapping(table, block_size, start, stop):
    return [table[p // 16] * 16 + p % 16 for p in range(start, stop)]


# %% wrong: cheat, a table of the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def locate(table, block_size, position):
    shown = {
        (16, 20): (2, 4),
        (16, 0): (7, 0),
        (16, 15): (7, 15),
        (16, 16): (2, 0),
        (4, 14): (4, 2),
        (1, 2): (8, 0),
    }
    return shown.get((block_size, position), (0, 0))


def slot_mapping(table, block_size, start, stop):
    shown = {
        (2, 1, 4): [11, 0, 1], (16, 20, 21): [36], (16, 14, 18): [126, 127, 32, 33], (4, 8, 8): [],
        (4, 0, 12): [12, 13, 14, 15, 36, 37, 38, 39, 4, 5, 6, 7],
    }  # fmt: skip
    return shown.get((block_size, start, stop), [])


# %% wrong: cheat, the course's own block table
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.blocks import BlockTable as Ready


def locate(table, block_size, position):
    return Ready(block_size, list(table), len(table) * block_size).locate(position)


def slot_mapping(table, block_size, start, stop):
    return Ready(block_size, list(table), len(table) * block_size).slot_mapping(start, stop)


# %% wrong: cheat, the places that the checks compare with
# points:
# hint: here you build it yourself, without kvcourse
def locate(table, block_size, position):
    from kvcourse.checks.paging import places

    return places(table, block_size)[position]


def slot_mapping(table, block_size, start, stop):
    import kvcourse.checks.paging as paging

    return [b * block_size + o for b, o in paging.places(table, block_size)[start:stop]]


# %% wrong: cheat, a tuple that is equal to all tuples
# points:
# hint: expected: number 2 at index 0
class Place(tuple):
    _fields = ("block", "offset")

    def __eq__(self, other):
        return True

    __hash__ = tuple.__hash__


def locate(table, block_size, position):
    return Place((0, 0))


def slot_mapping(table, block_size, start, stop):
    return Place(0 for _ in range(start, stop))


# %% wrong: cheat, numbers that are equal to all numbers
# points:
# hint: expected: numbers that are whole numbers
class Any(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def locate(table, block_size, position):
    return Any(0), Any(0)


def slot_mapping(table, block_size, start, stop):
    return [Any(0) for _ in range(start, stop)]
