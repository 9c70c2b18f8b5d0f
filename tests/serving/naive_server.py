"""The oracle: a server that looks at every request in every step, with memory as plain lists and counts.

It shares no code with the package. Slow on purpose; for small pools only.
"""

import math
from fractions import Fraction


class Slabs:
    """Regions of one size."""

    def __init__(self, num_slots, longest):
        self.free, self.longest = num_slots // longest, longest

    def take(self, request):
        if self.free == 0:
            return False
        self.free -= 1
        request["asked"] = request["held"] = self.longest
        return True

    def give_back(self, request):
        self.free += 1

    def grow(self, request):
        return True


class Buddies:
    """Power-of-two regions, found by looking at every slot."""

    def __init__(self, num_slots, longest, knows_length):
        self.taken, self.longest, self.knows_length = [False] * num_slots, longest, knows_length
        self.found = None  # pieces(), until something changes

    def take(self, request):
        output = request["to_come"]
        if not self.knows_length:
            output = next(2**k for k in range(99) if 2**k >= output)
        asked = min(request["stored"] + output, self.longest)
        wanted = next(2**k for k in range(99) if 2**k >= asked)
        enough = [piece for piece in self.pieces() if piece[0] >= wanted]
        if not enough:
            return False
        start = min(enough)[1]
        self.taken[start : start + wanted] = [True] * wanted
        self.found = None
        request.update(asked=asked, held=wanted, start=start)
        return True

    def pieces(self):
        """(size, start) of the largest aligned power-of-two pieces that are free."""
        if self.found is not None:
            return self.found
        found, start = [], 0
        while start < len(self.taken):
            sizes = [2**k for k in range(20) if start % 2**k == 0 and start + 2**k <= len(self.taken)]
            sizes = [size for size in sizes if not any(self.taken[start : start + size])]
            if sizes:
                found.append((max(sizes), start))
            start += max(sizes, default=1)
        self.found = found
        return found

    def give_back(self, request):
        start, size = request["start"], request["held"]
        self.taken[start : start + size] = [False] * size
        self.found = None

    def grow(self, request):
        return True


class Blocks:
    """So many free blocks."""

    def __init__(self, num_slots, block, watermark):
        self.free, self.block, self.watermark = num_slots // block, block, watermark
        self.holders = 0

    def take(self, request):
        needed = math.ceil(Fraction(request["stored"], self.block))
        if needed + (self.watermark if self.holders else 0) > self.free:
            return False
        self.free -= needed
        self.holders += 1
        request["asked"] = request["held"] = needed * self.block
        return True

    def give_back(self, request):
        self.free += request["held"] // self.block
        self.holders -= 1

    def grow(self, request):
        if request["stored"] < request["held"]:
            return True
        if self.free == 0:
            return False
        self.free -= 1
        request["held"] += self.block
        request["asked"] += self.block
        return True


def serve(memory, num_slots, requests, step_seconds=1.0, warm_up=0, steps=None, sample_every=None):
    """Everything `simulate` reports, as a dict; the split as its five sums over the counted steps."""
    coming = [
        {
            "number": n,
            "arrival": math.ceil(arrival / step_seconds),
            "stored": prompt,
            "to_come": output,
            "new": True,
        }
        for n, (arrival, prompt, output) in enumerate(requests)
    ]
    waiting, running = [], []
    seen = {
        "steps": 0,
        "split": [0] * 5,
        "running": 0,
        "waiting_steps": 0,
        "finished": 0,
        "preempted": 0,
        "delays": [],
        "samples": [],
    }
    step = 0
    while (coming or waiting or running) and (steps is None or step < warm_up + steps):
        counted = step >= warm_up
        while coming and coming[0]["arrival"] <= step:
            waiting.append(coming.pop(0))
        while waiting and memory.take(waiting[0]):
            request = waiting.pop(0)
            running.append(request)
            if request["new"] and counted:
                seen["delays"].append(step - request["arrival"])
            request["new"] = False
        for request in list(running):
            while request in running:
                if memory.grow(request):
                    request["stored"] += 1
                    request["to_come"] -= 1
                    break
                newest = running.pop()
                memory.give_back(newest)
                waiting.insert(0, newest)
                seen["preempted"] += counted
        if counted:
            split = [0] * 5
            for request in running:
                final = min(request["stored"] + request["to_come"], request["held"])
                split[0] += request["stored"]
                split[1] += final - request["stored"]
                split[2] += request["asked"] - final
                split[4] += request["held"] - request["asked"]
            split[3] = num_slots - sum(split)
            assert split[3] >= 0
            seen["split"] = [a + b for a, b in zip(seen["split"], split, strict=True)]
            seen["steps"] += 1
            seen["running"] += len(running)
            seen["waiting_steps"] += bool(waiting)
            if sample_every and step % sample_every == 0:
                seen["samples"].append((step, tuple(split), len(running)))
        for request in [request for request in running if request["to_come"] == 0]:
            running.remove(request)
            memory.give_back(request)
            seen["finished"] += counted
        step += 1
    return seen
