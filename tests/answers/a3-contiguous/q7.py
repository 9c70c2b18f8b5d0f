# ruff: noqa
# Problem 7: the account of a pool, and one step.

# %% right: sums
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "other": region - asked,
        "external": num_slots - region,
        "internal": asked - final,
        "reservation": final - stored,
        "tokens": stored,
    }


# cell: q7-tokens
def decode_step(stored, final):
    counted = [n + 1 for n in stored]
    return {"counted": counted, "go_on": [i for i in range(len(final)) if counted[i] != final[i]]}


# %% right: NumPy
# cell: q7-pool
def account(num_slots, running):
    marks = np.array([[r["stored"], r["final"], r["asked"], r["region"]] for r in running], dtype=int)
    stored, final, asked, region = marks.reshape(-1, 4).sum(axis=0)
    values = (stored, final - stored, asked - final, num_slots - region, region - asked)
    return dict(zip(("tokens", "reservation", "internal", "external", "other"), values))


# cell: q7-tokens
def decode_step(stored, final):
    after = np.array(stored, dtype=int) + 1
    return {"counted": after, "go_on": np.flatnonzero(after < np.array(final, dtype=int))}


# %% right: slot by slot
# cell: q7-pool
def account(num_slots, running):
    slots = []
    for r in running:
        for slot in range(r["region"]):
            marks = [("tokens", r["stored"]), ("reservation", r["final"]), ("internal", r["asked"])]
            slots.append(next((name for name, end in marks if slot < end), "other"))
    slots += ["external"] * (num_slots - len(slots))
    return {name: slots.count(name) for name in ("tokens", "reservation", "internal", "external", "other")}


# cell: q7-tokens
def decode_step(stored, final):
    counted, go_on = (), ()
    for at, tokens in enumerate(stored):
        counted += (tokens + 1,)
        if final[at] - tokens > 1:
            go_on += (at,)
    return {"counted": counted, "go_on": go_on, "step": 1}


# %% right: defaultdict
# cell: q7-pool
from collections import defaultdict


def account(num_slots, running):
    parts = defaultdict(int, external=num_slots, tokens=0, reservation=0, internal=0, other=0)
    for r in running:
        parts["tokens"] += r["stored"]
        parts["reservation"] += r["final"] - r["stored"]
        parts["internal"] += r["asked"] - r["final"]
        parts["other"] += r["region"] - r["asked"]
        parts["external"] -= r["region"]
    return parts


# cell: q7-tokens
def decode_step(stored, final):
    a = np.array(stored, dtype=int) + 1
    return {"counted": a, "go_on": np.nonzero(a < np.array(final, dtype=int))[0]}


# %% wrong: counts the reservation as used
# points: q7-lost=1 q7-step=2
# hint: Reserved is not used
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": asked,
        "reservation": 0,
        "internal": asked - final,
        "external": num_slots - region,
        "other": region - asked,
    }


# %% wrong: counts what is still to come
# points: q7-lost=1 q7-step=2
# hint: Tokens still to come are not stored yet
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": final,
        "reservation": 0,
        "internal": asked - final,
        "external": num_slots - region,
        "other": region - asked,
    }


# %% wrong: everything empty is internal
# points: q7-step=2
# hint: These are all the empty slots
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": stored,
        "reservation": 0,
        "internal": asked - stored,
        "external": num_slots - region,
        "other": region - asked,
    }


# %% wrong: books the rounding as internal
# points: q7-used=1 q7-step=2
# hint: The allocator's rounding is in there
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": stored,
        "reservation": final - stored,
        "internal": region - final,
        "external": num_slots - region,
        "other": 0,
    }


# %% wrong: books the rounding as external
# points: q7-used=1 q7-step=2
# hint: The allocator's rounding is in there
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": stored,
        "reservation": final - stored,
        "internal": asked - final,
        "external": num_slots - asked,
        "other": 0,
    }


# %% wrong: counts slots twice
# points: q7-step=2
# hint: These are all the empty slots
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": stored,
        "reservation": asked - stored,
        "internal": region - final,
        "external": num_slots - stored,
        "other": region - asked,
    }


# %% wrong: looks at the last request only
# points: q7-step=2
# hint: account(2000, [
# cell: q7-pool
def account(num_slots, running):
    parts = {"tokens": 0, "reservation": 0, "internal": 0, "external": num_slots, "other": 0}
    for r in running:
        parts = {
            "tokens": r["stored"],
            "reservation": r["final"] - r["stored"],
            "internal": r["asked"] - r["final"],
            "external": num_slots - r["region"],
            "other": r["region"] - r["asked"],
        }
    return parts


# %% wrong: external is what no request has used
# points: q7-used=1 q7-step=2
# hint: These are all the slots that hold nothing
# cell: q7-pool
def account(num_slots, running):
    total = lambda part: sum(request[part] for request in running)
    stored, final, asked, region = map(total, ("stored", "final", "asked", "region"))
    return {
        "tokens": stored,
        "reservation": final - stored,
        "internal": asked - final,
        "external": num_slots - stored,
        "other": region - asked,
    }


# %% wrong: frees before it counts
# points: q7-used=1 q7-lost=1
# hint: A request that is complete in this step still counts in it
# cell: q7-tokens
def decode_step(stored, final):
    after = [n + 1 for n in stored]
    go_on = [i for i, n in enumerate(after) if n < final[i]]
    return {"counted": [after[i] for i in go_on], "go_on": go_on}


# %% wrong: counts before it stores
# points: q7-used=1 q7-lost=1
# hint: Each request stores its token first
# cell: q7-tokens
def decode_step(stored, final):
    return {"counted": list(stored), "go_on": [i for i, n in enumerate(stored) if n + 1 < final[i]]}


# %% wrong: keeps the complete ones a step longer
# points: q7-used=1 q7-lost=1
# hint: A request that has all its tokens does not run on
# cell: q7-tokens
def decode_step(stored, final):
    after = [n + 1 for n in stored]
    return {"counted": after, "go_on": [i for i, n in enumerate(after) if n <= final[i]]}


# %% wrong: ends them a step too soon
# points: q7-used=1 q7-lost=1
# hint: A request that has one token still to come runs on
# cell: q7-tokens
def decode_step(stored, final):
    after = [n + 1 for n in stored]
    return {"counted": after, "go_on": [i for i, n in enumerate(after) if n + 1 < final[i]]}


# %% wrong: changes the list that it was given
# points: q7-used=1 q7-lost=1
# hint: It has changed the lists that it was given
# cell: q7-tokens
def decode_step(stored, final):
    for i in range(len(stored)):
        stored[i] += 1
    return {"counted": stored, "go_on": [i for i, n in enumerate(stored) if n < final[i]]}


# %% wrong: the tokens of those that run on, not their places
# points: q7-used=1 q7-lost=1
# hint: number 0 at index 0
# cell: q7-tokens
def decode_step(stored, final):
    after = [n + 1 for n in stored]
    return {"counted": after, "go_on": [n for i, n in enumerate(after) if n < final[i]]}


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
# cell: q7-pool
def account(num_slots, running):
    from kvcourse.reservation import PoolSplit

    total = lambda part: sum(request[part] for request in running)
    split = PoolSplit(total("stored"))
    split += PoolSplit(0, total("final") - total("stored"), total("asked") - total("final"))
    split += PoolSplit(external=num_slots - total("region"), other=total("region") - total("asked"))
    return {name: getattr(split, name) for name in ("tokens", "reservation", "internal", "external", "other")}


# cell: q7-tokens
def decode_step(stored, final):
    return {"counted": None, "go_on": None}


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
# cell: q7-pool
def account(num_slots, running):
    names = ("tokens", "reservation", "internal", "external", "other")
    values = [(0, 0, 0, 2000, 0), (9, 291, 219, 976, 505), (49, 292, 242, 912, 505)]
    return dict(zip(names, values[min(len(running), 2)]))


# cell: q7-tokens
def decode_step(stored, final):
    return {
        0: {"counted": [], "go_on": []},
        1: {"counted": [6], "go_on": []},
        15: {"counted": [4, 4, 4], "go_on": [1, 2]},
        400: {"counted": [8, 300, 41], "go_on": [0, 2]},
    }.get(sum(final) if final != [6] else 1, {"counted": [], "go_on": []})


# %% wrong: cheat, a dict that has every key
# points:
# hint: a dict with
# cell: q7-pool
class Everything(dict):
    def __contains__(self, key):
        return True

    def __getitem__(self, key):
        return 0


def account(num_slots, running):
    return Everything()


# cell: q7-tokens
def decode_step(stored, final):
    return Everything()
