"""How much to reserve for a request whose length nobody knows yet: three answers.

The names are those of the paper's baselines, which its authors wrote after Orca (Yu et al., OSDI 2022).
"""

from dataclasses import dataclass

from kvcourse.blocks.errors import whole_number
from kvcourse.reservation.buddy import BuddyAllocator
from kvcourse.reservation.errors import ReservationError
from kvcourse.reservation.slabs import SlabAllocator


def next_power_of_two(n: int) -> int:
    """The smallest power of two that is not below n; 0 for 0."""
    n = whole_number(n, "the number to round up", 0, error=ReservationError)
    return 1 << (n - 1).bit_length() if n > 0 else 0


@dataclass(frozen=True)
class _Policy:
    max_tokens: int  # longest sequence the server accepts, prompt and output together

    def __post_init__(self):
        whole_number(self.max_tokens, "the longest sequence", error=ReservationError)


class MaximumLength(_Policy):
    """Reserve for the longest sequence there may be: nothing need be known. Orca (Max)."""

    def slots(self, prompt: int, output: int) -> int:
        return self.max_tokens

    def allocator(self, num_slots: int) -> SlabAllocator:
        return SlabAllocator(num_slots, self.max_tokens)


class PowerOfTwo(_Policy):
    """Reserve the output's length rounded up to a power of two, so at most twice it. Orca (Pow2)."""

    def slots(self, prompt: int, output: int) -> int:
        return min(prompt + next_power_of_two(output), self.max_tokens)

    def allocator(self, num_slots: int) -> BuddyAllocator:
        return BuddyAllocator(num_slots)


class Oracle(_Policy):
    """Reserve exactly what will be used, which no server can know. Orca (Oracle)."""

    def slots(self, prompt: int, output: int) -> int:
        return prompt + output

    def allocator(self, num_slots: int) -> BuddyAllocator:
        return BuddyAllocator(num_slots)
