# ruff: noqa
# Problem 6: a buddy allocator.

# %% right: a bitmap, and no merging to do
class Buddy:
    def __init__(self, num_slots):
        self.used = [False] * num_slots
        self.sizes = {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(0, len(self.used) - size + 1, size):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start
        return None

    def free(self, start):
        if start not in self.sizes:
            raise ValueError(start)
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% right: a tree of halves, the upper half first
class Node:
    def __init__(self, start, size):
        self.start, self.size, self.held, self.halves = start, size, False, ()

    def most(self):
        if self.held:
            return 0
        return max(half.most() for half in self.halves) if self.halves else self.size

    def take(self, size):
        if not self.halves:
            if self.size < 2 * size:
                self.held = True
                return self.start
            half = self.size // 2
            self.halves = (Node(self.start + half, half), Node(self.start, half))
        fitting = [half for half in self.halves if half.most() >= size]
        return min(fitting, key=Node.most).take(size)

    def give(self, start):
        if self.held:
            if start != self.start:
                raise ValueError("inside a region")
            self.held = False
        elif not self.halves:
            raise ValueError("nothing held there")
        else:
            next(h for h in self.halves if h.start <= start < h.start + h.size).give(start)
            if all(half.most() == half.size for half in self.halves):
                self.halves = ()


class Buddy:
    def __init__(self, num_slots):
        self.roots, start = [], 0
        for bit in reversed(range(num_slots.bit_length())):
            if num_slots >> bit & 1:
                self.roots.append(Node(start, 1 << bit))
                start += 1 << bit

    def allocate(self, size):
        for root in sorted(self.roots, key=Node.most):
            if root.most() >= size:
                return root.take(size)

    def free(self, start):
        for root in self.roots:
            if root.start <= start < root.start + root.size:
                return root.give(start)
        raise ValueError("outside the pool")


# %% right: sorted lists, the highest start first, merged when they are asked for
class Buddy:
    def __init__(self, num_slots):
        self.holes = []
        self.held = {}
        start, size = 0, 1 << num_slots.bit_length()
        while size:
            if num_slots & size:
                self.holes.append((size, start))
                start += size
            size //= 2

    def merge(self):
        merged = True
        while merged:
            merged = False
            for size, start in sorted(self.holes):
                if (size, start ^ size) in self.holes:
                    self.holes.remove((size, start))
                    self.holes.remove((size, start ^ size))
                    self.holes.append((2 * size, start & ~size))
                    merged = True
                    break

    def allocate(self, size):
        self.merge()
        holes = sorted(hole for hole in self.holes if hole[0] >= size)
        if not holes:
            return None
        hole, start = next(h for h in reversed(holes) if h[0] == holes[0][0])
        self.holes.remove((hole, start))
        while hole // 2 >= size:
            hole //= 2
            self.holes.append((hole, start))
            start += hole
        self.held[start] = hole
        return np.int64(start)

    def free(self, start):
        try:
            self.holes.append((self.held.pop(start), int(start)))
        except KeyError:
            raise ValueError(f"nothing at {start}") from None


# %% wrong: never merges
# points: q6-place=2 q6-refuse=2
# hint: Are free halves of one region merged, as far as it goes?
class Buddy:
    def __init__(self, num_slots):
        self.holes, self.held, start = {}, {}, 0
        for bit in reversed(range(num_slots.bit_length())):
            if num_slots >> bit & 1:
                self.holes[1 << bit] = [start]
                start += 1 << bit

    def allocate(self, size):
        wanted = 1 << (size - 1).bit_length()
        fitting = [hole for hole, starts in self.holes.items() if starts and hole >= wanted]
        if not fitting:
            return None
        hole = min(fitting)
        start = self.holes[hole].pop(0)
        while hole > wanted:
            hole //= 2
            self.holes.setdefault(hole, []).append(start + hole)
        self.held[start] = wanted
        return start

    def free(self, start):
        if start not in self.held:
            raise ValueError("not held")
        self.holes.setdefault(self.held.pop(start), []).append(start)


# %% wrong: merges once
# points: q6-place=2 q6-refuse=2
# hint: Are free halves of one region merged, as far as it goes?
class Buddy:
    def __init__(self, num_slots):
        self.holes, self.held, start = {}, {}, 0
        for bit in reversed(range(num_slots.bit_length())):
            if num_slots >> bit & 1:
                self.holes[1 << bit] = {start}
                start += 1 << bit

    def allocate(self, size):
        wanted = 1 << (size - 1).bit_length()
        fitting = [hole for hole, starts in self.holes.items() if starts and hole >= wanted]
        if not fitting:
            return None
        hole = min(fitting)
        start = min(self.holes[hole])
        self.holes[hole].remove(start)
        while hole > wanted:
            hole //= 2
            self.holes.setdefault(hole, set()).add(start + hole)
        self.held[start] = wanted
        return start

    def free(self, start):
        if start not in self.held:
            raise ValueError("not held")
        size = self.held.pop(start)
        if start ^ size in self.holes.get(size, ()):
            self.holes[size].remove(start ^ size)
            start, size = min(start, start ^ size), 2 * size
        self.holes.setdefault(size, set()).add(start)


# %% wrong: the buddy is behind, start + size
# points: q6-place=2 q6-refuse=2
# hint: Buddy(16), allocate(16) after four regions of 4 were freed in the order [0, 4, 8, 12]
class Buddy:
    def __init__(self, num_slots):
        self.holes, self.held, start = {}, {}, 0
        for bit in reversed(range(num_slots.bit_length())):
            if num_slots >> bit & 1:
                self.holes[1 << bit] = {start}
                start += 1 << bit

    def allocate(self, size):
        wanted = 1 << (size - 1).bit_length()
        fitting = [hole for hole, starts in self.holes.items() if starts and hole >= wanted]
        if not fitting:
            return None
        hole = min(fitting)
        start = min(self.holes[hole])
        self.holes[hole].remove(start)
        while hole > wanted:
            hole //= 2
            self.holes.setdefault(hole, set()).add(start + hole)
        self.held[start] = wanted
        return start

    def free(self, start):
        if start not in self.held:
            raise ValueError("not held")
        size = self.held.pop(start)
        while start + size in self.holes.get(size, ()):
            self.holes[size].remove(start + size)
            size *= 2
        self.holes.setdefault(size, set()).add(start)


# %% wrong: merges with either neighbor of its size
# points: q6-place=2 q6-refuse=2
# hint: while slots 4 to 11 are free, 0 to 3 and 12 to 15 held
class Buddy:
    def __init__(self, num_slots):
        self.holes, self.held, start = {}, {}, 0
        for bit in reversed(range(num_slots.bit_length())):
            if num_slots >> bit & 1:
                self.holes[1 << bit] = {start}
                start += 1 << bit

    def allocate(self, size):
        wanted = 1 << (size - 1).bit_length()
        fitting = [hole for hole, starts in self.holes.items() if starts and hole >= wanted]
        if not fitting:
            return None
        hole = min(fitting)
        start = min(self.holes[hole])
        self.holes[hole].remove(start)
        while hole > wanted:
            hole //= 2
            self.holes.setdefault(hole, set()).add(start + hole)
        self.held[start] = wanted
        return start

    def free(self, start):
        if start not in self.held:
            raise ValueError("not held")
        size = self.held.pop(start)
        merged = True
        while merged:
            merged = False
            for other in (start ^ size, start - size, start + size):
                if other in self.holes.get(size, ()):
                    self.holes[size].remove(other)
                    start, size, merged = min(start, other), 2 * size, True
                    break
        self.holes.setdefault(size, set()).add(start)


# %% wrong: first fit, without rounding
# points:
# hint: This one has 4 slots, of 8 in the pool
class Buddy:
    def __init__(self, num_slots):
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        for start in range(len(self.used) - size + 1):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: rounded, and not aligned
# points:
# hint: This one has 8 slots, of 16 in the pool, and starts at 4
class Buddy:
    def __init__(self, num_slots):
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(len(self.used) - size + 1):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: does not split
# points:
# hint: Is a larger region split?
class Buddy:
    def __init__(self, num_slots):
        self.holes, self.held = [(0, num_slots)], {}

    def allocate(self, size):
        for start, hole in self.holes:
            if hole >= size:
                self.holes.remove((start, hole))
                self.held[start] = hole
                return start

    def free(self, start):
        if start not in self.held:
            raise ValueError("not held")
        self.holes.append((start, self.held.pop(start)))


# %% wrong: accepts a double free
# points: q6-place=2 q6-merge=2 q6-any=1
# hint: expected: ValueError
class Buddy:
    def __init__(self, num_slots):
        self.holes, self.held, start = {}, {}, 0
        for bit in reversed(range(num_slots.bit_length())):
            if num_slots >> bit & 1:
                self.holes[1 << bit] = {start}
                start += 1 << bit

    def allocate(self, size):
        wanted = 1 << (size - 1).bit_length()
        fitting = [hole for hole, starts in self.holes.items() if starts and hole >= wanted]
        if not fitting:
            return None
        hole = min(fitting)
        start = min(self.holes[hole])
        self.holes[hole].remove(start)
        while hole > wanted:
            hole //= 2
            self.holes.setdefault(hole, set()).add(start + hole)
        self.held[start] = wanted
        return start

    def free(self, start):
        size = self.held.get(start, 1)
        while start ^ size in self.holes.get(size, ()):
            self.holes[size].remove(start ^ size)
            start, size = min(start, start ^ size), 2 * size
        self.holes.setdefault(size, set()).add(start)


# %% wrong: splits before it knows that the request fits
# points:
# hint: It is refused, but
class Buddy:
    def __init__(self, num_slots):
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(0, len(self.used) - size + 1, size):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start
        free = [slot for slot, used in enumerate(self.used) if not used]
        if free:
            self.used[free[-1]] = True  # a half is taken out, and not put back
        return None

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: raises where None is asked for
# points:
# hint: MemoryError
class Buddy:
    def __init__(self, num_slots):
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(0, len(self.used) - size + 1, size):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start
        raise MemoryError(size)

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: KeyError for what is not held
# points: q6-place=2 q6-merge=2 q6-any=1
# hint: KeyError
class Buddy:
    def __init__(self, num_slots):
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(0, len(self.used) - size + 1, size):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start

    def free(self, start):
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: one pool for all objects
# points:
# hint: a second pool of 2 slots, which shares nothing with the first
class Buddy:
    pools = {}

    def __init__(self, num_slots):
        self.used, self.sizes = self.pools.setdefault(num_slots, ([False] * num_slots, {}))

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(0, len(self.used) - size + 1, size):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: a pool is rounded up to a power of two
# points: q6-place=2 q6-merge=2 q6-refuse=2
# hint: This one has 8 slots, of 12 in the pool, and starts at 8
class Buddy:
    def __init__(self, num_slots):
        num_slots = 1 << (num_slots - 1).bit_length()
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in reversed(range(0, len(self.used) - size + 1, size)):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: a pool is rounded down to a power of two
# points: q6-place=2 q6-merge=2 q6-refuse=2
# hint: Buddy(12), allocate(4) after requests of [8]
class Buddy:
    def __init__(self, num_slots):
        num_slots = 1 << (num_slots.bit_length() - 1)
        self.used, self.sizes = [False] * num_slots, {}

    def allocate(self, size):
        size = 1 << (size - 1).bit_length()
        for start in range(0, len(self.used) - size + 1, size):
            if not any(self.used[start : start + size]):
                self.used[start : start + size] = [True] * size
                self.sizes[start] = size
                return start

    def free(self, start):
        if start not in self.sizes:
            raise ValueError("not held")
        size = self.sizes.pop(start)
        self.used[start : start + size] = [False] * size


# %% wrong: gives the region, not its start
# points:
# hint: The start of a region, or None, is expected
class Buddy:
    def __init__(self, num_slots):
        self.used = [False] * num_slots

    def allocate(self, size):
        return (0, size)

    def free(self, start):
        raise ValueError


# %% wrong: never merges where the pool is no power of two
# points: q6-place=2 q6-merge=2 q6-refuse=2
# hint: allocate(8) when all regions are back
class Buddy:
    def __init__(self, num_slots):
        self.n = num_slots
        self.free_starts, self.held, start = {}, {}, 0
        for size in sorted((2**k for k in range(num_slots.bit_length()) if num_slots >> k & 1), reverse=True):
            self.free_starts[size] = {start}
            start += size

    def allocate(self, size):
        wanted = 1 << (size - 1).bit_length()
        enough = [free for free, starts in self.free_starts.items() if free >= wanted and starts]
        if not enough:
            return None
        region = min(enough)
        start = self.free_starts[region].pop()
        while region > wanted:
            region //= 2
            self.free_starts.setdefault(region, set()).add(start + region)
        self.held[start] = wanted
        return start

    def free(self, start):
        if start not in self.held:
            raise ValueError(start)
        size = self.held.pop(start)
        whole_pool = self.n & (self.n - 1) == 0
        while whole_pool and start ^ size in self.free_starts.get(size, ()):
            self.free_starts[size].remove(start ^ size)
            start = min(start, start ^ size)
            size *= 2
        self.free_starts.setdefault(size, set()).add(start)


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.reservation import BuddyAllocator, OutOfSlots, ReservationError


class Buddy(BuddyAllocator):
    def allocate(self, size):
        try:
            return super().allocate(size).start
        except ReservationError:
            return None

    def free(self, start):
        try:
            super().free(start)
        except ReservationError:
            raise ValueError from None


# %% wrong: cheat, the allocators given for problem 8
# points:
# hint: is not defined in the notebook
class Buddy:
    def __init__(self, num_slots):
        self.pool = make_allocator("pow2", num_slots, num_slots)

    def allocate(self, size):
        try:
            return self.pool.allocate(size).start
        except OutOfSlots:
            return None

    def free(self, start):
        self.pool.free(start)


# %% wrong: cheat, refuses everything
# points:
# hint: It is refused, but
class Buddy:
    def __init__(self, num_slots):
        pass

    def allocate(self, size):
        return None

    def free(self, start):
        raise ValueError


# %% wrong: cheat, a start that suits everybody
# points:
# hint: It is a value of type Anywhere
class Anywhere(int):
    def __eq__(self, other):
        return True

    def __mod__(self, other):
        return 0

    def __le__(self, other):
        return True

    __ge__ = __le__


class Buddy:
    def __init__(self, num_slots):
        pass

    def allocate(self, size):
        return Anywhere(0)

    def free(self, start):
        raise ValueError


# %% wrong: cheat, the package's own set as an attribute
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.reservation import (
    BuddyAllocator as _B,
    OutOfSlots as _O,
    RequestTooLong as _L,
    RequestError as _E,
)


class Buddy:
    def __init__(self, num_slots):
        self.num_slots = num_slots


class Box:
    pass


setattr(Box, "make", _B)
setattr(Box, "errors", (_O, _L))


def _init(self, n):
    self.b = Box.make(n)


def _allocate(self, size):
    try:
        return self.b.allocate(size).start
    except Box.errors:
        return None


def _free(self, start):
    self.b.free(start)


setattr(Buddy, "__init__", _init)
setattr(Buddy, "allocate", _allocate)
setattr(Buddy, "free", _free)


# %% wrong: cheat, pydoc
# points:
# hint: `pydoc` has no place
import pydoc


class Buddy:
    def __init__(self, n):
        self.b = pydoc.locate("kvcourse.reservation.BuddyAllocator")(n)

    def allocate(self, size):
        try:
            return self.b.allocate(size).start
        except ValueError:
            return None

    def free(self, start):
        self.b.free(start)
