"""Regions of one size, cut once and for all: the simplest contiguous allocator."""

from kvcourse.blocks.errors import whole_number
from kvcourse.blocks.pool import MOST_BLOCKS
from kvcourse.reservation.errors import OutOfSlots, RequestTooLong, ReservationError, region_start
from kvcourse.reservation.split import Region


class SlabAllocator:
    """`num_slots // slab_size` slabs, 2^24 at most. Any free one fits any request; the rest is never used."""

    def __init__(self, num_slots: int, slab_size: int):
        self.num_slots = whole_number(num_slots, "the number of slots", error=ReservationError)
        self.slab_size = whole_number(slab_size, "the slab size", error=ReservationError)
        whole_number(
            self.num_slots // self.slab_size, "the number of slabs", 0, MOST_BLOCKS, error=ReservationError
        )
        self._free = [number * self.slab_size for number in reversed(range(self.num_slots // self.slab_size))]
        self._held: set[int] = set()

    @property
    def largest(self) -> int:
        """The largest region it can ever give."""
        return self.slab_size if self.num_slots >= self.slab_size else 0

    def allocate(self, size: int) -> Region:
        size = whole_number(size, "the size of a region", error=ReservationError)
        if size > self.largest:
            raise RequestTooLong(f"{size} slots in one piece: the largest region is {self.largest}.")
        if not self._free:
            raise OutOfSlots(f"{size} slots asked for; all {len(self._held)} slabs are taken.")
        start = self._free.pop()
        self._held.add(start)
        return Region(start, self.slab_size)

    def free(self, start: int) -> None:
        start = region_start(start, self._held)
        self._held.remove(start)
        self._free.append(start)

    def holes(self) -> list[Region]:
        """Free regions, by address; the rest at the end of the pool, too small for a slab, is the last."""
        slabs = [Region(start, self.slab_size) for start in sorted(self._free)]
        rest = self.num_slots % self.slab_size
        return [*slabs, Region(self.num_slots - rest, rest)] if rest else slabs
