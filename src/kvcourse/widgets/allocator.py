"""The playground's small pool, its requests, and the four ways of handing memory out.

140 slots hold four slabs of 32, with 8.6 % left over, as the paper's 15,728 hold seven of 2,048 with 8.9 %.
`allocator.js` repeats the bounds and plays the pools of `kvcourse.reservation` itself, for a page has no
kernel; a test runs both on the same requests.
"""

from kvcourse.errors import UserError, shown
from kvcourse.reservation import ContiguousPool, MaximumLength, Oracle, PagedPool, PowerOfTwo
from kvcourse.serving import Occupancy, simulate
from kvcourse.workloads import Lengths, Request, synthetic

SLOTS = 140
LONGEST = 32  # tokens of a sequence
BLOCK = 4
WATERMARK = 4  # blocks that a paged pool spares for those that run; more requests than that would thrash
STEPS = 48
MOST_ADDED = 20
POLICIES = {"max": "Maximum length", "pow2": "Power of two", "oracle": "Oracle", "paged": "Paged"}
LENGTHS = Lengths(prompt_mean=3.8, prompt_sigma=0.7, output_mean=8.0, output_sigma=0.8, cut=LONGEST // 2)
COUNT, SEED = 96, 10  # more requests than any of the four can serve in STEPS steps


def pool(policy: str) -> ContiguousPool | PagedPool:
    """An empty pool of the playground."""
    if policy == "paged":
        return PagedPool(SLOTS, BLOCK, WATERMARK)
    reserves = {"max": MaximumLength, "pow2": PowerOfTwo, "oracle": Oracle}[policy]
    return ContiguousPool(SLOTS, reserves(LONGEST))


def requests() -> list[Request]:
    """The requests that wait from the start."""
    return synthetic(LENGTHS, COUNT, SEED)


def outcome(policy: str) -> Occupancy:
    """What STEPS steps come to, without requests of the learner's own."""
    return simulate(pool(policy), requests(), steps=STEPS)


def state(policy: str, step: int) -> dict:
    """The widget's first state. Raises UserError for a policy or a step that it does not have."""
    if policy not in POLICIES:
        raise UserError(f"viz.allocator: expected policy among {', '.join(POLICIES)}, got {shown(policy)}.")
    if not isinstance(step, int) or isinstance(step, bool) or not 1 <= step <= STEPS:
        raise UserError(f"viz.allocator: expected step from 1 to {STEPS}, got {shown(step)}.")
    waiting = [[request.prompt, request.output] for request in requests()]
    return {"policy": policy, "step": step, "requests": waiting, "added": []}
