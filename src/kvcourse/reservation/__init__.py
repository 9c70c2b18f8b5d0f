"""Contiguous KV memory: one region a request, reserved ahead. Where its slots go, beside the paged way.

A slot is the KV of one token. Definitions and policies follow section 3.1 and figures 2 and 3 of Kwon et al.,
"Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023.
"""

from kvcourse.reservation.buddy import BuddyAllocator
from kvcourse.reservation.contiguous import ContiguousPool
from kvcourse.reservation.errors import OutOfSlots, RequestError, RequestTooLong, ReservationError
from kvcourse.reservation.paged import PagedPool
from kvcourse.reservation.policies import MaximumLength, Oracle, PowerOfTwo, next_power_of_two
from kvcourse.reservation.slabs import SlabAllocator
from kvcourse.reservation.split import Holding, PoolSplit, Region, can_fit, external_fragmentation

__all__ = [
    "BuddyAllocator",
    "ContiguousPool",
    "Holding",
    "MaximumLength",
    "Oracle",
    "OutOfSlots",
    "PagedPool",
    "PoolSplit",
    "PowerOfTwo",
    "Region",
    "RequestError",
    "RequestTooLong",
    "ReservationError",
    "SlabAllocator",
    "can_fit",
    "external_fragmentation",
    "next_power_of_two",
]
