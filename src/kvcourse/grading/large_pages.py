"""Memory in large pages, so that a fork is cheap: it copies one entry of the page table for each.

With PyTorch imported there are some 40,000 small pages; to copy their entries, and drop them when the child
ends, costs more than most children do. Source: Linux, madvise(2), MADV_COLLAPSE (6.1 or newer).
"""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

from kvcourse.units import MIB

PAGE = 2 * MIB
COLLAPSE = 25


def large_pages() -> None:
    """Collapse this process's heap and unnamed memory; where the kernel does not, nothing changes."""
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for start, end in _own_memory(Path("/proc/self/maps").read_text()):
        for address in range(-(-start // PAGE) * PAGE, end - PAGE + 1, PAGE):
            madvise(address, PAGE, COLLAPSE)


def _own_memory(maps: str) -> Iterator[tuple[int, int]]:
    """The writable regions that belong to no file."""
    for line in maps.splitlines():
        addresses, access, _, _, _, *name = line.split(maxsplit=5)
        if access.startswith("rw") and name in ([], ["[heap]"]):
            start, end = addresses.split("-")
            yield int(start, 16), int(end, 16)
