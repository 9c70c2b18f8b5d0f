# ruff: noqa
# Problem 6: the decoding loop.

# %% right: a reserved cache and ids of one dimension
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = PreallocatedCache(model.config, len(prompt_ids) + max_new_tokens)
    logits = model.forward(torch.tensor(prompt_ids), cache=cache)
    new = [logits[0, -1].argmax().item()]
    while len(new) < max_new_tokens and new[-1] != eos_id:
        logits = model.forward(torch.tensor([new[-1]]), cache=cache)
        new.append(logits[0, -1].argmax().item())
    return new


# %% right: a cache of lists, made by hand
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    from kvcourse.caches import KVCache

    class Lists(KVCache):
        def __init__(self, config):
            super().__init__(config)
            self.kept = [([], []) for _ in range(config.num_layers)]

        def update(self, layer, k, v):
            keys, values = self.kept[layer]
            keys.append(k)
            values.append(v)
            self._lengths[layer] += k.shape[2]
            return torch.cat(keys, dim=2), torch.cat(values, dim=2)

        def crop(self, length):
            self.kept = [
                ([torch.cat(keys, dim=2)[:, :, :length]], [torch.cat(values, dim=2)[:, :, :length]])
                for keys, values in self.kept
            ]
            self._lengths = [length] * self.config.num_layers

        @property
        def nbytes(self):
            return sum(t.nbytes for pair in self.kept for tensors in pair for t in tensors)

    cache, feed, new = Lists(model.config), [prompt_ids], []
    for _ in range(max_new_tokens):
        token = int(model.forward(torch.tensor(feed), cache=cache, last_only=True).argmax())
        new.append(token)
        if token == eos_id:
            break
        feed = [[token]]
    return new


# %% right: a tensor of tokens, trimmed at the end
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = GrowingCache(model.config)
    text = torch.tensor([prompt_ids])
    while text.shape[1] < len(prompt_ids) + max_new_tokens:
        logits = model.forward(text[:, cache.length :], cache=cache, last_only=True)
        text = torch.cat((text, logits[:, -1].argmax(dim=-1, keepdim=True)), dim=1)
        if text[0, -1] == eos_id:
            break
    return text[0, len(prompt_ids) :]


# %% wrong: feeds the whole text again, with the cache
# points:
# hint: got:      rows: 6
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache, new = GrowingCache(model.config), []
    while len(new) < max_new_tokens and (not new or new[-1] != eos_id):
        logits = model.forward(torch.tensor([prompt_ids + new]), cache=cache, last_only=True)
        new.append(int(logits.argmax()))
    return new


# %% wrong: uses no cache
# points: q6-tokens=1 q6-stop=1
# hint: expected: rows: 1 at index 1
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    new = []
    while len(new) < max_new_tokens and (not new or new[-1] != eos_id):
        logits = model.forward(torch.tensor([prompt_ids + new]), last_only=True)
        new.append(int(logits.argmax()))
    return new


# %% wrong: returns one token too few
# points:
# hint: expected: 8 token ids
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = GrowingCache(model.config)
    feed, new = torch.tensor([prompt_ids]), []
    for _ in range(max_new_tokens - 1):
        token = int(model.forward(feed, cache=cache, last_only=True).argmax())
        new.append(token)
        if token == eos_id:
            break
        feed = torch.tensor([[token]])
    return new


# %% wrong: ignores the end token
# points: q6-tokens=1 q6-work=3
# hint: generate_cached(model, 5 prompt tokens, 8, eos_id=
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = GrowingCache(model.config)
    feed, new = torch.tensor([prompt_ids]), []
    for _ in range(max_new_tokens):
        token = int(model.forward(feed, cache=cache, last_only=True).argmax())
        new.append(token)
        feed = torch.tensor([[token]])
    return new


# %% wrong: leaves the end token out
# points: q6-tokens=1 q6-work=3
# hint: expected: 3 token ids
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = GrowingCache(model.config)
    feed, new = torch.tensor([prompt_ids]), []
    for _ in range(max_new_tokens):
        token = int(model.forward(feed, cache=cache, last_only=True).argmax())
        if token == eos_id:
            break
        new.append(token)
        feed = torch.tensor([[token]])
    return new


# %% wrong: returns the prompt too
# points: q6-work=3
# hint: The prompt is not part of the answer
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = GrowingCache(model.config)
    feed, text = torch.tensor([prompt_ids]), list(prompt_ids)
    for _ in range(max_new_tokens):
        token = int(model.forward(feed, cache=cache, last_only=True).argmax())
        text.append(token)
        if token == eos_id:
            break
        feed = torch.tensor([[token]])
    return text


# %% wrong: feeds the last token as well
# points: q6-tokens=1 q6-stop=1
# hint: expected: 4 calls of forward
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache, new = GrowingCache(model.config), []
    logits = model.forward(torch.tensor([prompt_ids]), cache=cache, last_only=True)
    for _ in range(max_new_tokens):
        token = int(logits.argmax())
        new.append(token)
        logits = model.forward(torch.tensor([[token]]), cache=cache, last_only=True)
        if token == eos_id:
            break
    return new


# %% wrong: feeds the prompt token by token
# points: q6-tokens=1 q6-stop=1
# hint: expected: 4 calls of forward
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache, new = GrowingCache(model.config), []
    for token in prompt_ids:
        logits = model.forward(torch.tensor([[token]]), cache=cache)
    while True:
        new.append(int(logits.argmax()))
        if len(new) == max_new_tokens or new[-1] == eos_id:
            return new
        logits = model.forward(torch.tensor([[new[-1]]]), cache=cache)


# %% wrong: a new cache at every step
# points: q6-work=3
# hint: The first difference is at index 1
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    feed, new = torch.tensor([prompt_ids]), []
    for _ in range(max_new_tokens):
        token = int(model.forward(feed, cache=GrowingCache(model.config), last_only=True).argmax())
        new.append(token)
        if token == eos_id:
            break
        feed = torch.tensor([[token]])
    return new


# %% wrong: the smallest logit
# points: q6-work=3
# hint: The first difference is at index 0
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    cache = GrowingCache(model.config)
    feed, new = torch.tensor([prompt_ids]), []
    for _ in range(max_new_tokens):
        token = int(model.forward(feed, cache=cache, last_only=True).argmin())
        new.append(token)
        if token == eos_id:
            break
        feed = torch.tensor([[token]])
    return new


# %% wrong: cheat, the model of the visible check rebuilt without a cache
# points:
# hint: here you build it yourself, without kvcourse
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    from kvcourse.decoder import tiny_model

    return tiny_model(seed=1).generate(prompt_ids, max_new_tokens, eos_id=eos_id)


# %% wrong: cheat, a list that is equal to every list
# points:
# hint: a list of token ids
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    class Any(list):
        def __eq__(self, other):
            return True

        def __ne__(self, other):
            return False

        def __len__(self):
            return max_new_tokens

        __hash__ = None

    return Any()


# %% wrong: cheat, an empty answer
# points:
# hint: expected: 8 token ids
def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    return []


# %% wrong: cheat, the loop of the package's decoder
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.decoder import Decoder


def generate_cached(model, prompt_ids, max_new_tokens, eos_id=None):
    return Decoder.generate(model, prompt_ids, max_new_tokens, GrowingCache(model.config), eos_id)
