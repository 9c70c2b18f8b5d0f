"""Figures 2 and 13 of Kwon et al. (PagedAttention, SOSP 2023): the pools compared, and what is printed."""

from kvcourse.reservation import ContiguousPool, MaximumLength, Oracle, PagedPool, PowerOfTwo

PAPER_SLOTS = 12 * 2**30 // (800 * 2**10)  # table 1: 12 GiB for the KV of OPT-13B, 800 KiB a token

# Figure 2, percent of the KV memory. The paper prints one number only for its own system.
PAPER_FIGURE_2 = {
    "max": {"tokens": 20.4, "reservation": 13.3, "internal": 57.3, "external_and_other": 8.9},
    "pow2": {"tokens": 26.8, "reservation": 17.9, "internal": 13.6, "external_and_other": 41.6},
    "oracle": {"tokens": 38.2, "reservation": 25.2, "internal": 0.0, "external_and_other": 36.6},
    "paged": {"tokens": 96.3},
}

# Figure 13, requests held at once on average; ShareGPT at 2 requests a second, Alpaca at 30.
PAPER_FIGURE_13 = {
    "sharegpt": {"max": 7.00, "pow2": 9.81, "oracle": 13.62, "paged": 30.42},
    "alpaca": {"max": 7.00, "pow2": 43.24, "oracle": 72.75, "paged": 132.44},
}


def paper_pools(
    num_slots: int = PAPER_SLOTS, max_tokens: int = 2048, block_size: int = 16
) -> dict[str, ContiguousPool | PagedPool]:
    """Fresh pools, one for each of the four systems that the figures compare."""
    return {
        "max": ContiguousPool(num_slots, MaximumLength(max_tokens)),
        "pow2": ContiguousPool(num_slots, PowerOfTwo(max_tokens)),
        "oracle": ContiguousPool(num_slots, Oracle(max_tokens)),
        "paged": PagedPool(num_slots, block_size),
    }
