# ruff: noqa
# Problem 9: reading the figure, and auditing an account.

# %% right: every pair
# cell: q9-read
def true_of_the_figure():
    return "abd"


# cell: q9-waste
def printed_waste(num_slots, regions):
    tokens = 0
    for start, size, stored in regions:
        tokens += stored
    return (num_slots - tokens) / num_slots * 100


# cell: q9-audit
def faults(num_slots, regions):
    letters = set()
    for at, (start, size, stored) in enumerate(regions):
        if start + size > num_slots:
            letters.add("p")
        if stored > size:
            letters.add("t")
        for other, length, _ in regions[:at]:
            if max(start, other) < min(start + size, other + length):
                letters.add("o")
    return letters or {"n"}


# %% right: slot by slot, as a list of capitals
# cell: q9-read
def true_of_the_figure():
    return ["A", "B", "D"]


# cell: q9-waste
def printed_waste(num_slots, regions):
    return 100.0 - 100.0 * sum(region[2] for region in regions) / num_slots


# cell: q9-audit
def faults(num_slots, regions):
    slots = [slot for start, size, _ in regions for slot in range(start, start + size)]
    found = ["O"] * (len(set(slots)) < len(slots)) + ["P"] * (max(slots, default=0) >= num_slots)
    found += ["T"] * any(stored > size for _, size, stored in regions)
    return found or ["N"]


# %% right: NumPy
# cell: q9-read
def true_of_the_figure():
    return frozenset({"a", "b", "d"})


# cell: q9-waste
def printed_waste(num_slots, regions):
    table = np.array(regions, dtype=float).reshape(-1, 3)
    return np.float64(100 * (num_slots - table[:, 2].sum()) / num_slots)


# cell: q9-audit
def faults(num_slots, regions):
    table = np.array(regions, dtype=int).reshape(-1, 3)
    table = table[np.argsort(table[:, 0], kind="stable")]
    ends = table[:, 0] + table[:, 1]
    checks = {
        "o": bool((table[1:, 0] < ends[:-1]).any()),
        "p": bool((ends > num_slots).any()),
        "t": bool((table[:, 2] > table[:, 1]).any()),
    }
    return {letter for letter, there in checks.items() if there} or {"n"}


# %% wrong: Oracle should lose nothing
# points: q9-outside=1 q9-printed=1 q9-faults=2
# hint: But are all its slots full from the first step on?
# cell: q9-read
def true_of_the_figure():
    return {"a", "b", "c", "d"}


# %% wrong: holes between slabs
# points: q9-inside=1 q9-printed=1 q9-faults=2
# hint: does a freed region fit the next request?
# cell: q9-read
def true_of_the_figure():
    return {"a", "b", "d", "e"}


# %% wrong: the range of one experiment for every server
# points: q9-inside=1 q9-printed=1 q9-faults=2
# hint: The figure is one experiment
# cell: q9-read
def true_of_the_figure():
    return {"a", "b", "d", "f"}


# %% wrong: does not see the external part
# points: q9-inside=1 q9-printed=1 q9-faults=2
# hint: does a freed region fit the next request?
# cell: q9-read
def true_of_the_figure():
    return {"a", "b"}


# %% wrong: cuts the waste off at 0
# points: q9-inside=1 q9-outside=1 q9-faults=2
# hint: A waste below 0 is the finding
# cell: q9-waste
def printed_waste(num_slots, regions):
    return max(0.0, 100 * (1 - sum(stored for _, _, stored in regions) / num_slots))


# %% wrong: counts what is held
# points: q9-inside=1 q9-outside=1 q9-faults=2
# hint: Slots that are held but hold no token are waste, too
# cell: q9-waste
def printed_waste(num_slots, regions):
    tokens = sum(stored for _, _, stored in regions)
    held = sum(size for _, size, _ in regions)
    return 100 * (1 - (held if held < num_slots else tokens) / num_slots)


# %% wrong: a fraction
# points: q9-inside=1 q9-outside=1 q9-faults=2
# hint: Percent are asked for
# cell: q9-waste
def printed_waste(num_slots, regions):
    return 1 - sum(stored for _, _, stored in regions) / num_slots


# %% wrong: in percent of the tokens
# points: q9-inside=1 q9-outside=1 q9-faults=2
# hint: Which share of the pool?
# cell: q9-waste
def printed_waste(num_slots, regions):
    tokens = sum(stored for _, _, stored in regions)
    return 100 * (num_slots - tokens) / tokens if tokens else 100.0


# %% wrong: neighbors in the list only
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: and it is not their neighbor in the list
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for (a, size, _), (b, length, _) in zip(regions, regions[1:]):
        if max(a, b) < min(a + size, b + length):
            found.add("o")
    for start, size, stored in regions:
        if start + size > num_slots:
            found.add("p")
        if stored > size:
            found.add("t")
    return found or {"n"}


# %% wrong: looks only behind each start
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: The first lies inside the second
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for at, (start, size, stored) in enumerate(regions):
        if any(start <= later < start + size for later, _, _ in regions[at + 1 :]):
            found.add("o")
        if start + size > num_slots:
            found.add("p")
        if stored > size:
            found.add("t")
    return found or {"n"}


# %% wrong: regions that touch overlap
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: The second region begins where the first has ended
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for at, (start, size, stored) in enumerate(regions):
        if any(start <= b + n and b <= start + size for b, n, _ in regions[:at]):
            found.add("o")
        if start + size > num_slots:
            found.add("p")
        if stored > size:
            found.add("t")
    return found or {"n"}


# %% wrong: the end of the pool is beyond it
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: and ends with the pool
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for at, (start, size, stored) in enumerate(regions):
        if any(start < b + n and b < start + size for b, n, _ in regions[:at]):
            found.add("o")
        if start + size >= num_slots:
            found.add("p")
        if stored > size:
            found.add("t")
    return found or {"n"}


# %% wrong: the tokens of the whole pool
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: The sum over the pool would not show it
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for at, (start, size, stored) in enumerate(regions):
        if any(start < b + n and b < start + size for b, n, _ in regions[:at]):
            found.add("o")
        if start + size > num_slots:
            found.add("p")
    if sum(region[2] for region in regions) > num_slots and not found:
        found.add("t")
    return found or {"n"}


# %% wrong: stops at the first fault
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: Slots 20 to 29 are in both, and slots 43 and 44 are not in the pool
# cell: q9-audit
def faults(num_slots, regions):
    for at, (start, size, stored) in enumerate(regions):
        if any(start < b + n and b < start + size for b, n, _ in regions[:at]):
            return {"o"}
        if start + size > num_slots:
            return {"p"}
        if stored > size:
            return {"t"}
    return {"n"}


# %% wrong: an empty set for no fault
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: at least one of
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for at, (start, size, stored) in enumerate(regions):
        if any(start < b + n and b < start + size for b, n, _ in regions[:at]):
            found.add("o")
        if start + size > num_slots:
            found.add("p")
        if stored > size:
            found.add("t")
    return found


# %% wrong: equal starts are not seen as overlap
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: Both begin at slot 0
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    for a, n, s in regions:
        if a + n > num_slots:
            found.add("p")
        if s > n:
            found.add("t")
        for b, m, _ in regions:
            if a < b < a + n:
                found.add("o")
    return found or {"n"}


# %% wrong: regions in a dict by their start
# points: q9-inside=1 q9-outside=1 q9-printed=1
# hint: Both begin at slot 0
# cell: q9-audit
def faults(num_slots, regions):
    found = set()
    by = {a: n for a, n, s in regions}
    last = 0
    for a in sorted(by):
        if a < last:
            found.add("o")
        last = max(last, a + by[a])
    if last > num_slots:
        found.add("p")
    if any(s > n for a, n, s in regions):
        found.add("t")
    return found or {"n"}


# %% wrong: cheat, the checks' own
# points:
# hint: here you build it yourself, without kvcourse
# cell: q9-read
def true_of_the_figure():
    return set("abcdef")


# cell: q9-waste
def printed_waste(num_slots, regions):
    from kvcourse.checks import right_value

    return right_value("waste_percent", num_slots=num_slots, tokens=sum(r[2] for r in regions), held=0)


# cell: q9-audit
from kvcourse.checks.pools import faults


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
# cell: q9-read
def true_of_the_figure():
    return {"c", "e", "f"}


# cell: q9-waste
def printed_waste(num_slots, regions):
    return {43: -27.907, 100: 70.0, 8: 100.0, 16: 0.0}.get(num_slots, 50.0)


# cell: q9-audit
def faults(num_slots, regions):
    known = {43: "op", 64: "o", 8: "p"}
    return set(known.get(num_slots, "n" if regions[0][0] == 0 else "t"))


# %% wrong: cheat, every letter
# points:
# hint: faults(43
# hint: got:      True
# cell: q9-read
def true_of_the_figure():
    return "abcdef"


# cell: q9-waste
def printed_waste(num_slots, regions):
    return True


# cell: q9-audit
def faults(num_slots, regions):
    return "optn"
