# ruff: noqa
# Problem 5: on several GPUs.


# %% right: ceil, and a list of who holds what
import math


def kv_heads_per_gpu(kv_heads, gpus):
    if math.gcd(kv_heads, gpus) not in (kv_heads, gpus):
        raise ValueError((kv_heads, gpus))
    return math.ceil(kv_heads / gpus)


def copies(kv_heads, gpus, context_gpus=1):
    each = kv_heads_per_gpu(kv_heads, gpus)
    held = [gpu * each % kv_heads for gpu in range(gpus)]
    same = held.count(0)
    if same % context_gpus != 0:
        raise ValueError(f"{same} over {context_gpus}")
    return same // context_gpus


# %% right: two ways by which is larger
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads >= gpus:
        heads, rest = divmod(kv_heads, gpus)
    else:
        heads, rest = 1, gpus % kv_heads
    if rest:
        raise ValueError("uneven")
    return heads


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads >= gpus:
        same, rest = 1, kv_heads % gpus
    else:
        same, rest = divmod(gpus, kv_heads)
    if rest or same % context_gpus:
        raise ValueError("uneven")
    return same / context_gpus


# %% right: fractions
from fractions import Fraction


def kv_heads_per_gpu(kv_heads, gpus):
    share = Fraction(kv_heads, gpus)
    if share.denominator != 1 and share.numerator != 1:
        raise ValueError(str(share))
    return share.numerator


def copies(kv_heads, gpus, context_gpus=1):
    share = Fraction(kv_heads, gpus)
    if share.denominator != 1 and share.numerator != 1:
        raise ValueError(str(share))
    left = Fraction(share.denominator, context_gpus)
    if left.denominator != 1:
        raise ValueError(str(left))
    return int(left)


# %% wrong: a part of a head
# points: q5-copies=1 q5-context=1
# hint: expected: a whole number
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return kv_heads / gpus


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = max(gpus // kv_heads, 1)
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: no head for some GPUs
# points: q5-copies=1 q5-context=1
# hint: Every GPU computes with some query heads
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return kv_heads // gpus


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = max(gpus // kv_heads, 1)
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: all heads on every GPU
# points: q5-copies=1 q5-context=1
# hint: Does it need the keys of all others?
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return kv_heads


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = max(gpus // kv_heads, 1)
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: rounds what cannot be dealt out
# points: q5-copies=1
# hint: expected: ValueError
def kv_heads_per_gpu(kv_heads, gpus):
    return max(-(-kv_heads // gpus), 1)


def copies(kv_heads, gpus, context_gpus=1):
    return max(max(gpus // kv_heads, 1) // context_gpus, 1)


# %% wrong: refuses more GPUs than heads
# points:
# hint: ValueError
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus:
        raise ValueError("more GPUs than heads")
    return kv_heads // gpus


def copies(kv_heads, gpus, context_gpus=1):
    same = gpus * kv_heads_per_gpu(kv_heads, gpus) // kv_heads
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: refuses only where GPUs are left without a head
# points: q5-copies=1 q5-context=1
# hint: with other inputs
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads >= gpus:
        return kv_heads // gpus
    if gpus % kv_heads:
        raise ValueError("uneven")
    return 1


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = max(gpus // kv_heads, 1)
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: nothing is held twice
# points: q5-heads=1
# hint: What do the others hold?
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return max(kv_heads // gpus, 1)


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = 1
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: every GPU holds a copy
# points: q5-heads=1
# hint: Different GPUs may hold different heads
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return max(kv_heads // gpus, 1)


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = gpus
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same // context_gpus


# %% wrong: context GPUs come on top
# points: q5-heads=1 q5-copies=1
# hint: it adds none
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return max(kv_heads // gpus, 1)


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = max(gpus // kv_heads, 1)
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same * context_gpus


# %% wrong: forgets the context
# points: q5-heads=1 q5-copies=1
# hint: do not hold copies of them
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return max(kv_heads // gpus, 1)


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    same = max(gpus // kv_heads, 1)
    if same % context_gpus:
        raise ValueError("the tokens cannot be shared evenly")
    return same


# %% wrong: shares what is not there
# points: q5-heads=1 q5-copies=1
# hint: expected: ValueError
def kv_heads_per_gpu(kv_heads, gpus):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return max(kv_heads // gpus, 1)


def copies(kv_heads, gpus, context_gpus=1):
    if kv_heads % gpus and gpus % kv_heads:
        raise ValueError("neither divides the other")
    return max(max(gpus // kv_heads, 1) // context_gpus, 1)


# %% wrong: raises for everything
# points:
# hint: ValueError
def kv_heads_per_gpu(kv_heads, gpus):
    raise ValueError


def copies(kv_heads, gpus, context_gpus=1):
    raise ValueError


# %% wrong: cheat, the package's own
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.errors import ConfigError
from kvcourse.memory import duplication, heads_per_rank


def kv_heads_per_gpu(kv_heads, gpus):
    try:
        return heads_per_rank(kv_heads, gpus)
    except ConfigError as error:
        raise ValueError from error


def copies(kv_heads, gpus, context_gpus=1):
    try:
        return duplication(kv_heads, gpus, context_gpus)
    except ConfigError as error:
        raise ValueError from error
