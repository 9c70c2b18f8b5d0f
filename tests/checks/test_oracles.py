"""The slow references against PyTorch's own attention; each mistake gives something else."""

import random

import pytest
import torch
import torch.nn.functional as F

from kvcourse.checks import catalog, oracles


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
def test_rows_are_attention_over_the_whole_sequence(positions):
    h, h_kv, d = 4, 2, 16
    x, wq, wk, wv, wo = draw((4, 48), (h * d, 48), (h_kv * d, 48), (h_kv * d, 48), (48, h * d))
    angles = torch.tensor(positions)[:, None] * 10000.0 ** (-torch.arange(d // 2) / (d // 2))  # (T, D / 2)

    def rotate(heads):
        first, second = heads.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    q, k, v = ((x @ w.T).unflatten(-1, (-1, d)).transpose(0, 1)[None] for w in (wq, wk, wv))
    mixed = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True, enable_gqa=True)[0]
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


def test_matrices_are_the_weights_that_decoding_multiplies_by():
    config = oracles.draw_config(random.Random(1), group_size=3)
    assert sum(rows * columns for rows, columns in oracles.matrices(config)) == catalog.matmul_params(config)


def test_drawn_layers_and_shapes():
    weights, x = oracles.draw_layer(3, 5, 4, 2, 6, 10)
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    assert shapes == {"q": (24, 10), "k": (12, 10), "v": (12, 10), "o": (10, 24)} and x.shape == (5, 10)
    again, _ = oracles.draw_layer(3, 5, 4, 2, 6, 10)
    assert torch.equal(weights["v"], again["v"]) and not torch.equal(weights["k"], weights["v"])


def test_drawn_configs_tell_the_usual_mistakes_apart():
    for seed in range(50):
        config = oracles.draw_config(random.Random(seed), group_size=3)
        assert config.group_size == 3 and config.num_kv_heads > 1
        assert config.hidden_size != config.num_heads * config.head_dim and config.head_dim % 2 == 0
