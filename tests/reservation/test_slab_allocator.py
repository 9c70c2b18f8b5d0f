import pytest

from kvcourse.reservation import (
    OutOfSlots,
    Region,
    RequestError,
    RequestTooLong,
    ReservationError,
    SlabAllocator,
)


def test_the_papers_pool_holds_seven_slabs():
    slabs = SlabAllocator(15728, 2048)
    starts = [slabs.allocate(2048).start for _ in range(7)]
    assert starts == [number * 2048 for number in range(7)]
    assert slabs.holes() == [Region(7 * 2048, 1392)]
    with pytest.raises(OutOfSlots, match="all 7 slabs"):
        slabs.allocate(1)


def test_any_freed_slab_fits_the_next_request():
    slabs = SlabAllocator(12, 4)
    starts = [slabs.allocate(1).start for _ in range(3)]
    for start in starts:
        slabs.free(start)
        assert slabs.holes() == [Region(start, 4)]
        assert slabs.allocate(4) == Region(start, 4)


def test_a_double_free_is_an_error_and_changes_nothing():
    slabs = SlabAllocator(12, 4)
    start = slabs.allocate(3).start
    slabs.free(start)
    holes = slabs.holes()
    for wrong in (start, 1, 12, None):
        with pytest.raises(RequestError, match="no region starts at slot"):
            slabs.free(wrong)
    assert slabs.holes() == holes


def test_a_request_longer_than_a_slab_never_fits():
    with pytest.raises(RequestTooLong, match="largest region is 4"):
        SlabAllocator(12, 4).allocate(5)
    with pytest.raises(RequestTooLong, match="largest region is 0"):
        SlabAllocator(3, 4).allocate(1)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2", None])
def test_sizes_are_whole_and_above_zero(size):
    for make in (lambda: SlabAllocator(size, 1), lambda: SlabAllocator(8, size)):
        with pytest.raises(ReservationError):
            make()
    with pytest.raises(ReservationError):
        SlabAllocator(8, 4).allocate(size)
