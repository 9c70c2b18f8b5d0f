"""Known mistakes by quantity: what each gives, and the nudge it earns. No nudge contains the right formula.

A way or a slip answers None where an input it needs was not given. They come from wrong answers in public
issues and tutorials, and from the assignments' answer banks.
"""

from kvcourse.checks.catalog.accounts import ACCOUNTS
from kvcourse.checks.catalog.allocators import ALLOCATORS
from kvcourse.checks.catalog.budget import CONCURRENCY, EQUAL, EXCEED, FACTOR, POOL, RATIO, STEP, WEIGHTS
from kvcourse.checks.catalog.flops import CROSSOVER, FLOPS, matmul_params
from kvcourse.checks.catalog.generation import CHAT, LENGTH, PAIRS, ROWS
from kvcourse.checks.catalog.kinds import Quantity, Slip, Way
from kvcourse.checks.catalog.memory import BYTES, SIZE
from kvcourse.checks.catalog.paging import ALL as PAGING
from kvcourse.checks.catalog.serving import SERVING

_ALL = (
    ROWS, PAIRS, LENGTH, CHAT, FLOPS, CROSSOVER,
    BYTES, WEIGHTS, EXCEED, RATIO, STEP, EQUAL, POOL, CONCURRENCY, FACTOR, SIZE,
    *ACCOUNTS, *ALLOCATORS, *PAGING, *SERVING,
)  # fmt: skip
QUANTITIES = {known.name: known for known in _ALL}

__all__ = ["QUANTITIES", "Quantity", "Slip", "Way", "matmul_params"]
