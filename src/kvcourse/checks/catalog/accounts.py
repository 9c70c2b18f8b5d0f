"""Known mistakes in the account of contiguous memory: one request's region, a pool's five parts, an audit.

A slot is the KV of one token. The terms are those of `kvcourse.reservation`.
"""

from kvcourse.checks.catalog.kinds import Quantity, Way

RESERVED = "Reserved is not used. Which slots hold the keys and values of a token now?"
TO_COME = "Tokens still to come are not stored yet. Which slots hold something now?"
ALL_EMPTY = (
    "These are all the empty slots. Some of them this very request will still use, some it never will."
)
SWAPPED = "Reservation and internal fragmentation are swapped: which of the two will be used in the end?"
ROUNDING = "The allocator's rounding is in there. It was asked for less than it gave: that is `other`."

# ---- one request (paper, figure 3) ---------------------------------------------------------------

_REQUEST = ("reserved", "prompt", "generated", "final")

REQUEST_TOKENS = Quantity(
    "request_tokens",
    _REQUEST,
    lambda i: i.prompt + i.generated,
    ways=(
        Way("counts the reservation as used", lambda i: i.reserved, RESERVED),
        Way("counts tokens still to come", lambda i: i.final, TO_COME),
        Way("forgets the generated tokens", lambda i: i.prompt, "Generated tokens are stored, too."),
        Way("forgets the prompt", lambda i: i.generated, "Whose keys and values were stored first?"),
    ),
)

REQUEST_RESERVATION = Quantity(
    "request_reservation",
    _REQUEST,
    lambda i: i.final - i.prompt - i.generated,
    ways=(
        Way("counts every empty slot", lambda i: i.reserved - i.prompt - i.generated, ALL_EMPTY),
        Way("swaps reservation and internal", lambda i: i.reserved - i.final, SWAPPED),
        Way("counts the generated tokens as still to come", lambda i: i.final - i.prompt,
            "Tokens that were generated are stored. How many are still to come?"),
        Way("forgets the prompt", lambda i: i.final - i.generated, "The prompt is part of the final length."),
        Way("gives the final length", lambda i: i.final,
            "That is the length in the end. What is still to come?"),
    ),
)  # fmt: skip

REQUEST_INTERNAL = Quantity(
    "request_internal",
    _REQUEST,
    lambda i: i.reserved - i.final,
    ways=(
        Way("counts the reservation in", lambda i: i.reserved - i.prompt - i.generated, ALL_EMPTY),
        Way("swaps reservation and internal", lambda i: i.final - i.prompt - i.generated, SWAPPED),
        Way("looks at the prompt alone", lambda i: i.reserved - i.prompt,
            "Generated tokens take slots, too, those to come as well."),
        Way("forgets the prompt", lambda i: i.reserved - i.generated, "The prompt takes slots, too."),
        Way("gives the whole region", lambda i: i.reserved,
            "That is the whole region. Part of it gets used."),
    ),
)  # fmt: skip

# ---- five parts of a pool ------------------------------------------------------------------------

_SUMS = ("num_slots", "region", "asked", "final", "stored")  # summed over the running requests

SPLIT_TOKENS = Quantity(
    "split_tokens",
    _SUMS,
    lambda i: i.stored,
    ways=(
        Way("counts the reservation as used", lambda i: i.asked, RESERVED),
        Way("counts the regions as used", lambda i: i.region, RESERVED),
        Way("counts tokens still to come", lambda i: i.final, TO_COME),
    ),
)
SPLIT_RESERVATION = Quantity(
    "split_reservation",
    _SUMS,
    lambda i: i.final - i.stored,
    ways=(
        Way("counts every empty slot", lambda i: i.asked - i.stored, ALL_EMPTY),
        Way("counts every empty slot of the region", lambda i: i.region - i.stored, ALL_EMPTY),
        Way("swaps reservation and internal", lambda i: i.asked - i.final, SWAPPED),
    ),
)
SPLIT_INTERNAL = Quantity(
    "split_internal",
    _SUMS,
    lambda i: i.asked - i.final,
    ways=(
        Way("counts every empty slot", lambda i: i.asked - i.stored, ALL_EMPTY),
        Way("swaps reservation and internal", lambda i: i.final - i.stored, SWAPPED),
        Way("books the rounding here", lambda i: i.region - i.final, ROUNDING),
        Way("counts every empty slot of the region", lambda i: i.region - i.stored, ALL_EMPTY),
    ),
)
SPLIT_EXTERNAL = Quantity(
    "split_external",
    _SUMS,
    lambda i: i.num_slots - i.region,
    ways=(
        Way("counts every slot without a token", lambda i: i.num_slots - i.stored,
            "These are all the slots that hold nothing. External are those in nobody's region."),
        Way("books the rounding here", lambda i: i.num_slots - i.asked, ROUNDING),
        Way("counts what will never be used", lambda i: i.num_slots - i.final,
            "External are the slots in nobody's region, whatever is inside the regions."),
        Way("counts the regions", lambda i: i.region, "These are the slots that are in a region."),
    ),
)  # fmt: skip
SPLIT_OTHER = Quantity(
    "split_other",
    _SUMS,
    lambda i: i.region - i.asked,
    ways=(
        Way("forgets the rounding", lambda i: 0, "The allocator gave more than it was asked for."),
        Way("books internal here, too", lambda i: i.region - i.final,
            "What was asked for and will not be used is internal. `other` was never asked for."),
        Way("counts what was asked for", lambda i: i.asked, "That was asked for. How much more was given?"),
    ),
)  # fmt: skip

# ---- an audit ------------------------------------------------------------------------------------

WASTE = Quantity(
    "waste_percent",
    ("num_slots", "tokens", "held"),
    lambda i: 100 * (i.num_slots - i.tokens) / i.num_slots,
    tolerance=0.003,
    ways=(
        Way("hides what is below zero", lambda i: 0.0, "A waste below 0 is the finding. Do not cut it off."),
        Way("turns the sign", lambda i: 100 * abs(i.num_slots - i.tokens) / i.num_slots,
            "The sign is the finding: are there more tokens than slots, or fewer?"),
        Way("gives a fraction", lambda i: (i.num_slots - i.tokens) / i.num_slots, "Percent are asked for."),
        Way("divides by the tokens", lambda i: i.tokens and 100 * (i.num_slots - i.tokens) / i.tokens,
            "Which share of the pool?"),
        Way("counts what is held", lambda i: 100 * (i.num_slots - i.held) / i.num_slots,
            "Slots that are held but hold no token are waste, too."),
        Way("gives the share of the tokens", lambda i: 100 * i.tokens / i.num_slots,
            "That is the share in use. Waste is the rest."),
    ),
)  # fmt: skip

ACCOUNTS = (
    REQUEST_TOKENS, REQUEST_RESERVATION, REQUEST_INTERNAL,
    SPLIT_TOKENS, SPLIT_RESERVATION, SPLIT_INTERNAL, SPLIT_EXTERNAL, SPLIT_OTHER, WASTE,
)  # fmt: skip
