# ruff: noqa
# Problem 5: the arithmetic of buddies.

# %% right: bits
# cell: q5-up
def rounded(size):
    return 1 << (size - 1).bit_length()


# cell: q5-halves
def split_chain(free, size):
    wanted = 1 << (size - 1).bit_length()
    return [1 << k for k in range(free.bit_length() - 1, wanted.bit_length() - 2, -1)]


# cell: q5-other
def buddy(start, size):
    return start ^ size


# %% right: lower or upper half, by the remainder
# cell: q5-up
def rounded(size):
    return 2 ** math.ceil(math.log2(size))


# cell: q5-halves
def split_chain(free, size):
    return [free] if free == rounded(size) else [free, *split_chain(free // 2, size)]


# cell: q5-other
def buddy(start, size):
    return start + size if start % (2 * size) == 0 else start - size


# %% right: by the number of the region, as NumPy
# cell: q5-up
def rounded(size):
    powers = 2 ** np.arange(40)
    return powers[powers >= size][0]


# cell: q5-halves
def split_chain(free, size):
    chain = (free,)
    while chain[-1] // 2 >= size:
        chain += (chain[-1] // 2,)
    return chain


# cell: q5-other
def buddy(start, size):
    number = start // size
    return (number + 1 if number % 2 == 0 else number - 1) * size


# %% wrong: the buddy is behind
# points: q5-round=1 q5-chain=1
# hint: The region behind it
# cell: q5-other
def buddy(start, size):
    return start + size


# %% wrong: the buddy is before
# points: q5-round=1 q5-chain=1
# hint: The region before it
# cell: q5-other
def buddy(start, size):
    return start - size


# %% wrong: where the pair begins
# points: q5-round=1 q5-chain=1
# hint: There the two of them begin together
# cell: q5-other
def buddy(start, size):
    return start - start % (2 * size)


# %% wrong: takes the bit of half the size
# points: q5-round=1 q5-chain=1
# hint: buddy(8, 4)
# cell: q5-other
def buddy(start, size):
    return start ^ (size // 2)


# %% wrong: by the parity of the start
# points: q5-round=1 q5-chain=1
# hint: The region behind it
# cell: q5-other
def buddy(start, size):
    return start + size if start % 2 == 0 else start - size


# %% wrong: rounds powers of two up
# points: q5-chain=1 q5-buddy=2
# hint: this size is a power of two already
# cell: q5-up
def rounded(size):
    return 1 << size.bit_length()


# %% wrong: rounds down
# points: q5-chain=1 q5-buddy=2
# hint: Smaller than what was asked for
# cell: q5-up
def rounded(size):
    return 1 << (size.bit_length() - 1)


# %% wrong: does not round
# points: q5-chain=1 q5-buddy=2
# hint: A region's size is a power of two
# cell: q5-up
def rounded(size):
    return size


# %% wrong: splits once too often
# points: q5-round=1 q5-buddy=2
# hint: The last one is too small
# cell: q5-halves
def split_chain(free, size):
    chain = [free]
    while chain[-1] >= size and chain[-1] > 1:
        chain.append(chain[-1] // 2)
    return chain


# %% wrong: forgets the region it begins with
# points: q5-round=1 q5-buddy=2
# hint: It begins with the free region itself
# cell: q5-halves
def split_chain(free, size):
    chain = []
    while free // 2 >= size:
        free //= 2
        chain.append(free)
    return chain


# %% wrong: from small to large
# points: q5-round=1 q5-buddy=2
# hint: From the largest down to the one that is given
# cell: q5-halves
def split_chain(free, size):
    chain = [free]
    while chain[0] // 2 >= size:
        chain.insert(0, chain[0] // 2)
    return chain


# %% wrong: splits to the size itself
# points: q5-round=1 q5-buddy=2
# hint: The last one is too small
# cell: q5-halves
def split_chain(free, size):
    chain = [free]
    while chain[-1] > size:
        chain.append(chain[-1] // 2)
    return chain


# %% wrong: the halves that stay free
# points: q5-round=1 q5-buddy=2
# hint: It begins with the free region itself
# cell: q5-halves
def split_chain(free, size):
    halves = []
    while free // 2 >= size:
        free //= 2
        halves.append(free)
    return halves or [0]


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
# cell: q5-up
from kvcourse.reservation import next_power_of_two as rounded


# cell: q5-halves
def split_chain(free, size):
    from kvcourse.reservation import BuddyAllocator

    pool = BuddyAllocator(free)
    pool.allocate(size)
    return [free, *sorted({hole.size for hole in pool.holes()}, reverse=True)]


# cell: q5-other
def buddy(start, size):
    from kvcourse.checks import right_value

    return right_value("buddy_start", start=start, size=size)


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
# cell: q5-up
def rounded(size):
    return {3: 4, 4: 4, 5: 8, 1: 1, 2: 2}.get(size, 1024)


# cell: q5-halves
def split_chain(free, size):
    return {(16, 3): [16, 8, 4], (16, 8): [16, 8], (16, 9): [16], (4, 1): [4, 2, 1]}.get((free, size), [1])


# cell: q5-other
def buddy(start, size):
    return {(8, 4): 12, (12, 4): 8, (0, 4): 4, (4, 4): 0, (96, 32): 64}.get((start, size), 0)


# %% wrong: cheat, a list that equals every list
# points:
# hint: a value of type Anything
# cell: q5-up
class Anything(list):
    def __eq__(self, other):
        return True

    def __len__(self):
        return 3


def rounded(size):
    return Anything()


# cell: q5-halves
def split_chain(free, size):
    return Anything()


# cell: q5-other
def buddy(start, size):
    return Anything()
