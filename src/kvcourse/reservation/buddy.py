"""The buddy allocator: regions of power-of-two sizes that split in two and merge again.

A region of size 2^k starts at a multiple of 2^k. So the other half of the region it was split from, its
buddy, starts at the same number with bit k flipped: `start ^ size`. (`start + size` is right for every
other region only.) Knuth, The Art of Computer Programming, volume 1, section 2.5.
"""

from bisect import bisect_left, insort

from kvcourse.blocks.errors import whole_number
from kvcourse.reservation.errors import OutOfSlots, RequestTooLong, ReservationError, region_start
from kvcourse.reservation.split import Region


class BuddyAllocator:
    """Power-of-two regions over `num_slots` slots, which need not be a power of two themselves.

    The pool starts as one region for each 1 in the binary form of num_slots, the largest first: 15,728 slots
    are 8192 + 4096 + 2048 + 1024 + 256 + 64 + 32 + 16, each at a multiple of its size.
    """

    def __init__(self, num_slots: int):
        self.num_slots = whole_number(num_slots, "the number of slots", error=ReservationError)
        # Starts by exponent, in order: finding one is a binary search, adding or removing it one memory move.
        self._free: list[list[int]] = [[] for _ in range(self.num_slots.bit_length())]
        self._held: dict[int, int] = {}  # start -> exponent
        start = 0
        for exponent in reversed(range(len(self._free))):
            if self.num_slots >> exponent & 1:
                self._free[exponent].append(start)
                start += 1 << exponent

    @property
    def largest(self) -> int:
        """The largest region it can ever give."""
        return 1 << (self.num_slots.bit_length() - 1)

    def allocate(self, size: int) -> Region:
        """A region of `size` rounded up to a power of two, out of the smallest free region that is enough."""
        size = whole_number(size, "the size of a region", error=ReservationError)
        if size > self.largest:
            raise RequestTooLong(f"{size} slots in one piece: the largest region is {self.largest}.")
        wanted = (size - 1).bit_length()
        found = next((k for k in range(wanted, len(self._free)) if self._free[k]), None)
        if found is None:
            raise OutOfSlots(f"no free region of {1 << wanted} slots for the {size} asked for.")
        start = self._free[found].pop(0)
        for exponent in reversed(range(wanted, found)):  # keep the lower half, free the upper
            insort(self._free[exponent], start + (1 << exponent))
        self._held[start] = wanted
        return Region(start, 1 << wanted)

    def free(self, start: int) -> None:
        """Give back the region at `start`, and merge it with its buddy as long as that is free too."""
        start = region_start(start, self._held)
        exponent = self._held.pop(start)
        while True:
            free, buddy = self._free[exponent], start ^ (1 << exponent)
            place = bisect_left(free, buddy)
            if place == len(free) or free[place] != buddy:
                break
            del free[place]
            start = min(start, buddy)
            exponent += 1
        insort(free, start)

    def holes(self) -> list[Region]:
        """Free regions, by address. Two that lie side by side are one hole only if they are buddies."""
        return sorted(Region(start, 1 << k) for k, starts in enumerate(self._free) for start in starts)
