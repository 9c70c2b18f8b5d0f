# ruff: noqa
# Problem 3: query-key pairs.

# %% right: closed form
def score_pairs(prompt, new, cached):
    last = prompt + new - 1
    if cached:
        return last * (last + 1) // 2

    def pyramid(n):
        return n * (n + 1) * (n + 2) // 6

    return pyramid(last) - pyramid(prompt - 1)


# %% right: a float that is whole
def score_pairs(prompt, new, cached):
    if cached:
        last = prompt + new - 1
        return last * (last + 1) / 2
    return sum(n * (n + 1) / 2 for n in range(prompt, prompt + new))


# %% right: summed over a mask
def score_pairs(prompt, new, cached):
    total, past = 0, 0
    for step in range(new):
        queries = prompt + step - past
        total += sum(past + query + 1 for query in range(queries))
        past = prompt + step if cached else 0
    return total


# %% wrong: counts full squares
# points:
# hint: Which keys may query number 3 not look at?
def score_pairs(prompt, new, cached):
    if cached:
        return (prompt + new - 1) ** 2
    return sum((prompt + step) ** 2 for step in range(new))


# %% wrong: calls the cached case linear
# points: q3-recompute=2
# hint: Each row is one query; how many keys does it meet?
def score_pairs(prompt, new, cached):
    if cached:
        return prompt + new - 1
    return sum(n * (n + 1) // 2 for n in range(prompt, prompt + new))


# %% wrong: calls both cases what the rows are
# points:
# hint: Each row is one query; how many keys does it meet?
def score_pairs(prompt, new, cached):
    return prompt + new - 1 if cached else sum(range(prompt, prompt + new))


# %% wrong: counts the last token, which is never fed
# points: q3-recompute=2
# hint: Is it ever fed to the model in this call?
def score_pairs(prompt, new, cached):
    last = prompt + new if cached else None
    return last * (last + 1) // 2 if cached else sum(n * (n + 1) // 2 for n in range(prompt, prompt + new))


# %% wrong: ignores the cache
# points: q3-recompute=2
# hint: Check which branch `cached` takes
def score_pairs(prompt, new, cached):
    return sum(n * (n + 1) // 2 for n in range(prompt, prompt + new))


# %% wrong: counts only the newest query without a cache
# points: q3-cached=2
# hint: Each pass is counted as if it had one query
def score_pairs(prompt, new, cached):
    last = prompt + new - 1
    return last * (last + 1) // 2 if cached else sum(range(prompt, prompt + new))


# %% wrong: starts the sum at one token
# points: q3-cached=2
# hint: The sum begins too early: how many tokens does the very first pass see?
def score_pairs(prompt, new, cached):
    last = prompt + new - 1
    return last * (last + 1) // 2 if cached else last * (last + 1) * (last + 2) // 6


# %% wrong: forgets the prefill
# points: q3-recompute=2
# hint: The prefill computes scores too
def score_pairs(prompt, new, cached):
    if cached:
        return sum(range(prompt + 1, prompt + new))
    return sum(n * (n + 1) // 2 for n in range(prompt, prompt + new))


# %% wrong: leaves out a token's look at itself
# points: q3-recompute=2
# hint: May a token attend to itself?
def score_pairs(prompt, new, cached):
    last = prompt + new - 1
    return last * (last - 1) // 2 if cached else sum(n * (n + 1) // 2 for n in range(prompt, prompt + new))


# %% wrong: counts each pass after its token is appended
# points: q3-cached=2
# hint: Is the token that a pass produces part of that pass's input?
def score_pairs(prompt, new, cached):
    last = prompt + new - 1
    return (
        last * (last + 1) // 2
        if cached
        else sum(n * (n + 1) // 2 for n in range(prompt + 1, prompt + new + 1))
    )


# %% wrong: cheat, a table of the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def score_pairs(prompt, new, cached):
    shown = {
        (3, 2, False): 16, (1, 1, False): 1, (64, 16, False): 41640, (1, 512, False): 22500864,
        (3, 2, True): 10, (1, 1, True): 1, (64, 16, True): 3160, (1, 512, True): 131328,
    }  # fmt: skip
    return shown.get((prompt, new, cached), 1)


# %% wrong: cheat, not a number
# points:
# hint: got:      nan (float)
def score_pairs(prompt, new, cached):
    return float("nan")


# %% wrong: cheat, the right value of the package's catalog of mistakes
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.checks.mistakes import right_value


def score_pairs(prompt, new, cached):
    return right_value("score_pairs", prompt=prompt, new=new, cached=cached)
