# ruff: noqa
# Problem 4: the pool.

# %% right: a set of free blocks
class BlockPool:
    def __init__(self, num_blocks):
        self.all = set(range(num_blocks))
        self.unused = set(self.all)

    def allocate(self, count=1):
        if len(self.unused) < count:
            raise MemoryError("out of blocks")
        return [self.unused.pop() for _ in range(count)]

    def free(self, blocks):
        back = set(blocks)
        if len(back) != len(blocks) or not back <= self.all - self.unused:
            raise ValueError("not out")
        self.unused |= back

    def num_free(self):
        return len(self.unused)


# %% right: a queue and a flag for each block, and a rollback
from collections import deque


class BlockPool:
    def __init__(self, num_blocks):
        self.queue = deque(range(num_blocks))
        self.out = [False] * num_blocks

    def allocate(self, count=1):
        taken = []
        for _ in range(count):
            if not self.queue:
                self.queue.extend(taken)
                for block in taken:
                    self.out[block] = False
                raise MemoryError
            taken.append(self.queue.popleft())
            self.out[taken[-1]] = True
        return taken

    def free(self, blocks):
        for at, block in enumerate(blocks):
            if block not in range(len(self.out)) or not self.out[block] or block in blocks[:at]:
                raise ValueError(block)
        for block in blocks:
            self.out[block] = False
            self.queue.append(block)

    def num_free(self):
        return len(self.queue)


# %% right: a stack with the highest first, errors of its own that are a kind of the contract's
class OutOfBlocks(MemoryError):
    pass


class DoubleFree(ValueError):
    pass


class BlockPool:
    def __init__(self, num_blocks):
        self.stack = list(range(num_blocks))
        self.held = {}

    def allocate(self, count=1):
        if self.num_free() < count:
            raise OutOfBlocks(f"{count} wanted, {self.num_free()} free")
        blocks = self.stack[-count:][::-1]
        del self.stack[-count:]
        self.held.update(dict.fromkeys(blocks, True))
        return blocks

    def free(self, blocks):
        if sorted(set(blocks)) != sorted(blocks) or any(block not in self.held for block in blocks):
            raise DoubleFree(str(blocks))
        for block in blocks:
            del self.held[block]
        self.stack.extend(blocks)

    def num_free(self):
        return len(self.stack)


# %% wrong: takes some blocks, then raises
# points: q4-allocate=2 q4-back=1 q4-double=1
# hint: A refused request has taken blocks, and nobody holds them now
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        blocks = []
        for _ in range(count):
            if not self.unused:
                raise MemoryError("out of blocks")
            blocks.append(self.unused.pop(0))
            self.out.add(blocks[-1])
        return blocks

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or not set(blocks) <= self.out:
            raise ValueError("not out")
        self.out -= set(blocks)
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: a double free is ignored
# points: q4-allocate=2 q4-full=1 q4-back=1
# hint: free a block that is back already
# hint: expected: ValueError
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        self.out |= set(blocks)
        return blocks

    def free(self, blocks):
        for block in blocks:
            if block in self.out:
                self.out.remove(block)
                self.unused.append(block)

    def num_free(self):
        return len(self.unused)


# %% wrong: a block that comes back twice is free twice
# points: q4-allocate=2 q4-full=1 q4-back=1
# hint: expected: ValueError
class BlockPool:
    def __init__(self, num_blocks):
        self.unused = list(range(num_blocks))

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        return blocks

    def free(self, blocks):
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: frees the first of the list before it sees the second
# points: q4-allocate=2 q4-full=1 q4-back=1
# hint: num_free() after calls of free that were refused
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        self.out |= set(blocks)
        return blocks

    def free(self, blocks):
        for block in blocks:
            if block not in self.out:
                raise ValueError(block)
            self.out.remove(block)
            self.unused.append(block)

    def num_free(self):
        return len(self.unused)


# %% wrong: does not see a block that is named twice
# points: q4-allocate=2 q4-full=1 q4-back=1
# hint: free a block twice in one call
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        self.out |= set(blocks)
        return blocks

    def free(self, blocks):
        if any(block not in self.out for block in blocks):
            raise ValueError("not out")
        self.out -= set(blocks)
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: raises the errors that its containers raise
# points: q4-allocate=2 q4-back=1
# hint: IndexError
# hint: KeyError
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        blocks = [self.unused[at] for at in range(count)]
        del self.unused[:count]
        self.out |= set(blocks)
        return blocks

    def free(self, blocks):
        for block in blocks:
            self.out.remove(block)
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: takes -1 for the last block
# points: q4-allocate=2 q4-full=1 q4-back=1
# hint: q4-back: the checks you see pass
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), [False] * num_blocks

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        for block in blocks:
            self.out[block] = True
        return blocks

    def free(self, blocks):
        for at, block in enumerate(blocks):
            if block >= len(self.out) or not self.out[block] or block in blocks[:at]:
                raise ValueError(block)
        for block in blocks:
            self.out[block] = False
        self.unused += [block % len(self.out) for block in blocks]

    def num_free(self):
        return len(self.unused)


# %% wrong: what has come back is never handed out again
# points: q4-allocate=2 q4-full=1
# hint: num_free() after two came back
class BlockPool:
    def __init__(self, num_blocks):
        self.num_blocks, self.next, self.back = num_blocks, 0, []

    def allocate(self, count=1):
        if self.next + count > self.num_blocks:
            raise MemoryError("out of blocks")
        self.next += count
        return list(range(self.next - count, self.next))

    def free(self, blocks):
        for block in blocks:
            if block in self.back or block >= self.next:
                raise ValueError(block)
            self.back.append(block)

    def num_free(self):
        return self.num_blocks - self.next


# %% wrong: hands out the first blocks every time
# points:
# hint: It is out already, or is no block of this pool
class BlockPool:
    def __init__(self, num_blocks):
        self.num_blocks, self.out = num_blocks, 0

    def allocate(self, count=1):
        if self.out + count > self.num_blocks:
            raise MemoryError("out of blocks")
        self.out += count
        return list(range(count))

    def free(self, blocks):
        if len(blocks) > self.out:
            raise ValueError("too many")
        self.out -= len(blocks)

    def num_free(self):
        return self.num_blocks - self.out


# %% wrong: counts the blocks that are out
# points:
# hint: These blocks are out. How many are left?
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        self.out |= set(blocks)
        return blocks

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or not set(blocks) <= self.out:
            raise ValueError("not out")
        self.out -= set(blocks)
        self.unused += blocks

    def num_free(self):
        return len(self.out)


# %% wrong: one list for all pools
# points:
# hint: BlockPool(3).num_free()
class BlockPool:
    unused, out = [], set()

    def __init__(self, num_blocks):
        if not self.unused and not self.out:
            self.unused += list(range(num_blocks))

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks = self.unused[:count]
        del self.unused[:count]
        self.out.update(blocks)
        return blocks

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or not set(blocks) <= self.out:
            raise ValueError("not out")
        self.out.difference_update(blocks)
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: one block is a number, not a list
# points: q4-double=1
# hint: then allocate()
# hint: expected: a list of 1 block
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        if count > len(self.unused):
            raise MemoryError("out of blocks")
        blocks, self.unused = self.unused[:count], self.unused[count:]
        self.out |= set(blocks)
        return blocks if count > 1 else blocks[0]

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or not set(blocks) <= self.out:
            raise ValueError("not out")
        self.out -= set(blocks)
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: gives None when the pool is empty
# points: q4-allocate=2 q4-back=1 q4-double=1
# hint: expected: MemoryError
class BlockPool:
    def __init__(self, num_blocks):
        self.unused, self.out = list(range(num_blocks)), set()

    def allocate(self, count=1):
        if count > len(self.unused):
            return None
        blocks, self.unused = self.unused[:count], self.unused[count:]
        self.out |= set(blocks)
        return blocks

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or not set(blocks) <= self.out:
            raise ValueError("not out")
        self.out -= set(blocks)
        self.unused += blocks

    def num_free(self):
        return len(self.unused)


# %% wrong: cheat, raises whatever may be wanted
# points:
# hint: MemoryError
class BlockPool:
    def __init__(self, num_blocks):
        pass

    def allocate(self, count=1):
        raise MemoryError

    def free(self, blocks):
        raise ValueError

    def num_free(self):
        return 2


# %% wrong: cheat, the course's own pool
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.blocks import BlockPool as Ready, OutOfBlocks


class BlockPool(Ready):
    def allocate(self, count=1):
        try:
            return super().allocate(count)
        except OutOfBlocks:
            raise MemoryError from None

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or any(self.ref_counts[block] == 0 for block in blocks):
            raise ValueError
        super().free(blocks)

    def num_free(self):
        return len(self.free_list)


# %% wrong: cheat, the pool that the checks lend
# points:
# hint: here you build it yourself, without kvcourse
class BlockPool:
    def __init__(self, num_blocks):
        self.pool = LentPool(range(num_blocks))

    def allocate(self, count=1):
        if count > self.pool.num_free():
            raise MemoryError
        return [self.pool.allocate() for _ in range(count)]

    def free(self, blocks):
        if len(set(blocks)) < len(blocks) or not set(blocks) <= set(self.pool.held):
            raise ValueError
        for block in blocks:
            self.pool.free(block)

    def num_free(self):
        return self.pool.num_free()


# %% wrong: cheat, lists and numbers that agree with every comparison
# points:
# hint: expected: a list of
class Everything(list):
    def __len__(self):
        return 4

    def __eq__(self, other):
        return True

    def __contains__(self, other):
        return True


class BlockPool:
    def __init__(self, num_blocks):
        self.calls = 0

    def allocate(self, count=1):
        return Everything(range(count))

    def free(self, blocks):
        raise ValueError

    def num_free(self):
        return 2
