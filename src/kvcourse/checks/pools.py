"""References for problems of contiguous memory: slots looked at one by one, and a run with known slips.

Where an allocator puts a region is its own business. What must hold wherever it does: regions are aligned,
inside the pool and apart, and a request is refused only if no aligned piece of its size is free.
"""

import math
import random
from collections.abc import Sequence
from typing import Any

from kvcourse.checks.plain import describe, whole
from kvcourse.checks.staged import Checks, check
from kvcourse.reservation import BuddyAllocator, OutOfSlots, SlabAllocator

PARTS = ("tokens", "reservation", "internal", "external")
SLIPS = ("early", "late", "kept", "overtaking", "single", "cut")


class Held:
    """What a buddy allocator holds, slot by slot, and so what it may and must answer next."""

    def __init__(self, num_slots: int) -> None:
        self.owner: list[int | None] = [None] * num_slots
        self.starts: list[int] = []  # of all regions given, in order

    def is_free(self, start: int, size: int) -> bool:
        return all(owner is None for owner in self.owner[start : start + size])

    def fits(self, size: int) -> bool:
        """Whether some piece of `size`, rounded up, that starts at a multiple of itself is free."""
        size = power_above(size)
        return any(self.is_free(start, size) for start in range(0, len(self.owner) - size + 1, size))

    def took(self, checks: Checks, got: Any, size: int, case: str) -> None:
        """Check the answer to a request of `size` slots, and note the region. None: nothing large enough."""
        __tracebackhide__ = True
        wanted, total = power_above(size), len(self.owner)

        def that(holds: bool, sentence: str, values: str) -> None:
            __tracebackhide__ = True
            checks.that(holds, case, f"{sentence} {values}" if checks is check else sentence)

        if got is None:
            sentence = (
                "It is refused, but an aligned piece of that size is free. Are free halves of one region "
                "merged, as far as it goes? Is a larger region split? Does the function return?"
            )
            that(
                not self.fits(size), sentence, f"{wanted} free slots lie together at a multiple of {wanted}."
            )
            return
        start = whole(got)
        that(start is not None, "The start of a region, or None, is expected.", f"It is {describe(got)}.")
        inside = 0 <= start <= total - wanted and start % wanted == 0
        sentence = "A region starts at a multiple of its size and lies inside the pool."
        that(inside, sentence, f"This one has {wanted} slots, of {total} in the pool, and starts at {start}.")
        sentence = "Slots of this region are in another one, which is still held."
        that(self.is_free(start, wanted), sentence, f"It has slots {start} to {start + wanted - 1}.")
        self.owner[start : start + wanted] = [start] * wanted
        self.starts.append(start)

    def gave_back(self, start: int) -> None:
        self.owner = [None if owner == start else owner for owner in self.owner]


def power_above(n: int) -> int:
    """The smallest power of two that is not below n."""
    power = 1
    while power < n:
        power *= 2
    return power


def draw_chats(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """(prompt, output) of `count` requests: log-normal, with means near those of the paper's ShareGPT."""

    def length(middle: float, spread: float) -> int:
        return min(1024, max(1, round(rng.lognormvariate(math.log(middle), spread))))

    return [(length(90, 1.1), length(210, 1.0)) for _ in range(count)]


def asked(policy: str, prompt: int, output: int, max_tokens: int) -> int:
    """Slots that a policy reserves: "max", "pow2" or "oracle"."""
    if policy == "max":
        return max_tokens
    return min(prompt + (power_above(output) if policy == "pow2" else output), max_tokens)


def run(
    policy: str, requests: Sequence[tuple[int, int, int]], num_slots: int, max_tokens: int, steps: int,
    slip: str = "",
) -> dict[str, float]:  # fmt: skip
    """Average shares of the pool in percent, average batch, steps counted; requests (prompt, output, asked).

    Each step admits, stores, counts and frees. `slip` is a known mistake, one of SLIPS.
    """
    pool = SlabAllocator(num_slots, max_tokens) if policy == "max" else BuddyAllocator(num_slots)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys((*PARTS, "batch"), 0), 0

    def admit(at: int) -> bool:
        prompt, output, slots = waiting[at]
        try:
            start = pool.allocate(slots).start
        except OutOfSlots:
            return False
        del waiting[at]
        running.append({"start": start, "asked": slots, "stored": prompt, "final": prompt + output})
        return True

    def complete() -> list[dict[str, int]]:
        return [request for request in running if request["stored"] == request["final"]]

    def end(done: list[dict[str, int]]) -> None:
        for request in done:
            pool.free(request["start"])
            running.remove(request)

    def count() -> None:
        held = sum(r["final"] if slip == "cut" else r["asked"] for r in running)
        sums["tokens"] += sum(r["stored"] for r in running)
        sums["reservation"] += sum(r["final"] - r["stored"] for r in running)
        sums["internal"] += held - sum(r["final"] for r in running)
        sums["external"] += num_slots - held
        sums["batch"] += len(running)

    for _step in range(steps):
        kept, at = complete(), 0  # none is, but with the slip "kept"
        while at < len(waiting):
            if admit(at):
                if slip == "single":
                    break
            elif slip == "overtaking":
                at += 1
            else:
                break
        if not running:
            break
        if slip == "late":
            count()
        for request in running:
            request["stored"] += request["stored"] < request["final"]
        if slip == "early":
            end(complete())
        if slip != "late":
            count()
        counted += 1
        end(kept if slip == "kept" else complete())
    shares = {part: 100 * sums[part] / (num_slots * counted) for part in PARTS}
    return shares | {"batch": sums["batch"] / counted, "steps": counted}


def slips(*arguments: Any) -> dict[str, dict[str, float]]:
    """For each part, what known slips give for the same run: inputs of the quantity "run_share"."""
    right = run(*arguments)
    wrong = {slip: run(*arguments, slip=slip) for slip in SLIPS}
    _policy, _requests, num_slots, _max_tokens, allowed = arguments
    counted, found = right["steps"], {}
    for part in (*PARTS, "batch"):
        share = right[part]
        found[part] = {slip: shares[part] for slip, shares in wrong.items()} | {"right": share}
        found[part] |= {"summed": share * counted, "allowed": share * counted / allowed}
        if part != "batch":
            found[part] |= {"slots": share * num_slots / 100, "fraction": share / 100}
    return found


def draw_running(rng: random.Random, count: int) -> list[dict[str, int]]:
    """Running requests, each with a region from a buddy allocator; all five parts of their account differ."""
    running = []
    for _request in range(count):
        stored = rng.randint(20, 200)
        final = stored + rng.randint(1, 150)
        asked = final + rng.randint(160, 400)
        region = power_above(asked + rng.randint(1, 50))
        running.append({"region": region, "asked": asked, "stored": stored, "final": final})
    return running


def draw_books(rng: random.Random, kind: str) -> tuple[int, list[tuple[int, int, int]]]:
    """A pool and its regions (start, size, stored), in no order, with the faults of `kind`; "n" for none."""
    regions, start = [], 0
    for _region in range(8):
        start += rng.choice([0, 0, rng.randint(1, 9)])
        size = rng.randint(9, 40)
        regions.append((start, size, rng.randint(0, size)))
        start += size
    num_slots = start
    if "o" in kind:
        around, size, stored = regions[2]  # one inside another, with a third between their starts
        regions.append((around + size - 2, 1, 0) if rng.random() < 0.5 else (around, size + 1, 1))
    if "p" in kind:
        last, size, stored = regions[7]
        regions[7] = (last, size + rng.randint(1, 5), stored)
    if "t" in kind:
        at = rng.randrange(7)
        regions[at] = (regions[at][0], regions[at][1], regions[at][1] + rng.randint(1, 9))
    rng.shuffle(regions)
    return num_slots, regions


def faults(num_slots: int, regions: Sequence[tuple[int, int, int]]) -> frozenset[str]:
    """Letters of what cannot be about regions (start, size, stored), slot by slot; "n" for nothing."""
    owners = [0] * num_slots
    found = set()
    for start, size, stored in regions:
        if stored > size:
            found.add("t")
        for slot in range(start, start + size):
            if slot >= num_slots:
                found.add("p")
            else:
                owners[slot] += 1
    if any(owner > 1 for owner in owners) or _beyond_twice(num_slots, regions):
        found.add("o")
    return frozenset(found or "n")


def _beyond_twice(num_slots: int, regions: Sequence[tuple[int, int, int]]) -> bool:
    beyond = [slot for start, size, _ in regions for slot in range(max(start, num_slots), start + size)]
    return len(set(beyond)) < len(beyond)
