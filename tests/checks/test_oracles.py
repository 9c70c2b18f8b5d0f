"""The slow references against PyTorch and the decoder's own pieces; each mistake gives something else."""

import pytest
import torch
import torch.nn.functional as F

from kvcourse.checks import oracles
from kvcourse.decoder import rope_frequencies, rotate, tiny_model


def draw(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@pytest.mark.parametrize(("n_new", "n_past"), [(1, 0), (4, 0), (1, 5), (3, 2), (2, 7)])
def test_mask_is_a_slice_of_the_square_one(n_new, n_past):
    square = torch.ones(n_past + n_new, n_past + n_new, dtype=torch.bool).tril()
    assert torch.equal(oracles.causal_mask(n_new, n_past), square[n_past:])


@pytest.mark.parametrize(("h", "h_kv", "t"), [(4, 4, 1), (6, 2, 9), (4, 1, 5)])
def test_attend_is_scaled_dot_product_attention(h, h_kv, t):
    q, k, v = draw((h, 8), (h_kv, t, 8), (h_kv, t, 8))
    want = F.scaled_dot_product_attention(q[:, None], k, v, enable_gqa=True)[:, 0]
    assert (oracles.attend(q, k, v) - want).abs().max() <= 1e-6


@pytest.mark.parametrize("positions", [[0, 1, 2, 3], [7, 8, 9, 10], [0, 1, 5, 6]])
def test_rows_are_the_decoders_attention(positions):
    config = tiny_model().config
    h, h_kv, d = config.num_heads, config.num_kv_heads, config.head_dim
    x, wq, wk, wv, wo = draw((4, 48), (h * d, 48), (h_kv * d, 48), (h_kv * d, 48), (48, h * d))
    angles = torch.tensor(positions)[:, None] * rope_frequencies(config)  # (T, D / 2)
    q, k, v = ((x @ w.T).unflatten(-1, (-1, d)).transpose(0, 1)[None] for w in (wq, wk, wv))
    q, k = rotate(q, angles.cos(), angles.sin()), rotate(k, angles.cos(), angles.sin())
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0]  # (H, T, D)
    want = mixed.transpose(0, 1).flatten(1) @ wo.T
    got = oracles.attention_rows(x, {"q": wq, "k": wk, "v": wv, "o": wo}, h, h_kv, positions)
    assert got.dtype == torch.float32
    assert (got - want).abs().max() <= 1e-4 * want.abs().max()


def test_each_mistake_gives_something_else():
    q, k, v = draw((4, 8), (2, 6, 8), (2, 6, 8))
    cases = [(oracles.attend(q, k, v), oracles.attend_mistakes(q, k, v))]
    x, wq, wk, wv, wo = draw((4, 16), (32, 16), (16, 16), (16, 16), (16, 32))
    layer = (x, {"q": wq, "k": wk, "v": wv, "o": wo}, 4, 2, [0, 1, 2, 3])
    cases.append((oracles.attention_rows(*layer), oracles.attention_mistakes(*layer)))
    cases.append((oracles.causal_mask(3, 2), oracles.mask_mistakes(3, 2)))
    for right, mistakes in cases:
        tensors = [right.float(), *(wrong.float() for wrong in mistakes.values())]
        assert len({tuple(tensor.flatten().tolist()) for tensor in tensors}) == len(tensors) >= 5
        assert all(hint.endswith((".", "?")) for hint in mistakes)
