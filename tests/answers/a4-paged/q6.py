# ruff: noqa
# Problem 6: shared blocks, copied on write.

# %% right: asks who else has the block, without counts
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size, self.all = pool, block_size, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.all[name] = ([self.pool.allocate() for _ in range(needed)], tokens)

    def fork(self, parent, child):
        table, tokens = self.all[parent]
        self.all[child] = (table[:], tokens)

    def append(self, name):
        table, tokens = self.all[name]
        others = [block for other, (blocks, _) in self.all.items() if other != name for block in blocks]
        copy = []
        if tokens == len(table) * self.block_size:
            table = table + [self.pool.allocate()]
        elif table[-1] in others:
            copy = [table[-1], self.pool.allocate()]
            table = table[:-1] + copy[1:]
        self.all[name] = (table, tokens + 1)
        return copy

    def free(self, name):
        table, _ = self.all.pop(name)
        kept = {block for blocks, _ in self.all.values() for block in blocks}
        for block in table:
            if block not in kept:
                self.pool.free(block)

    def table(self, name):
        return self.all[name][0]


# %% right: a set of names for each block, a rollback in start, tuples
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Sequence:
    tokens: int
    blocks: list = field(default_factory=list)


class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.sequences, self.users = {}, defaultdict(set)

    def _take(self, name):
        block = self.pool.allocate()
        self.users[block] = {name}
        return block

    def _leave(self, name, block):
        self.users[block].discard(name)
        if not self.users[block]:
            self.pool.free(block)

    def start(self, name, tokens):
        blocks = []
        try:
            while len(blocks) * self.block_size < tokens:
                blocks.append(self._take(name))
        except MemoryError:
            for block in blocks:
                self._leave(name, block)
            raise
        self.sequences[name] = Sequence(tokens, blocks)

    def fork(self, parent, child):
        old = self.sequences[parent]
        self.sequences[child] = Sequence(old.tokens, list(old.blocks))
        for block in old.blocks:
            self.users[block].add(child)

    def append(self, name):
        sequence = self.sequences[name]
        offset = sequence.tokens % self.block_size
        if offset == 0:
            sequence.blocks.append(self._take(name))
        elif len(self.users[sequence.blocks[-1]]) > 1:
            new = self._take(name)
            old, sequence.blocks[-1] = sequence.blocks[-1], new
            self._leave(name, old)
            sequence.tokens += 1
            return (old, new)
        sequence.tokens += 1
        return ()

    def free(self, name):
        for block in reversed(self.sequences.pop(name).blocks):
            self._leave(name, block)

    def table(self, name):
        return tuple(self.sequences[name].blocks)


# %% right: counts with a Counter, checks the pool first
from collections import Counter


class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.tokens, self.count = {}, Counter(), Counter()

    def start(self, name, tokens):
        needed = (tokens + self.block_size - 1) // self.block_size
        if self.pool.num_free() < needed:
            raise MemoryError(f"{needed} blocks wanted")
        self.tables[name] = []
        for _ in range(needed):
            self.tables[name].append(self.pool.allocate())
        self.count.update(self.tables[name])
        self.tokens[name] = tokens

    def fork(self, parent, child):
        self.tables[child] = [*self.tables[parent]]
        self.tokens[child] = self.tokens[parent]
        self.count.update(self.tables[child])

    def append(self, name):
        last = self.tables[name][-1]
        full = self.tokens[name] % self.block_size == 0
        copy = []
        if full or self.count[last] > 1:
            if self.pool.num_free() == 0:
                raise MemoryError("no block is free")
            block = self.pool.allocate()
            self.count[block] += 1
            if not full:
                self.tables[name].pop()
                self.count[last] -= 1
                copy = [last, block]
            self.tables[name].append(block)
        self.tokens[name] += 1
        return copy

    def free(self, name):
        self.count.subtract(self.tables[name])
        for block in self.tables.pop(name):
            if not self.count[block]:
                self.pool.free(block)

    def table(self, name):
        return self.tables[name].copy()


# %% wrong: copies every block at the fork
# points:
# hint: A fork takes no block: the child's table names the parent's blocks
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.start(child, self.lengths[parent])

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: writes into the shared block
# points: q6-fork=2 q6-free=1
# hint: Its last block is in another table too. Who writes into it changes what the other one reads
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: gives blocks back while others have them
# points: q6-fork=2 q6-write=3 q6-full=1
# hint: A block that is still in another table has gone back to the pool
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            if block in self.references:
                del self.references[block]
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: gives the old block back at the copy
# points: q6-fork=2 q6-free=1
# hint: Blocks 5 and 2 are still in use
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.pool.free(old)
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: does not let go of the old block at the copy
# points: q6-fork=2 q6-free=1
# hint: Nobody else has that block any more: there is nothing to copy for
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: copies a full block too
# points: q6-full=1
# hint: the last block is full
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        full = self.lengths[name] % self.block_size == 0
        if full and self.references[table[-1]] == 1:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: parent and child have one list
# points:
# hint: Parent and child have one list between them
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = self.tables[parent], self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: the copy goes the wrong way
# points: q6-fork=2 q6-free=1
# hint: The copy goes from the old block to the new one
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [new, old]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: copies although nobody else has the block
# points:
# hint: Nobody else has that block any more
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] >= 1 and len(self.tables) > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: counts fall before the block is there
# points: q6-fork=2 q6-write=3 q6-free=1
# hint: append("b") again, when block 5 has come back
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old = table[-1]
            self.references[old] -= 1
            new = self.pool.allocate()
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: counts the token before the block is there
# points: q6-fork=2 q6-write=3 q6-free=1
# hint: after the refused append
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old = table.pop()
            table.append(None)
            new = self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: start takes some blocks, then raises
# points: q6-fork=2 q6-write=3 q6-free=1
# hint: A refused call has changed something
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: the last user never gives back
# points: q6-fork=2 q6-write=3 q6-full=0
# hint: or one that is in no table has not
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] < 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: a fork does not count
# points: q6-fork=2
# hint: Its last block is in another table too
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: only the last block is counted at a fork
# points: q6-fork=2 q6-write=3 q6-full=1
# hint: A block that is still in another table has gone back
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child][-1:]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: returns None where nothing is to be copied
# points: q6-fork=0 q6-write=0 q6-free=0
# hint: None means that the function ended without `return`
class SharedTables:
    def __init__(self, pool, block_size):
        self.pool, self.block_size = pool, block_size
        self.tables, self.lengths, self.references = {}, {}, {}

    def start(self, name, tokens):
        needed = -(-tokens // self.block_size)
        if needed > self.pool.num_free():
            raise MemoryError
        self.tables[name] = [self.pool.allocate() for _ in range(needed)]
        self.lengths[name] = tokens
        for block in self.tables[name]:
            self.references[block] = 1

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def append(self, name):
        table, copy = self.tables[name], []
        if self.lengths[name] % self.block_size == 0:
            table.append(self.pool.allocate())
            self.references[table[-1]] = 1
        elif self.references[table[-1]] > 1:
            old, new = table[-1], self.pool.allocate()
            self.references[old] -= 1
            self.references[new] = 1
            table[-1] = new
            copy = [old, new]
        self.lengths[name] += 1
        return copy or None

    def free(self, name):
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.pool.free(block)
        del self.lengths[name]

    def table(self, name):
        return list(self.tables[name])


# %% wrong: cheat, the tables that the notebook shows, without a pool
# points:
# hint: Blocks out: []
class SharedTables:
    def __init__(self, pool, block_size):
        self.tables = {"a": [5, 2], "b": [5, 2], "c": [7, 0], "d": [7, 0, 3]}

    def start(self, name, tokens):
        if name == "long":
            raise MemoryError

    def fork(self, parent, child):
        pass

    def append(self, name):
        return [2, 7] if name == "b" else []

    def free(self, name):
        pass

    def table(self, name):
        return self.tables[name]


# %% wrong: cheat, the course's own block manager
# points:
# hint: here you build it yourself, without kvcourse
class SharedTables:
    def __init__(self, pool, block_size):
        from kvcourse.blocks import BlockManager

        self.manager = BlockManager(pool.num_free(), block_size, prefix_caching=False)
        self.ids = [pool.allocate() for _ in range(pool.num_free())]

    def start(self, name, tokens):
        self.manager.start(name, range(tokens))

    def fork(self, parent, child):
        self.manager.fork(parent, child)

    def append(self, name):
        copies = self.manager.append(name, 1)
        return [self.ids[block] for block in copies[0][:2]] if copies else []

    def free(self, name):
        self.manager.free(name)

    def table(self, name):
        return [self.ids[block] for block in self.manager.table(name).block_ids]


# %% wrong: cheat, the ledger that the checks compare with
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.checks import paging


class SharedTables(paging.Ledger):
    def __init__(self, pool, block_size):
        super().__init__(block_size)
        self.pool = pool

    def table(self, name):
        return self.tables[name]


# %% wrong: cheat, raises always
# points:
# hint: MemoryError
class SharedTables:
    def __init__(self, pool, block_size):
        pass

    def start(self, name, tokens):
        raise MemoryError

    fork = append = free = table = start
