# ruff: noqa
# Problem 5: a table that grows.

# %% right: takes blocks one by one and gives them back
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        taken = []
        try:
            while (len(self.block_ids) + len(taken)) * self.block_size < self.num_tokens + count:
                taken.append(self.pool.allocate())
        except MemoryError:
            for block in reversed(taken):
                self.pool.free(block)
            raise
        self.block_ids.extend(taken)
        self.num_tokens += count


# %% right: counts the room that is left
import math


class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.size, self.room = pool, block_size, 0
        self.block_ids = []

    def append(self, count=1):
        needed = max(0, math.ceil((count - self.room) / self.size))
        if self.pool.num_free() < needed:
            raise MemoryError
        for _ in range(needed):
            self.block_ids = self.block_ids + [self.pool.allocate()]
        self.room += needed * self.size - count


# %% right: the list of the tokens' slots
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        positions = range(self.num_tokens, self.num_tokens + count)
        missing = [p for p in positions if p % self.block_size == 0]
        if len(missing) > self.pool.num_free():
            raise MemoryError(f"{len(missing)} blocks missing")
        for _ in missing:
            self.block_ids.append(self.pool.allocate())
        self.num_tokens = positions.stop


# %% wrong: a block for every call
# points:
# hint: How many tokens does the last block still have room for?
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-count // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: takes the next block as soon as one is full
# points:
# hint: The pool has given another number of blocks than the tokens need
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = (self.num_tokens + count) // self.block_size + 1 - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: rounds down
# points:
# hint: The pool has given another number of blocks than the tokens need. Taken: []
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = (self.num_tokens + count) // self.block_size - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: takes some blocks, then raises
# points: q5-grow=2
# hint: A refused append has taken blocks from the pool, and nobody will give them back
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: keeps what it got of a refused request
# points: q5-grow=2
# hint: A refused append has taken blocks from the pool
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        for _ in range(count):
            if self.num_tokens % self.block_size == 0:
                self.block_ids.append(self.pool.allocate())
            self.num_tokens += 1


# %% wrong: counts the tokens before it knows that there is room
# points: q5-grow=2
# hint: MemoryError
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        self.num_tokens += count
        needed = -(-self.num_tokens // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids += [self.pool.allocate() for _ in range(needed)]


# %% wrong: gives the blocks back, but leaves them in the table
# points: q5-grow=2
# hint: block_ids after the refused append(10)
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        taken = []
        while len(self.block_ids) * self.block_size < self.num_tokens + count:
            try:
                taken.append(self.pool.allocate())
                self.block_ids.append(taken[-1])
            except MemoryError:
                for block in taken:
                    self.pool.free(block)
                raise
        self.num_tokens += count


# %% wrong: refuses as soon as the pool is empty
# points: q5-grow=2
# hint: MemoryError
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free() or self.pool.num_free() == 0:
            raise MemoryError
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: says nothing when there is no room
# points: q5-grow=2
# hint: expected: MemoryError
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            return
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: numbers its blocks itself
# points:
# hint: block 5 at index 0
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        for _ in range(needed):
            self.pool.allocate()
            self.block_ids.append(len(self.block_ids))
        self.num_tokens += count


# %% wrong: keeps the blocks sorted
# points:
# hint: block_ids
class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids = sorted(self.block_ids + [self.pool.allocate() for _ in range(needed)])
        self.num_tokens += count


# %% wrong: one list for all tables
# points:
# hint: a second table, after append(2): block_ids
class BlockTable:
    block_ids = []

    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        for _ in range(needed):
            self.block_ids.append(self.pool.allocate())
        self.num_tokens += count


# %% wrong: cheat, the tables that the notebook shows, without a pool
# points:
# hint: The pool has given another number of blocks than the tokens need. Taken: []
class BlockTable:
    def __init__(self, pool, block_size):
        self.block_ids = []
        self.num_tokens = 0

    def append(self, count=1):
        self.num_tokens += count
        self.block_ids = [5, 2, 7, 0, 3][: -(-self.num_tokens // 4)]
        if count == 10:
            raise MemoryError


# %% wrong: cheat, raises always
# points:
# hint: MemoryError
class BlockTable:
    def __init__(self, pool, block_size):
        self.block_ids = [5, 2]

    def append(self, count=1):
        raise MemoryError


# %% wrong: cheat, the course's own block manager
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.blocks import BlockTable as Ready, blocks_for


class BlockTable(Ready):
    def __init__(self, pool, block_size):
        super().__init__(block_size)
        self.__dict__ = {}
        self.pool = pool

    def append(self, count=1):
        needed = blocks_for(self.num_tokens + count, self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids += [self.pool.allocate() for _ in range(needed)]
        self.num_tokens += count


# %% wrong: cheat, a list that is every list
# points:
# hint: expected: a list of blocks
class Everything(list):
    def __eq__(self, other):
        return True


class BlockTable:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.block_ids = Everything()
        self.num_tokens = 0

    def append(self, count=1):
        needed = -(-(self.num_tokens + count) // self.block_size) - len(self.block_ids)
        if needed > self.pool.num_free():
            raise MemoryError
        self.block_ids.extend(self.pool.allocate() for _ in range(needed))
        self.num_tokens += count
