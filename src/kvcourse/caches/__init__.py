"""KV caches of several kinds behind one interface, `KVCache`."""

from kvcourse.caches.base import CacheCounters, KVCache
from kvcourse.caches.contiguous import GrowingCache, PreallocatedCache
from kvcourse.caches.paged import PagedCache, PagedCounters

__all__ = ["CacheCounters", "GrowingCache", "KVCache", "PagedCache", "PagedCounters", "PreallocatedCache"]
