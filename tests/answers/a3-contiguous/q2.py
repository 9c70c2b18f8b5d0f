# ruff: noqa
# Problem 2: one request's account.

# %% right: other order, a key more
def waste(reserved, prompt, generated, final):
    used = prompt + generated
    return {"internal": reserved - final, "tokens": used, "reservation": final - used, "reserved": reserved}


# %% right: slot by slot
def waste(reserved, prompt, generated, final):
    parts = dict(tokens=0, reservation=0, internal=0)
    for slot in range(reserved):
        if slot < prompt + generated:
            parts["tokens"] += 1
        elif slot < final:
            parts["reservation"] += 1
        else:
            parts["internal"] += 1
    return parts


# %% right: NumPy differences
def waste(reserved, prompt, generated, final):
    marks = np.array([0, prompt + generated, final, reserved])
    return dict(zip(("tokens", "reservation", "internal"), np.diff(marks)))


# %% right: whole floats
def waste(reserved, prompt, generated, final):
    return {
        "tokens": float(prompt + generated),
        "reservation": float(final - prompt - generated),
        "internal": float(reserved - final),
    }


# %% right: Counter
from collections import Counter


def waste(reserved, prompt, generated, final):
    return Counter("t" * 0) | Counter({"tokens": prompt + generated}) + Counter(
        reservation=final - prompt - generated
    ) + Counter(internal=reserved - final)


# %% right: defaultdict
from collections import defaultdict


def waste(reserved, prompt, generated, final):
    parts = defaultdict(int)
    for slot in range(reserved):
        if slot < prompt + generated:
            parts["tokens"] += 1
        elif slot < final:
            parts["reservation"] += 1
        else:
            parts["internal"] += 1
    return parts


# %% right: OrderedDict
from collections import OrderedDict


def waste(reserved, prompt, generated, final):
    return OrderedDict(
        tokens=prompt + generated, reservation=final - prompt - generated, internal=reserved - final
    )


# %% wrong: counts the reservation as used
# points: q2-reservation=1 q2-internal=1
# hint: Reserved is not used
def waste(reserved, prompt, generated, final):
    return {"tokens": reserved, "reservation": final - prompt - generated, "internal": reserved - final}


# %% wrong: counts tokens still to come
# points: q2-internal=1
# hint: Tokens still to come are not stored yet
def waste(reserved, prompt, generated, final):
    return {"tokens": final, "reservation": 0, "internal": reserved - final}


# %% wrong: two kinds of slots, used and wasted
# points: q2-tokens=1
# hint: These are all the empty slots
def waste(reserved, prompt, generated, final):
    empty = reserved - prompt - generated
    return {"tokens": prompt + generated, "reservation": 0, "internal": empty}


# %% wrong: swaps reservation and internal
# points: q2-tokens=1
# hint: Reservation and internal fragmentation are swapped
def waste(reserved, prompt, generated, final):
    used = prompt + generated
    return {"tokens": used, "reservation": reserved - final, "internal": final - used}


# %% wrong: forgets the generated tokens
# points: q2-internal=1
# hint: Generated tokens are stored, too
# hint: How many are still to come?
def waste(reserved, prompt, generated, final):
    return {"tokens": prompt, "reservation": final - prompt, "internal": reserved - final}


# %% wrong: final counts the output alone
# points: q2-tokens=1
# hint: reservation
def waste(reserved, prompt, generated, final):
    return {
        "tokens": prompt + generated,
        "reservation": final - generated,
        "internal": reserved - prompt - final,
    }


# %% wrong: everything empty is reservation
# points: q2-tokens=1
# hint: These are all the empty slots
def waste(reserved, prompt, generated, final):
    return {"tokens": prompt + generated, "reservation": reserved - prompt - generated, "internal": 0}


# %% wrong: shares, not slots
# points:
# hint: a whole number
def waste(reserved, prompt, generated, final):
    used = prompt + generated
    return {
        "tokens": (used + 0.5) / reserved,
        "reservation": (final - used + 0.5) / reserved,
        "internal": (reserved - final + 0.5) / reserved,
    }


# %% wrong: a tuple
# points:
# hint: a dict with tokens
def waste(reserved, prompt, generated, final):
    return prompt + generated, final - prompt - generated, reserved - final


# %% wrong: one off, as positions
# points: q2-tokens=1
# hint: Too small.
def waste(reserved, prompt, generated, final):
    used = prompt + generated
    return {"tokens": used, "reservation": final - used - 1, "internal": reserved - final - 1}


# %% wrong: cheat, the package's own pool
# points:
# hint: here you build it yourself, without kvcourse
def waste(reserved, prompt, generated, final):
    from kvcourse.reservation import ContiguousPool, MaximumLength

    pool = ContiguousPool(reserved, MaximumLength(reserved))
    pool.admit(0, prompt, final - prompt)
    for _ in range(generated):
        pool.append(0)
    split = pool.split()
    return {"tokens": split.tokens, "reservation": split.reservation, "internal": split.internal}


# %% wrong: cheat, the figure by heart
# points:
# hint: with other inputs than the ones shown
def waste(reserved, prompt, generated, final):
    return {
        (2048, 1): {"tokens": 8, "reservation": 2, "internal": 2038},
        (512, 1): {"tokens": 4, "reservation": 1, "internal": 507},
        (64, 0): {"tokens": 9, "reservation": 31, "internal": 24},
        (64, 31): {"tokens": 40, "reservation": 0, "internal": 24},
        (40, 0): {"tokens": 9, "reservation": 31, "internal": 0},
    }.get((reserved, generated), {"tokens": 1, "reservation": 1, "internal": 1})


# %% wrong: cheat, numbers that agree with every number
# points:
# hint: a value of type Any
class Any(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


def waste(reserved, prompt, generated, final):
    return {"tokens": Any(0), "reservation": Any(0), "internal": Any(0)}


# %% wrong: cheat, pydoc
# points:
# hint: `pydoc` has no place
import pydoc


def waste(reserved, prompt, generated, final):
    P = pydoc.locate("kvcourse.reservation.ContiguousPool")
    O = pydoc.locate("kvcourse.reservation.MaximumLength")
    pool = P(reserved, O(reserved))
    if final > prompt:
        pool.admit(0, prompt, final - prompt)
        if generated:
            pool.append(0, generated)
        s = pool.split()
        return {"tokens": s.tokens, "reservation": s.reservation, "internal": s.internal}
    return {"tokens": prompt + generated, "reservation": 0, "internal": reserved - final}
