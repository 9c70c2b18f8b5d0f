# ruff: noqa
# Problem 8: put two halves of a softmax together.

# %% right: log-sum-exp form
def merge(a, b):
    lse_a, lse_b = (t[0] + t[1].log() for t in (a, b))  # -inf over no keys
    lse = torch.logaddexp(lse_a, lse_b)
    o = torch.zeros_like(a[2])
    for t, one in ((a, lse_a), (b, lse_b)):
        if bool((t[1] > 0).all()):
            o = o + (one - lse).exp()[:, None] * t[2] / t[1][:, None]
    some = (lse > -torch.inf).to(lse.dtype)
    return lse, some, o


# %% right: the difference of the two m, one of them shrinks
def merge(a, b):
    (m_a, l_a, o_a), (m_b, l_b, o_b) = a, b
    if bool((l_a == 0).all()):
        return b
    if bool((l_b == 0).all()):
        return a
    shrink_a = torch.exp(torch.clamp(m_a - m_b, max=0))
    shrink_b = torch.exp(torch.clamp(m_b - m_a, max=0))
    return (
        torch.where(m_a > m_b, m_a, m_b),
        shrink_a * l_a + shrink_b * l_b,
        shrink_a.unsqueeze(1) * o_a + shrink_b.unsqueeze(1) * o_b,
    )


# %% right: head by head, a list
import math


def merge(a, b):
    heads = []
    for h in range(len(a[0])):
        parts = [[t[h] for t in part] for part in (a, b) if part[1][h] > 0]
        if not parts:
            heads.append((torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros_like(a[2][h])))
            continue
        m = max(part[0] for part in parts)
        factors = [math.exp(part[0] - m) for part in parts]
        heads.append(
            (
                m,
                sum(f * part[1] for f, part in zip(factors, parts)),
                sum(f * part[2] for f, part in zip(factors, parts)),
            )
        )
    return [torch.stack(column) for column in zip(*heads)]


# %% right: stacked, nan turned into 0
def merge(a, b):
    m, l, o = (torch.stack(pair) for pair in zip(a, b))  # (2, H), (2, H), (2, H, D)
    top = m.max(dim=0).values
    factor = torch.nan_to_num((m - top).exp(), nan=0.0)
    return top, (factor * l).sum(0), (factor[..., None] * o).sum(0)


# %% wrong: averages the outputs
# points:
# hint: The outputs of the parts are averaged
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    l = a[1] * (a[0] - m).exp() + b[1] * (b[0] - m).exp()
    return m, l, l[:, None] * (a[2] / a[1][:, None] + b[2] / b[1][:, None]) / 2


# %% wrong: adds the sums as they are
# points:
# hint: The sums are added as they are. They were made with different m
def merge(a, b):
    return torch.maximum(a[0], b[0]), a[1] + b[1], a[2] + b[2]


# %% wrong: undoes each m, which overflows
# points: q8-two=2 q8-order=1 q8-empty=1
# hint: m must be finite and l above 0 where there are keys: nan, inf or 0 came
def merge(a, b):
    l = a[1] * a[0].exp() + b[1] * b[0].exp()
    o = a[2] * a[0].exp()[:, None] + b[2] * b[0].exp()[:, None]
    m = torch.maximum(a[0], b[0])
    zero = m.masked_fill(m == -torch.inf, 0)
    return m, l / zero.exp(), o / zero.exp()[:, None]


# %% wrong: m is 0 in the result, which overflows
# points: q8-two=2 q8-order=1 q8-empty=1
# hint: m must be finite and l above 0 where there are keys: nan, inf or 0 came
def merge(a, b):
    l = a[1] * a[0].exp() + b[1] * b[0].exp()
    o = a[2] * a[0].exp()[:, None] + b[2] * b[0].exp()[:, None]
    return torch.zeros_like(a[0]), l, o


# %% wrong: -inf minus -inf
# points: q8-two=2 q8-order=1 q8-large=1
# hint: m must be finite and l above 0 where there are keys: nan, inf or 0 came
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    from_a, from_b = (a[0] - m).exp(), (b[0] - m).exp()
    return m, a[1] * from_a + b[1] * from_b, a[2] * from_a[:, None] + b[2] * from_b[:, None]


# %% wrong: keeps the m of the first
# points:
# hint: m + log(l)
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    from_a, from_b = (a[0] - m).exp(), (b[0] - m).exp()
    return a[0], a[1] * from_a + b[1] * from_b, a[2] * from_a[:, None] + b[2] * from_b[:, None]


# %% wrong: rescales to the m of the first, which overflows
# points: q8-two=2 q8-order=1
# hint: merge: scores near -10,000 and near 10,000
def merge(a, b):
    factor = (b[0] - a[0]).exp()
    return a[0], a[1] + factor * b[1], a[2] + factor[:, None] * b[2]


# %% wrong: rescales the wrong way
# points:
# hint: The rescaling goes the wrong way
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    from_a, from_b = (m - a[0]).exp(), (m - b[0]).exp()
    return m, a[1] * from_a + b[1] * from_b, a[2] * from_a[:, None] + b[2] * from_b[:, None]


# %% wrong: rescales o and not l
# points:
# hint: o is brought to the common m, l is not
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    return m, a[1] + b[1], a[2] * (a[0] - m).exp()[:, None] + b[2] * (b[0] - m).exp()[:, None]


# %% wrong: rescales l and not o
# points:
# hint: l is brought to the common m, o is not
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    return m, a[1] * (a[0] - m).exp() + b[1] * (b[0] - m).exp(), a[2] + b[2]


# %% wrong: the part with the larger score wins
# points:
# hint: merge: scores 0 and ln 3, values 10 and 20: o / l
def merge(a, b):
    return a if bool((a[0] > b[0]).all()) else b


# %% wrong: one m for all heads
# points: q8-two=2 q8-order=1
# hint: m must be finite
def merge(a, b):
    top = max(a[0].max(), b[0].max())
    m = torch.full_like(a[0], 0.0) + top
    from_a, from_b = (a[0] - m).exp(), (b[0] - m).exp()
    return m, a[1] * from_a + b[1] * from_b, a[2] * from_a[:, None] + b[2] * from_b[:, None]


# %% wrong: gives the output and the weight
# points:
# hint: a tuple of 3
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    from_a, from_b = (a[0] - m).exp(), (b[0] - m).exp()
    l = a[1] * from_a + b[1] * from_b
    return (a[2] * from_a[:, None] + b[2] * from_b[:, None]) / l[:, None], m + l.log()


# %% wrong: changes the first triple
# points: q8-two=2 q8-large=1 q8-empty=1
# hint: The triple that went in has been made into the result
def merge(a, b):
    m = torch.maximum(a[0], b[0])
    shift = m.masked_fill(m == -torch.inf, 0.0)
    from_a, from_b = (a[0] - shift).exp(), (b[0] - shift).exp()
    a[1].mul_(from_a).add_(b[1] * from_b)
    a[2].mul_(from_a[:, None]).add_(b[2] * from_b[:, None])
    a[0].copy_(m)
    return a[0].clone(), a[1].clone(), a[2].clone()


# %% wrong: cheat, nan
# points:
# hint: m must be finite
def merge(a, b):
    return tuple(torch.full_like(item, float("nan")) for item in a)


# %% wrong: cheat, the course's own merge
# points:
# hint: here you build it yourself, without kvcourse
from kvcourse.caches.paged_attention import Partial, merge as ready


def merge(a, b):
    whole = ready(*(Partial(m[:, None], l[:, None], o) for m, l, o in (a, b)))
    return whole.m[:, 0], whole.l[:, 0], whole.o


# %% wrong: cheat, tensors that agree with every comparison
# points:
# hint: expected: a torch.Tensor
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.tensor(True)


def merge(a, b):
    return tuple(item.clone().as_subclass(Agreeable) for item in a)


# %% wrong: cheat, empty tensors
# points:
# hint: expected: shape
def merge(a, b):
    return torch.empty(0), torch.empty(0), torch.empty(0, 0)
