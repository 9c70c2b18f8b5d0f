# ruff: noqa
# Problem 1: one cache by hand.

# %% right: gigabytes of 1000
def cache_size():
    return 1.68, "GB"


def doubles():
    return ["a", "b", "d", "f"]


# %% right: as the paper rounds
def cache_size():
    return (1.6, "GB")


def doubles():
    return "abdf"


# %% right: mebibytes, and capital letters
def cache_size():
    return [1600, "MiB"]


def doubles():
    return {"A", "B", "D", "F"}


# %% right: exact, in GiB
def cache_size():
    return 1.5625, "GiB"


def doubles():
    return frozenset("abdf")


# %% right: bytes
def cache_size():
    return 40 * 5120 * 2 * 2 * 2048, "B"


def doubles():
    return ("f", "d", "b", "a")


# %% wrong: forgets K and V
# points: q1-doubles=1
# hint: Half of it. What is stored for each token beside its key?
def cache_size():
    return 0.84, "GB"


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: one token
# points: q1-doubles=1
# hint: That is the size for each token
def cache_size():
    return 0.8, "MB"


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: bits for bytes
# points: q1-doubles=1
# hint: Is the dtype's size given in bits or in bytes?
def cache_size():
    return 13.4, "GB"


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: four bytes a number
# points: q1-doubles=1
# hint: How many bytes does one number of this dtype take?
def cache_size():
    return 3.36, "GB"


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: the number of GiB, called GB
# points: q1-size=1 q1-doubles=1
# hint: That is the number in GiB; the unit says GB
def cache_size():
    return 1.5625, "GB"


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: the number of GB, called GiB
# points: q1-size=1
# hint: That is the number in GB; the unit says GiB
def cache_size():
    return 1.68, "GiB"


def doubles():
    return {"a", "b", "c", "d", "f"}


# %% wrong: one layer
# points:
# hint: That is one layer's share
def cache_size():
    return 41.9, "MB"


def doubles():
    return {"a", "d", "f"}


# %% wrong: a number without a unit
# points: q1-doubles=1
# hint: a pair of a number and a unit
def cache_size():
    return 1.5625


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: a unit that nobody knows
# points:
# hint: a unit among B, KiB, MiB, GiB
def cache_size():
    return 1.5625, "gigs"


def doubles():
    return {"e", "c"}


# %% wrong: prints
# points: q1-doubles=1
# hint: None means that the function ended without `return`
def cache_size():
    print("1.5625 GiB")


def doubles():
    return {"a", "b", "d", "f"}


# %% wrong: cheat, a number near every number
# points:
# hint: a pair of a number and a unit
class Near(float):
    def __sub__(self, other):
        return 0.0

    def __rsub__(self, other):
        return 0.0


def cache_size():
    return Near(1.0), "GiB"


def doubles():
    class All(set):
        def __eq__(self, other):
            return True

    return All("abdf")


# %% wrong: cheat, nan
# points:
# hint: nan (float) GiB
def cache_size():
    return float("nan"), "GiB"


def doubles():
    return {"a", "b", "c", "d", "e", "f"}
