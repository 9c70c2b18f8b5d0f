# ruff: noqa
# Problem 2: rows projected.

# %% right: closed form
def rows_projected(prompt, new, cached):
    last = prompt + new - 1
    return last if cached else new * (prompt + last) // 2


# %% right: closed form with a float that is whole
def rows_projected(prompt, new, cached):
    if cached:
        return prompt + new - 1
    return prompt * new + new * (new - 1) / 2


# %% right: the list of passes, summed by numpy
def rows_projected(prompt, new, cached):
    import numpy as np

    passes = np.full(new, prompt)
    passes[1:] = 1 if cached else prompt + np.arange(1, new)
    return passes.sum()


# %% wrong: counts the last token, which is never fed
# points: q2-recompute=2
# hint: Is it ever fed to the model in this call?
def rows_projected(prompt, new, cached):
    return prompt + new if cached else sum(range(prompt, prompt + new))


# %% wrong: starts the sum at one token
# points: q2-cached=2
# hint: The sum begins too early: how many rows does the very first forward pass have?
def rows_projected(prompt, new, cached):
    last = prompt + new - 1
    return last if cached else last * (last + 1) // 2


# %% wrong: starts the sum at one token and ends it one late
# points: q2-cached=2
# hint: The sum begins too early and ends too late
def rows_projected(prompt, new, cached):
    total = prompt + new
    return total - 1 if cached else total * (total + 1) // 2


# %% wrong: ignores the cache
# points: q2-recompute=2
# hint: Check which branch `cached` takes
def rows_projected(prompt, new, cached):
    return sum(prompt + step for step in range(new))


# %% wrong: swaps the two cases
# points:
# hint: Check which branch `cached` takes
def rows_projected(prompt, new, cached):
    return sum(prompt + step for step in range(new)) if cached else prompt + new - 1


# %% wrong: forgets the prompt
# points: q2-recompute=2
# hint: Who fills the cache before the first of them?
def rows_projected(prompt, new, cached):
    return new - 1 if cached else sum(prompt + step for step in range(new))


# %% wrong: projects the prompt at every step
# points: q2-recompute=2
# hint: After the prefill its keys and values lie in the cache
def rows_projected(prompt, new, cached):
    rows = 0
    for step in range(new):
        rows += prompt + (step > 0) if cached else prompt + step
    return rows


# %% wrong: counts each pass after its token is appended
# points: q2-cached=2
# hint: Is the token that a pass produces part of that pass's input?
def rows_projected(prompt, new, cached):
    return prompt + new - 1 if cached else sum(prompt + step for step in range(1, new + 1))


# %% wrong: forgets that the text grows
# points: q2-cached=2
# hint: What did the passes before it append?
def rows_projected(prompt, new, cached):
    return prompt + new - 1 if cached else prompt * new


# %% wrong: counts both projections, K and V
# points:
# hint: Too large.
def rows_projected(prompt, new, cached):
    return 2 * (prompt + new - 1 if cached else sum(prompt + step for step in range(new)))


# %% wrong: cheat, a table of the values that the notebook shows
# points:
# hint: rows_projected without a cache, with other inputs than the ones shown
def rows_projected(prompt, new, cached):
    shown = {
        (3, 2, False): 7, (1, 1, False): 1, (64, 16, False): 1144,
        (3, 2, True): 4, (1, 1, True): 1, (64, 16, True): 79,
    }  # fmt: skip
    return shown.get((prompt, new, cached), 79)


# %% wrong: cheat, a number that is equal to every number
# points:
# hint: expected: a whole number
def rows_projected(prompt, new, cached):
    class Any(int):
        def __eq__(self, other):
            return True

        def __ne__(self, other):
            return False

        __hash__ = int.__hash__

    return Any(79)


# %% wrong: cheat, True for every question
# points:
# hint: got:      True
def rows_projected(prompt, new, cached):
    return True


# %% wrong: cheat, the count of the package's own table
# points:
# hint: here you build it yourself, without kvcourse
def rows_projected(prompt, new, cached):
    from kvcourse.widgets.cache_work import totals

    return totals(prompt, new, cached).rows
