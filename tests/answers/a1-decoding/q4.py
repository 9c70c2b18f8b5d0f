# ruff: noqa
# Problem 4: how long is the cache?

# %% right: token by token
def cache_length(prompt, new):
    fed = prompt
    for _ in range(new - 1):
        fed += 1
    return fed


def chat_cache_length(turns):
    fed, waiting = 0, 0
    for prompt, new in turns:
        fed += waiting + prompt + new - 1
        waiting = 1
    return fed


# %% right: one by the other
def cache_length(prompt, new):
    return chat_cache_length([(prompt, new)])


def chat_cache_length(turns):
    return sum(map(sum, turns)) - 1


# %% right: ids in a list
def cache_length(prompt, new):
    text = list(range(prompt + new))
    return len(text[:-1])


def chat_cache_length(turns):
    text = []
    for prompt, new in turns:
        text += ["message"] * prompt + ["answer"] * new
    text.pop()
    return len(text)


# %% wrong: counts the last token
# points:
# hint: Is it ever fed to the model in this call?
def cache_length(prompt, new):
    return prompt + new


def chat_cache_length(turns):
    return sum(prompt + new for prompt, new in turns)


# %% wrong: drops the last token of every turn
# points: q4-one=1
# hint: What must be fed first when the next turn begins?
def cache_length(prompt, new):
    return prompt + new - 1


def chat_cache_length(turns):
    return sum(cache_length(prompt, new) for prompt, new in turns)


# %% wrong: looks at the last turn only
# points: q4-one=1
# hint: What do the earlier turns leave in it?
def cache_length(prompt, new):
    return prompt + new - 1


def chat_cache_length(turns):
    return cache_length(*turns[-1])


# %% wrong: forgets what the model said
# points: q4-one=1
# hint: Generated tokens are fed too, all but one
def cache_length(prompt, new):
    return prompt + new - 1


def chat_cache_length(turns):
    return sum(prompt for prompt, new in turns)


# %% wrong: forgets the prompt
# points:
# hint: Which tokens filled the cache before the first new one?
def cache_length(prompt, new):
    return new - 1


def chat_cache_length(turns):
    return sum(new for _, new in turns) - 1


# %% wrong: stops after the prompt
# points: q4-chat=2
# hint: That is the cache after the prefill
def cache_length(prompt, new):
    return prompt


def chat_cache_length(turns):
    return sum(prompt + new for prompt, new in turns) - 1


# %% wrong: takes two off
# points: q4-chat=2
# hint: List the tokens that were fed for a prompt of 1 and 2 new tokens
def cache_length(prompt, new):
    return prompt + new - 2


def chat_cache_length(turns):
    return sum(prompt + new for prompt, new in turns) - 1


# %% wrong: the second function is left as it came
# points: q4-one=1
# hint: NotImplementedError
def cache_length(prompt, new):
    return prompt + new - 1


def chat_cache_length(turns):
    raise NotImplementedError("Problem q4: chat_cache_length is not written yet")


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def cache_length(prompt, new):
    return {64: 79, 1: 1, 5: 5}.get(prompt, 79)


def chat_cache_length(turns):
    return 78 if len(turns) == 2 else 79


# %% wrong: cheat, a length that lies about its value
# points:
# hint: expected: a whole number
class Length:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __int__(self):
        return 79

    __index__ = __int__
    __hash__ = None


def cache_length(prompt, new):
    return Length()


def chat_cache_length(turns):
    return Length()


# %% wrong: cheat, the package generates and its cache is asked
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.decoder import tiny_model


def cache_length(prompt, new):
    return chat_cache_length([(prompt, new)])


def chat_cache_length(turns):
    model = tiny_model(seed=0)
    cache, unfed = GrowingCache(model.config), []
    for prompt, new in turns:
        unfed = model.generate(unfed + [7] * prompt, new, cache=cache)[-1:]
    return cache.length
