"""Known mistakes with contiguous allocators: slabs, holes, buddies, policies over a run, what waste costs.

A slot is the KV of one token. The terms are those of `kvcourse.reservation`.
"""

from types import SimpleNamespace

from kvcourse.checks.catalog.kinds import Quantity, Value, Way

GB_POOL = "A GiB is 1024 x 1024 x 1024 bytes. Is the pool counted in GB?"
UP = "Rounded up. Does the last one have room, all of it?"

# ---- equal slabs ---------------------------------------------------------------------------------


def _slots(i: SimpleNamespace, gib: int = 2**30, kib: int = 2**10) -> int:
    return int(i.pool_gib * gib // (i.kib_per_token * kib))


def _of_slots(rule: Value, gib: int = 2**30) -> Value:
    """A rule on `slots` and `max_tokens`; None where it cannot be."""

    def value(i: SimpleNamespace) -> float | int | None:
        slots = _slots(i, gib)
        return rule(SimpleNamespace(slots=slots, max_tokens=i.max_tokens)) if slots else None

    return value


def _left(i: SimpleNamespace) -> int:
    return i.slots % i.max_tokens


def _left_percent(i: SimpleNamespace) -> float:
    return 100 * _left(i) / i.slots


POOL_SLOTS = Quantity(
    "pool_slots",
    ("pool_gib", "kib_per_token"),
    _slots,
    ways=(
        Way("counts the pool in GB", lambda i: _slots(i, 10**9), GB_POOL),
        Way("counts in steps of 1000", lambda i: _slots(i, 10**9, 1000),
            "Both sizes count in steps of 1024: GiB and KiB."),
        Way("takes a KiB for 1000 bytes", lambda i: _slots(i, kib=1000), "A KiB is 1024 bytes."),
        Way("rounds up", lambda i: _slots(i) + 1, UP),
        Way("takes a GiB for a MiB", lambda i: _slots(i, 2**20), "How many KiB are a GiB?"),
    ),
)  # fmt: skip

_SLAB = ("pool_gib", "kib_per_token", "max_tokens")

SLAB_REQUESTS = Quantity(
    "slab_requests",
    _SLAB,
    _of_slots(lambda i: i.slots // i.max_tokens),
    ways=(
        Way("rounds up", _of_slots(lambda i: -(-i.slots // i.max_tokens)), UP),
        Way("rounds to the nearest", _of_slots(lambda i: round(i.slots / i.max_tokens)), UP),
        Way("counts slots", _of_slots(lambda i: i.slots), "These are slots. A request reserves many."),
        Way("counts the pool in GB", _of_slots(lambda i: i.slots // i.max_tokens, 10**9), GB_POOL),
    ),
)

SLOTS_LEFT = Quantity(
    "slots_left",
    _SLAB,
    _of_slots(_left),
    ways=(
        Way("counts what one more slab lacks", _of_slots(lambda i: i.max_tokens - _left(i)),
            "That many slots are missing for one more slab. How many are there?"),
        Way("counts the pool in GB", _of_slots(_left, 10**9), GB_POOL),
        Way("counts the slots in slabs", _of_slots(lambda i: i.slots - _left(i)),
            "These are the slots inside slabs. Which are in none?"),
        Way("leaves nothing over", _of_slots(lambda i: 0), "Does a whole number of slabs fill the pool?"),
    ),
)  # fmt: skip

LEFT_PERCENT = Quantity(
    "left_percent",
    _SLAB,
    _of_slots(_left_percent),
    tolerance=0.003,
    ways=(
        Way("gives a fraction", _of_slots(lambda i: _left_percent(i) / 100),
            "A hundred times too small: percent are asked for."),
        Way("counts the pool in GB", _of_slots(_left_percent, 10**9), GB_POOL),
        Way("divides by a slab", _of_slots(lambda i: 100 * _left(i) / i.max_tokens),
            "That is a share of one slab. What share of the pool is it?"),
        Way("divides by the slots in slabs",
            _of_slots(lambda i: i.slots > _left(i) and 100 * _left(i) / (i.slots - _left(i))),
            "That is a share of the slots in slabs. What share of the whole pool is it?"),
        Way("gives the share in slabs", _of_slots(lambda i: 100 - _left_percent(i)),
            "That is the share inside slabs."),
    ),
)  # fmt: skip

# ---- holes and buddies ---------------------------------------------------------------------------

EXTERNAL = Quantity(
    "external_fragmentation",
    ("largest", "total", "count"),
    lambda i: 1 - i.largest / i.total if i.total else 0.0,
    tolerance=0.003,
    ways=(
        Way("gives the largest hole's share", lambda i: i.total and i.largest / i.total,
            "That share one request can have. Which share can it not have?"),
        Way("gives percent", lambda i: i.total and 100 * (1 - i.largest / i.total),
            "A hundred times too much: a fraction is asked for."),
        Way("counts holes, not slots", lambda i: i.count and 1 - 1 / i.count,
            "That counts holes. They are not equally large."),
        Way("gives slots", lambda i: i.total - i.largest, "These are slots. Which share of the free ones?"),
        Way("takes no hole for all", lambda i: None if i.total else 1.0,
            "Nothing is free, so nothing free is lost: 0."),
    ),
)  # fmt: skip


def _round_up(n: int) -> int:
    return 1 << (n - 1).bit_length()


ROUNDED = Quantity(
    "rounded",
    ("size",),
    lambda i: _round_up(i.size),
    ways=(
        Way("does not round", lambda i: i.size, "A region's size is a power of two."),
        Way("rounds a power of two up, too", lambda i: 1 << i.size.bit_length(),
            "Twice too much: this size is a power of two already."),
        Way("rounds down", lambda i: 1 << (i.size.bit_length() - 1),
            "Smaller than what was asked for: the next power of two above is meant."),
        Way("gives the exponent", lambda i: (i.size - 1).bit_length(),
            "That is the exponent: 2 to that power."),
    ),
)  # fmt: skip

BUDDY = Quantity(
    "buddy_start",
    ("start", "size"),
    lambda i: i.start ^ i.size,
    ways=(
        Way("takes the next region", lambda i: i.start + i.size,
            "The region behind it. With which one does it make a region of twice the size, aligned?"),
        Way("takes the region before", lambda i: i.start - i.size,
            "The region before it. With which one does it make a region of twice the size, aligned?"),
        Way("gives where the pair begins", lambda i: i.start & ~i.size,
            "There the two of them begin together. Which of the two is the other one?"),
        Way("gives the region itself", lambda i: i.start,
            "That is the region itself. Where is the other half?"),
    ),
)  # fmt: skip

# ---- a run ---------------------------------------------------------------------------------------


def _asked(i: SimpleNamespace) -> int:
    if i.policy == "max":
        return i.max_tokens
    output = _round_up(i.output) if i.policy == "pow2" else i.output
    return min(i.prompt + output, i.max_tokens)


def _pow2(value: Value) -> Value:
    return lambda i: value(i) if i.policy == "pow2" else None


SLOTS_ASKED = Quantity(
    "slots_asked",
    ("policy", "prompt", "output", "max_tokens"),
    _asked,
    ways=(
        Way("rounds the sum up", _pow2(lambda i: min(_round_up(i.prompt + i.output), i.max_tokens)),
            "The prompt's length is known. Which of the two lengths has to be guessed?"),
        Way("does not stop at the longest sequence", _pow2(lambda i: i.prompt + _round_up(i.output)),
            "More than the longest sequence there may be: no request can use that."),
        Way("rounds a power of two up, too", _pow2(lambda i: i.prompt + (1 << i.output.bit_length())),
            "This output is a power of two already."),
        Way("rounds down", _pow2(lambda i: i.prompt + (1 << (i.output.bit_length() - 1))),
            "Less than the output needs. Up, not down."),
        Way("forgets the prompt", _pow2(lambda i: _round_up(i.output)), "Where does the prompt go?"),
        Way("forgets the prompt", lambda i: i.output if i.policy == "oracle" else None,
            "Where does the prompt go?"),
        Way("reserves what is needed", lambda i: i.prompt + i.output,
            "That is exactly what this request needs. Does this policy know the output's length?"),
        Way("reserves the longest", lambda i: i.max_tokens,
            "That is the longest sequence. Does this policy know more?"),
    ),
)  # fmt: skip

_SLIPS = {
    "early": ("frees before it counts",
              "A request's last token is stored in this step, so it is counted in it."),
    "late": ("counts before it stores", "Each request stores its token first, then the step is counted."),
    "kept": ("frees a step too late", "A request that has all its tokens leaves at the end of that step."),
    "overtaking": ("lets small requests overtake",
                   "The first in the queue does not fit: then those behind it wait, too."),
    "single": ("admits one request a step", "As many as fit come in at a step, not just one."),
    "cut": ("cuts regions to what is used", "A region is held whole until its request ends."),
    "slots": ("gives slots, not percent", "Percent of the pool are asked for."),
    "fraction": ("gives fractions", "A hundred times too small: percent are asked for."),
    "summed": ("sums over the steps", "The average over the steps is asked for."),
    "allowed": ("divides by all steps allowed", "The run ended early. How many steps were counted?"),
}  # fmt: skip

RUN_SHARE = Quantity(  # what each slip gives for the same run comes with the inputs: checks.pools.slips
    "run_share",
    ("right",),
    lambda i: i.right,
    optional=tuple(_SLIPS),
    tolerance=1e-6,
    ways=tuple(
        Way(name, lambda i, slip=slip: getattr(i, slip), hint) for slip, (name, hint) in _SLIPS.items()
    ),
)

# ---- the cost ------------------------------------------------------------------------------------

AT_ONCE = Quantity(
    "requests_at_once",
    ("pool_slots", "slots_each"),
    lambda i: i.pool_slots // i.slots_each,
    ways=(
        Way("rounds up", lambda i: -(-i.pool_slots // i.slots_each), UP),
        Way("rounds to the nearest", lambda i: round(i.pool_slots / i.slots_each), UP),
        Way("divides the wrong way round", lambda i: i.slots_each // i.pool_slots, "Upside down."),
        Way("gives what is left over", lambda i: i.pool_slots % i.slots_each, "That is what is left over."),
    ),
)


def _rate(i: SimpleNamespace, weights: float = 1, caches: float = 1) -> float | None:
    read = weights * i.weight_bytes + caches * i.kv_bytes
    return i.batch * i.bytes_per_second / read if read else None


RATE = Quantity(
    "tokens_per_second",
    ("weight_bytes", "kv_bytes", "batch", "bytes_per_second"),
    lambda i: _rate(i, caches=i.batch),
    tolerance=0.003,
    ways=(
        Way("counts steps, not tokens", lambda i: _rate(i, caches=i.batch) / i.batch,
            "That many steps a second. How many tokens does a step make?"),
        Way("reads one cache for all", _rate, "Each request's cache is read, not one for all."),
        Way("reads the weights for every request", lambda i: _rate(i, i.batch, i.batch),
            "The weights are read once a step, for all requests of the batch."),
        Way("forgets the caches", lambda i: _rate(i, caches=0),
            "That is what the weights alone would allow. What else does a step read?"),
        Way("forgets the weights", lambda i: _rate(i, weights=0, caches=i.batch),
            "That is what the caches alone would allow. What else does a step read?"),
        Way("gives the seconds of a step", lambda i: i.batch / _rate(i, caches=i.batch),
            "That is how long a step takes. How many tokens is it in a second?"),
        Way("counts a token a millisecond", lambda i: _rate(i, caches=i.batch) / 1000,
            "A second has 1000 ms."),
    ),
)  # fmt: skip

ALLOCATORS = (
    POOL_SLOTS, SLAB_REQUESTS, SLOTS_LEFT, LEFT_PERCENT, EXTERNAL, ROUNDED, BUDDY, SLOTS_ASKED, RUN_SHARE,
    AT_ONCE, RATE,
)  # fmt: skip
