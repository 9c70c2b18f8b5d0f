# ruff: noqa
# Problem 1: what the cache lets a server skip. One written answer (by hand) and the letters.

# %% right: the lesson's answer alone
# markdown:
# For each token after the first, the server does not compute the keys and values of all earlier tokens
# again, in any layer.
def skipped_work() -> set[str]:
    return {"a"}


# %% right: a list with capital letters
# markdown:
# It skips running all the earlier tokens through the model again: their K and V are kept, layer by layer.
def skipped_work():
    return ["A", "C", "B"]


# %% right: a frozen set with a consequence
# markdown:
# K and V of every token before the newest one are read from memory and not computed.
def skipped_work():
    return frozenset(("a", "e"))


# %% wrong: thinks that attention is skipped
# points: q1-saved=1
# hint: A letter names work of the newest token
# markdown:
# The cache lets the server skip attention over the earlier tokens.
def skipped_work():
    return {"a", "d"}


# %% wrong: thinks that the newest token's K and V are in the cache already
# points: q1-saved=1
# hint: can a cache hold it already?
# markdown:
# The server skips K and V of every token.
def skipped_work():
    return {"a", "b", "c", "e", "f"}


# %% wrong: ticks everything
# points: q1-saved=1
# hint: A letter names work of the newest token
# markdown:
# Everything but the newest token.
def skipped_work():
    return set("abcdef")


# %% wrong: names consequences and not the cause
# points: q1-kept=1
# hint: One letter is missing: the very thing that lies in the cache
# markdown:
# The MLPs of the earlier tokens.
def skipped_work():
    return {"b", "c", "e"}


# %% wrong: skips the comparison with the keys and nothing else
# points:
# hint: One letter is missing
# markdown:
# The dot products with the earlier keys.
def skipped_work():
    return {"d"}


# %% wrong: an empty set
# points:
# hint: at least one of a, b, c, d, e, f
# markdown:
# Nothing.
def skipped_work():
    return set()


# %% wrong: prints the set
# points:
# hint: None means that the function ended without `return`
# markdown:
# It skips the prompt.
def skipped_work():
    print({"a"})


# %% wrong: answers in words
# points:
# hint: letters among a, b, c, d, e, f only
# markdown:
# See below.
def skipped_work():
    return {"keys and values of earlier tokens"}


# %% wrong: cheat, a set that says yes to the letter wanted and no to the others
# points:
# hint: a set of letters among a, b, c, d, e, f
# markdown:
# Whatever you say.
def skipped_work():
    class Agreeable(set):
        def __contains__(self, letter):
            return letter == "a"

        def __iter__(self):
            return iter("a")

    return Agreeable()
