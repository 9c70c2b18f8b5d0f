# ruff: noqa
# Problem 8: three ways to reserve.

# %% right: dicts and sums
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    guess = {"max": max_tokens, "oracle": output, "pow2": 1 << (output - 1).bit_length()}[policy]
    return min(prompt + guess, max_tokens)


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% right: a class of requests, in NumPy
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    if policy == "max":
        return np.int64(max_tokens)
    power = 1
    while policy == "pow2" and power < output:
        power *= 2
    return np.minimum(prompt + max(power, output), max_tokens)


# cell: q8-run
class Request:
    def __init__(self, start, prompt, output, asked):
        self.start, self.stored, self.final, self.asked = start, prompt, prompt + output, asked


def simulate(policy, requests, num_slots, max_tokens, steps):
    pool, queue, running, rows = make_allocator(policy, num_slots, max_tokens), iter(requests), [], []
    head = next(queue, None)
    while len(rows) < steps:
        try:
            while head is not None:
                running.append(Request(pool.allocate(head[2]).start, *head))
                head = next(queue, None)
        except OutOfSlots:
            pass
        if not running:
            break
        for request in running:
            request.stored += 1
        parts = np.array([(r.stored, r.final - r.stored, r.asked - r.final) for r in running]).sum(axis=0)
        rows.append([*parts, num_slots - parts.sum(), len(running)])
        for request in running:
            if request.stored >= request.final:
                pool.free(request.start)
        running = [request for request in running if request.stored < request.final]
    means = np.array(rows).mean(axis=0) * ([100 / num_slots] * 4 + [1])
    return dict(zip(("tokens", "reservation", "internal", "external", "batch"), means))


# %% right: counts events, a request at a time
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    if policy == "pow2":
        output = next(2**k for k in range(30) if 2**k >= output)
    return max_tokens if policy == "max" else min(prompt + output, max_tokens)


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    from collections import defaultdict

    pool, at, step = make_allocator(policy, num_slots, max_tokens), 0, 0
    ends, total, alive = defaultdict(list), [0, 0, 0, 0], 0
    while step < steps:
        while at < len(requests):
            prompt, output, asked = requests[at]
            try:
                region = pool.allocate(asked)
            except OutOfSlots:
                break
            lived = min(output, steps - step)
            stored = sum(range(prompt + 1, prompt + lived + 1))
            total[0] += stored
            total[1] += (prompt + output) * lived - stored
            total[2] += (asked - prompt - output) * lived
            total[3] += lived
            ends[step + output].append(region.start)
            at, alive = at + 1, alive + 1
        if not alive:
            break
        step += 1
        for start in ends.pop(step, []):
            pool.free(start)
            alive -= 1
    tokens, reservation, internal = (100 * slots / num_slots / step for slots in total[:3])
    return {
        "batch": total[3] / step,
        "external": 100 - tokens - reservation - internal,
        "internal": internal,
        "reservation": reservation,
        "tokens": tokens,
    }


# %% wrong: rounds prompt and output together
# points: q8-slabs=1 q8-buddies=2 q8-figure=2
# hint: Which of the two lengths has to be guessed?
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    if policy == "max":
        return max_tokens
    total = prompt + output
    return min(1 << (total - 1).bit_length(), max_tokens) if policy == "pow2" else total


# %% wrong: does not stop at the longest
# points: q8-slabs=1 q8-buddies=2 q8-figure=2
# hint: More than the longest sequence there may be
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    power = 1 << (output - 1).bit_length()
    return {"max": max_tokens, "pow2": prompt + power, "oracle": prompt + output}[policy]


# %% wrong: rounds a power of two up, too
# points: q8-slabs=1 q8-buddies=2 q8-figure=2
# hint: This output is a power of two already
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    power = 1 << output.bit_length()
    return {"max": max_tokens, "pow2": min(prompt + power, max_tokens), "oracle": prompt + output}[policy]


# %% wrong: rounds down
# points: q8-slabs=1 q8-buddies=2 q8-figure=2
# hint: Less than the output needs
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    power = 1 << (output.bit_length() - 1)
    return {"max": max_tokens, "pow2": min(prompt + power, max_tokens), "oracle": prompt + output}[policy]


# %% wrong: forgets the prompt
# points: q8-slabs=1 q8-buddies=2 q8-figure=2
# hint: Where does the prompt go?
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    power = 1 << (output - 1).bit_length()
    return {"max": max_tokens, "pow2": min(power, max_tokens), "oracle": output}[policy]


# %% wrong: counts the reservation as used
# points: q8-asked=1
# hint: ['tokens']
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["asked"]
            sums["reservation"] += 0
            sums["internal"] += 0
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: frees before it counts
# points: q8-asked=1 q8-figure=2
# hint: so it is counted in it
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: counts before it stores
# points: q8-asked=1 q8-figure=2
# hint: Each request stores its token first
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in running:
            r["stored"] += 1
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: frees a step too late
# points: q8-asked=1 q8-figure=2
# hint: leaves at the end of that step
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        done = [r for r in running if r["stored"] == r["final"]]
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] = min(r["stored"] + 1, r["final"])
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in done:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: never frees
# points: q8-asked=1
# hint: Too large.
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        running = [r for r in running if r["stored"] < r["final"]]
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: lets others overtake
# points: q8-asked=1 q8-slabs=1
# hint: then those behind it wait, too
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        for request in list(waiting):
            prompt, output, asked = request
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                continue
            waiting.remove(request)
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: admits one a step
# points: q8-asked=1 q8-figure=2
# hint: As many as fit come in at a step
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        for _ in waiting[:1]:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: cuts regions to what is used
# points: q8-asked=1
# hint: A region is held whole until its request ends
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += 0
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: slots, not percent
# points: q8-asked=1
# hint: Percent of the pool are asked for
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: sums[part] / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = num_slots - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: fractions
# points: q8-asked=1
# hint: A hundred times too small
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 1 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: sums over the steps
# points: q8-asked=1
# hint: The average over the steps is asked for
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 * counted - sum(shares.values())
    return shares | {"batch": sums["batch"]}


# %% wrong: divides by the steps it was allowed
# points: q8-asked=1 q8-figure=2
# hint: The run ended early
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / steps for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / steps}


# %% wrong: stores the whole answer at once
# points: q8-asked=1
# hint: ['reservation']
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(asked).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append(
                {"start": start, "stored": prompt + output - 1, "final": prompt + output, "asked": asked}
            )
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: reserves without asking the allocator
# points: q8-asked=1 q8-slabs=1
# hint: Too large.
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            if asked > num_slots - sum(r["asked"] for r in running):
                break
            start = 0
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: books the rounding as internal
# points: q8-asked=1 q8-slabs=1
# hint: ['internal']
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                region = allocator.allocate(asked)
                start = region.start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": region.size})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: over-commits: the prompt is free of charge
# points: q8-asked=1 q8-slabs=1
# hint: Too large.
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    sums, counted = dict.fromkeys(("tokens", "reservation", "internal", "batch"), 0), 0
    for _ in range(steps):
        while waiting:
            prompt, output, asked = waiting[0]
            try:
                start = allocator.allocate(max(1, asked - prompt)).start
            except OutOfSlots:
                break
            del waiting[0]
            running.append({"start": start, "stored": prompt, "final": prompt + output, "asked": asked})
        if not running:
            break
        for r in running:
            r["stored"] += 1
        counted += 1
        sums["batch"] += len(running)
        for r in running:
            sums["tokens"] += r["stored"]
            sums["reservation"] += r["final"] - r["stored"]
            sums["internal"] += r["asked"] - r["final"]
        for r in [r for r in running if r["stored"] == r["final"]]:
            allocator.free(r["start"])
            running.remove(r)
    shares = {part: 100 * sums[part] / num_slots / counted for part in ("tokens", "reservation", "internal")}
    shares["external"] = 100 - sum(shares.values())
    return shares | {"batch": sums["batch"] / counted}


# %% wrong: removes from the list while it goes through it
# points: q8-asked=1 q8-figure=2
# hint: simulate('max', [(1, 3, 6), (2, 2, 6), (5, 1, 6), (1, 5, 6)], 12, 6, 4)
# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    allocator = make_allocator(policy, num_slots, max_tokens)
    waiting, running = list(requests), []
    tokens = reservation = internal = batch = counted = 0
    for _ in range(steps):
        while waiting:
            p, o, a = waiting[0]
            try:
                region = allocator.allocate(a)
            except OutOfSlots:
                break
            waiting.pop(0)
            running.append([region.start, p, p + o, a])
        if not running:
            break
        for r in running:
            r[1] += 1
        counted += 1
        batch += len(running)
        for r in running:
            tokens += r[1]
            reservation += r[2] - r[1]
            internal += r[3] - r[2]
        for r in running:
            if r[1] >= r[2]:
                allocator.free(r[0])
                running.remove(r)
    f = 100 / (num_slots * counted)
    s = [tokens * f, reservation * f, internal * f]
    return dict(tokens=s[0], reservation=s[1], internal=s[2], external=100 - sum(s), batch=batch / counted)


# %% wrong: cheat, the package's own simulation
# points:
# hint: here you build it yourself, without kvcourse
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    from kvcourse.reservation import MaximumLength, Oracle, PowerOfTwo

    return {"max": MaximumLength, "pow2": PowerOfTwo, "oracle": Oracle}[policy](max_tokens).slots(
        prompt, output
    )


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    from kvcourse.reservation import ContiguousPool, MaximumLength, Oracle, PowerOfTwo
    from kvcourse.serving import simulate as theirs
    from kvcourse.workloads import Request

    rule = {"max": MaximumLength, "pow2": PowerOfTwo, "oracle": Oracle}[policy](max_tokens)
    seen = theirs(ContiguousPool(num_slots, rule), [Request(0.0, *r[:2]) for r in requests], steps=steps)
    shares = seen.shares()
    return shares | {"external": shares["external_and_other"], "batch": seen.batch}


# %% wrong: cheat, the way to the package through what is given
# points:
# hint: has no place in the cell of `slots_asked`
# hint: has no place in the cell of `simulate`
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    import importlib

    return importlib.import_module("kvcourse.checks.pools").asked(policy, prompt, output, max_tokens)


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    everything = BuddyAllocator.allocate.__globals__["__builtins__"]["__import__"]
    return everything("kvcourse.checks.pools", fromlist=["run"]).run(
        policy, requests, num_slots, max_tokens, steps
    )


# %% wrong: cheat, the paper's figure
# points:
# hint: That is the longest sequence. Does this policy know more?
# hint: simulate('max'
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    return max_tokens


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    figure = {"max": (20.4, 13.3, 57.3, 8.9, 7.0), "pow2": (26.8, 17.9, 13.6, 41.6, 9.8)}
    return dict(
        zip(
            ("tokens", "reservation", "internal", "external", "batch"),
            figure.get(policy, (38.2, 25.2, 0, 36.6, 13.6)),
        )
    )


# %% wrong: cheat, compiled text as a function
# points:
# hint: `compile` has no place
# cell: q8-policy
from types import FunctionType as _F


def slots_asked(policy, prompt, output, max_tokens):
    g = {}
    _F(compile("global f\nfrom kvcourse.checks.pools import asked as f", "x", "exec"), g)()
    return g["f"](policy, prompt, output, max_tokens)


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    g = {}
    _F(compile("global f\nfrom kvcourse.checks.pools import run as f", "x", "exec"), g)()
    return g["f"](policy, requests, num_slots, max_tokens, steps)


# %% wrong: cheat, sys taken from another module
# points:
# hint: has no place
# cell: q8-policy
from os import sys as s


def slots_asked(policy, prompt, output, max_tokens):
    return s.modules["kvcourse.checks.pools"].asked(policy, prompt, output, max_tokens)


# cell: q8-run
from os import sys as s


def simulate(policy, requests, num_slots, max_tokens, steps):
    return s.modules["kvcourse.checks.pools"].run(policy, requests, num_slots, max_tokens, steps)


# %% wrong: cheat, getattr globals of what is given
# points:
# hint: `getattr` has no place in the cell of `simulate`
# cell: q8-policy
def slots_asked(policy, prompt, output, max_tokens):
    return 2048


# cell: q8-run
def simulate(policy, requests, num_slots, max_tokens, steps):
    b = getattr(BuddyAllocator.allocate, "__glo" + "bals__")["__buil" + "tins__"]
    return b["__imp" + "ort__"]("kvcourse.checks.pools", fromlist=["run"]).run(
        policy, requests, num_slots, max_tokens, steps
    )
