# ruff: noqa
# Problem 7: which wrong formula gives this number?

# %% right: by the quotient
from fractions import Fraction


def explain(config, dtype_bytes, claimed):
    right = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes
    stored = config.num_kv_heads * config.head_dim
    factors = {
        "a": Fraction(1, 2),
        "b": Fraction(config.num_heads, config.num_kv_heads),
        "c": Fraction(config.hidden_size // config.num_heads, config.head_dim),
        "d": Fraction(config.hidden_size, stored),
        "e": Fraction(8),
    }
    quotient = Fraction(claimed, right)
    if quotient == 1:
        return {"r"}
    for letter, factor in factors.items():
        if factor == quotient:
            return {letter}
    for first in factors:
        for second in factors:
            if first < second and not (first in "bcd" and second in "bcd"):
                if factors[first] * factors[second] == quotient:
                    return {first, second}


# %% right: a table, searched from the end
def explain(config, dtype_bytes, claimed):
    base = config.num_layers * dtype_bytes
    kv, heads, dim, hidden = config.num_kv_heads, config.num_heads, config.head_dim, config.hidden_size
    widths = [("d", hidden), ("c", kv * (hidden // heads)), ("b", heads * dim), ("", kv * dim)]
    answer = None
    for letters, width in widths:
        for side, two in (("", 2), ("a", 1)):
            for bits, eight in (("", 1), ("e", 8)):
                name = side + letters + bits
                if len(name) < 3 and base * width * two * eight == claimed:
                    if answer is None or len(name) < len(answer):
                        answer = name
    return set(answer or "r")


# %% right: a list in capitals, two letters before one
def explain(config, dtype_bytes, claimed):
    def value(slips):
        heads = config.num_heads if "B" in slips else config.num_kv_heads
        dim = config.hidden_size // config.num_heads if "C" in slips else config.head_dim
        width = config.hidden_size if "D" in slips else heads * dim
        return (
            config.num_layers * width * dtype_bytes * (8 if "E" in slips else 1) * (1 if "A" in slips else 2)
        )

    if value("") == claimed:
        return ["R"]
    for slips in ("AB", "AC", "AD", "AE", "BE", "CE", "DE", "A", "B", "C", "D", "E"):
        if value(slips) == claimed:
            return list(slips)


# %% wrong: one slip at most
# points: q7-one=2 q7-right=1
# hint: a set of letters among
def explain(config, dtype_bytes, claimed):
    right = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes
    one = config.num_layers * dtype_bytes * 2
    values = {
        "r": right, "a": right // 2, "b": right // config.num_kv_heads * config.num_heads,
        "c": one * config.num_kv_heads * (config.hidden_size // config.num_heads), "d": one * config.hidden_size, "e": 8 * right,
    }  # fmt: skip
    for letter, value in values.items():
        if value == claimed:
            return {letter}


# %% wrong: never says that a number is right
# points: q7-one=2 q7-two=1
# hint: a set of letters among
def explain(config, dtype_bytes, claimed):
    from itertools import combinations

    def value(slips):
        heads = config.num_heads if "b" in slips else config.num_kv_heads
        dim = config.hidden_size // config.num_heads if "c" in slips else config.head_dim
        width = config.hidden_size if "d" in slips else heads * dim
        return (
            config.num_layers * width * dtype_bytes * (8 if "e" in slips else 1) * (1 if "a" in slips else 2)
        )

    for count in (1, 2):
        for slips in combinations("abcde", count):
            if sum(s in "bcd" for s in slips) < 2 and value(slips) == claimed and claimed != value(""):
                return set(slips)


# %% wrong: reports a slip that changes nothing
# points: q7-one=2 q7-two=1
# hint: With c the number would be 131,072
def explain(config, dtype_bytes, claimed):
    from itertools import combinations

    def value(slips):
        heads = config.num_heads if "b" in slips else config.num_kv_heads
        dim = config.hidden_size // config.num_heads if "c" in slips else config.head_dim
        width = config.hidden_size if "d" in slips else heads * dim
        return (
            config.num_layers * width * dtype_bytes * (8 if "e" in slips else 1) * (1 if "a" in slips else 2)
        )

    for count in (1, 2):
        for slips in combinations("abcde", count):
            if sum(s in "bcd" for s in slips) < 2 and value(slips) == claimed:
                return set(slips)
    return {"r"}


# %% wrong: takes c for d
# points: q7-right=1
# hint: With d the number would be
def explain(config, dtype_bytes, claimed):
    from itertools import combinations

    def value(slips):
        heads = config.num_heads if "b" in slips else config.num_kv_heads
        dim = config.hidden_size // config.num_heads if "d" in slips else config.head_dim
        width = config.hidden_size if "c" in slips else heads * dim
        return (
            config.num_layers * width * dtype_bytes * (8 if "e" in slips else 1) * (1 if "a" in slips else 2)
        )

    if value("") == claimed:
        return {"r"}
    for count in (1, 2):
        for slips in combinations("abcde", count):
            if sum(s in "bcd" for s in slips) < 2 and value(slips) == claimed:
                return set(slips)


# %% wrong: forgets the bits
# points: q7-right=1
# hint: a set of letters among
def explain(config, dtype_bytes, claimed):
    from itertools import combinations

    def value(slips):
        heads = config.num_heads if "b" in slips else config.num_kv_heads
        dim = config.hidden_size // config.num_heads if "c" in slips else config.head_dim
        width = config.hidden_size if "d" in slips else heads * dim
        return config.num_layers * width * dtype_bytes * (1 if "a" in slips else 2)

    if value("") == claimed:
        return {"r"}
    for count in (1, 2):
        for slips in combinations("abcd", count):
            if sum(s in "bcd" for s in slips) < 2 and value(slips) == claimed:
                return set(slips)


# %% wrong: looks at whole quotients only
# points: q7-right=1
# hint: With e the number would be
def explain(config, dtype_bytes, claimed):
    right = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype_bytes
    group = config.num_heads // config.num_kv_heads
    quotient = round(claimed / right, 1)
    if claimed == right:
        return {"r"}
    return {"a"} if quotient == 0.5 else {"b"} if quotient == group else {"e"}


# %% wrong: always the commonest mistake
# points:
# hint: With d the number would be
def explain(config, dtype_bytes, claimed):
    return {"d"}


# %% wrong: always right
# points:
# hint: With r the number would be
def explain(config, dtype_bytes, claimed):
    return {"r"}


# %% wrong: all letters at once
# points:
# hint: two letters are the most
def explain(config, dtype_bytes, claimed):
    return set("abcde")


# %% wrong: the name of the mistake
# points:
# hint: letters among
def explain(config, dtype_bytes, claimed):
    return {"query heads"}


# %% wrong: cheat, the engine behind the hints
# points:
# hint: here you build it yourself, without kvcourse
def explain(config, dtype_bytes, claimed):
    from kvcourse.checks.sizes import accepted

    return set(accepted(config, dtype_bytes, claimed)[0])


# %% wrong: cheat, what the notebook shows
# points:
# hint: Those letters give another number
def explain(config, dtype_bytes, claimed):
    shown = {
        163840: "c",
        138240: "b",
        409600: "a",
        229376: "e",
        1605632: "be",
        81920: "ac",
        131072: "r",
        262144: "a",
    }
    if claimed == 524288:
        return {"b"} if config.num_kv_heads == 8 else {"r"}
    return set(shown.get(claimed, "d"))


# %% wrong: cheat, a set that agrees
# points:
# hint: a set of letters among
def explain(config, dtype_bytes, claimed):
    class Agrees(set):
        def __eq__(self, other):
            return True

        __hash__ = lambda self: 0

    return Agrees("a")
