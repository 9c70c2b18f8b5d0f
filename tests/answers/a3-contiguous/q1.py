# ruff: noqa
# Problem 1: the part that is never used.

# %% right: a list and a capital
def while_it_runs():
    return ["A", "C", "E"]


def when_it_ends():
    return "C"


# markdown:
# Nobody else can use the rest of the slab as long as the sequence runs. The server can take fewer requests at
# once, so it generates fewer tokens a second. At the end all of it is free again.


# %% right: a text of letters
def while_it_runs():
    return "ace"


def when_it_ends():
    return " c "


# markdown:
# It stays reserved and empty (internal fragmentation) until the sequence ends, then the whole block is returned.
# Requests that would have fitted wait in the meantime.


# %% right: a frozen set
def while_it_runs():
    letters = frozenset("abcdef")
    return letters - frozenset("bdf")


def when_it_ends():
    return "abcd"[2]


# markdown:
# Held and idle until it ends, and then free. Smaller batches, lower throughput.


# %% wrong: leaked for good
# points: q1-runs=1
# hint: Does the allocator know which of its slots were used?
def while_it_runs():
    return {"a", "c", "e"}


def when_it_ends():
    return "a"


# %% wrong: takes it for external fragmentation
# points: q1-ends=1
# hint: Which empty slots will be used, and which lie inside a region that somebody holds?
def while_it_runs():
    return {"a", "c", "d", "e"}


def when_it_ends():
    return "c"


# %% wrong: others borrow what is empty
# points:
# hint: Who may use its empty slots meanwhile?
# hint: Does the allocator know which of its slots were used?
def while_it_runs():
    return {"b", "c"}


def when_it_ends():
    return "d"


# %% wrong: counts everything empty as lost
# points: q1-ends=1
# hint: Which empty slots will be used
def while_it_runs():
    return {"a", "e"}


def when_it_ends():
    return "c"


# %% wrong: tokens grow with their region
# points: q1-ends=1
# hint: The size of a token's keys and values does not change
def while_it_runs():
    return {"a", "c", "e", "f"}


def when_it_ends():
    return "c"


# %% wrong: sees no cost
# points:
# hint: What is there less of?
# hint: Does the allocator know which of its slots were used?
def while_it_runs():
    return {"a", "c"}


def when_it_ends():
    return "b"


# %% wrong: words in place of letters
# points:
# hint: a set of letters among a, b, c, d, e, f
# hint: one of a, b, c, d
def while_it_runs():
    return None


def when_it_ends():
    return "the whole slab comes back"


# %% wrong: cheat, all letters
# points:
# hint: Who may use its empty slots meanwhile?
# hint: got:      'abcd'
def while_it_runs():
    return set("abcdef")


def when_it_ends():
    return "abcd"


# %% wrong: cheat, a set that has every right letter and no wrong one
# points:
# hint: a set of letters among a, b, c, d, e, f
# hint: a value of type Letter
class Agreeable(set):
    def __contains__(self, letter):
        return letter in "ace"


class Letter(str):
    def strip(self):
        return "c"


def while_it_runs():
    return Agreeable("abcdef")


def when_it_ends():
    return Letter("a")
