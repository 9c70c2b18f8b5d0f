# ruff: noqa
# Problem 5: the causal mask with a past.

# %% right: lower triangle with a shifted diagonal
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool).tril(diagonal=n_past)


# %% right: the last rows of the square mask
def causal_mask(n_new, n_past):
    total = n_past + n_new
    return torch.ones(total, total, dtype=torch.bool).tril()[n_past:]


# %% right: an additive float mask
def causal_mask(n_new, n_past):
    return torch.full((n_new, n_past + n_new), float("-inf")).triu(diagonal=n_past + 1)


# %% right: leading dimensions to broadcast
def causal_mask(n_new, n_past):
    mask = torch.zeros(1, 1, n_new, n_past + n_new, dtype=torch.bool)
    for query in range(n_new):
        mask[:, :, query, : n_past + query + 1] = True
    return mask


# %% wrong: top-left, as is_causal=True
# points: q5-prefill=1
# hint: The diagonal starts at the top left, as if there were no past
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool).tril()


# %% wrong: all True
# points: q5-decode=1
# hint: Every query sees every key, tokens after it too
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool)


# %% wrong: transposed
# points:
# hint: expected: shape (2, 5)
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool).tril(diagonal=n_past).T


# %% wrong: True blocks
# points:
# hint: The mask is inverted
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool).triu(diagonal=n_past + 1)


# %% wrong: no query sees itself
# points:
# hint: No query sees itself
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool).tril(diagonal=n_past - 1)


# %% wrong: ones and zeros as floats
# points:
# hint: 0 lets through, -inf blocks
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_past + n_new).tril(diagonal=n_past)


# %% wrong: sees the new tokens only
# points: q5-prefill=1
# hint: The queries see only the new tokens. What about the past?
def causal_mask(n_new, n_past):
    new = torch.ones(n_new, n_new, dtype=torch.bool).tril()
    return torch.cat((torch.zeros(n_new, n_past, dtype=torch.bool), new), dim=1)


# %% wrong: the square of the new tokens alone
# points: q5-prefill=1
# hint: expected: shape (2, 5)
def causal_mask(n_new, n_past):
    return torch.ones(n_new, n_new, dtype=torch.bool).tril()


# %% wrong: one token too far
# points: q5-decode=1
# hint: may not look
def causal_mask(n_new, n_past):
    queries = torch.arange(n_new)[:, None] + n_past + 1
    return torch.arange(n_past + n_new)[None] <= queries


# %% wrong: cheat, a table of the masks that the notebook shows
# points:
# hint: with other inputs than the ones shown
def causal_mask(n_new, n_past):
    shown = [(3, 0), (1, 0), (2, 3), (3, 1), (1, 4)]
    if (n_new, n_past) in shown:
        return torch.ones(n_new, n_past + n_new, dtype=torch.bool).tril(diagonal=n_past)
    return torch.zeros(n_new, n_past + n_new, dtype=torch.bool)


# %% wrong: cheat, nan in every place
# points:
# hint: 0 lets through, -inf blocks
def causal_mask(n_new, n_past):
    return torch.full((n_new, n_past + n_new), float("nan"))


# %% wrong: cheat, one place that would broadcast to all
# points:
# hint: expected: shape (3, 3)
def causal_mask(n_new, n_past):
    return torch.tensor(True)


# %% wrong: cheat, the mask that the checks compare with
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.checks.oracles import causal_mask


# %% wrong: cheat, the mask read off a cache that attends
# points:
# hint: here you build it yourself, without kvcourse
def causal_mask(n_new, n_past):
    shape = ModelConfig(
        model_type="llama", num_layers=1, num_heads=1, num_kv_heads=1, head_dim=n_past + n_new, hidden_size=1
    )
    cache, rows = GrowingCache(shape), torch.eye(n_past + n_new)[None, None]
    if n_past:
        cache.update(0, torch.zeros_like(rows[:, :, :n_past]), rows[:, :, :n_past])
    new = torch.zeros_like(rows[:, :, n_past:])
    return cache.attend(0, new, new, rows[:, :, n_past:])[0, 0] > 0
