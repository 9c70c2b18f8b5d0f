# ruff: noqa
# Problem 1: what PagedAttention changes.

# %% right: capital letters and a list
def the_fix():
    return "C"


def true_statements():
    return ["Q", "R", "T"]


# %% right: a string
def the_fix():
    return " c "


def true_statements():
    return "tqr"


# %% right: a frozen set, computed
def the_fix():
    return chr(ord("a") + 2)


def true_statements():
    return frozenset("pqrstu") - {"p", "s", "u"}


# %% wrong: the cache becomes smaller
# points: q1-reading=1
# hint: q1-reading: this has the form of an answer
def the_fix():
    return "a"


def true_statements():
    return {"p", "q", "r", "t"}


# %% wrong: attention is computed again
# points: q1-bytes=1
# hint: q1-bytes: this has the form of an answer
def the_fix():
    return "b"


def true_statements():
    return {"q", "r", "s", "t"}


# %% wrong: only for CPU servers
# points: q1-bytes=1 q1-reading=1
# hint: q1-bytes: this has the form of an answer
def the_fix():
    return "d"


def true_statements():
    return {"q", "r", "t"}


# %% wrong: needs a GPU
# points: q1-fix=1 q1-bytes=1
# hint: q1-fix: this has the form of an answer
def the_fix():
    return "c"


def true_statements():
    return {"q", "r", "t", "u"}


# %% wrong: no last block is part empty
# points: q1-fix=1 q1-reading=1
# hint: q1-fix: this has the form of an answer
def the_fix():
    return "c"


def true_statements():
    return {"q", "t"}


# %% wrong: sharing saves nothing
# points: q1-fix=1 q1-reading=1
# hint: q1-fix: this has the form of an answer
def the_fix():
    return "c"


def true_statements():
    return {"r", "t"}


# %% wrong: no table is needed
# points: q1-fix=1 q1-bytes=1
# hint: q1-fix: this has the form of an answer
def the_fix():
    return "c"


def true_statements():
    return {"q", "r"}


# %% wrong: the letter with its sentence
# points: q1-bytes=1 q1-reading=1
# hint: expected: one of a, b, c, d
def the_fix():
    return "c: it cuts waste"


def true_statements():
    return {"q", "r", "t"}


# %% wrong: letters of the other table
# points: q1-fix=1
# hint: letters among p, q, r, s, t, u only
def the_fix():
    return "c"


def true_statements():
    return {"c", "q", "r", "t"}


# %% wrong: cheat, all letters
# points:
# hint: expected: one of a, b, c, d
def the_fix():
    return "abcd"


def true_statements():
    return set("pqrstu")


# %% wrong: cheat, a set and a text that agree with everything
# points:
# hint: expected: one of a, b, c, d
# hint: expected: a set of letters among p, q, r, s, t, u
class Yes(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class All(set):
    def __and__(self, other):
        return other

    def __eq__(self, other):
        return True


def the_fix():
    return Yes("c")


def true_statements():
    return All("qrt")
