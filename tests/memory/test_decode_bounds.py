"""The two bounds of a decode step: kipply's figures, counted FLOPs, and limits."""

import pytest

from kvcourse.errors import UserError
from kvcourse.memory import (
    decode_bounds,
    decode_flops,
    decode_seconds,
    tokens_where_attention_equals_weights,
)


def test_a_52b_model_on_four_a100():
    """kipply, "Transformer Inference Arithmetic": 2 x 52e9 bytes over 4 x 1.5e12 bytes/s is 17.3 ms."""
    assert 1e3 * decode_seconds(2 * 52 * 10**9, 0, 4 * 1.5e12) == pytest.approx(17.33, abs=0.01)


def test_weights_are_read_once_and_caches_each():
    assert decode_seconds(100, 16 * 20, 10.0) == 42.0


def test_smollm2_attention_catches_up_with_its_weights_at_3893_tokens():
    """2 P = 4 L n_h d_h T at T = 3,892.3 for 134,515,008 parameters."""
    shape = {"parameters": 134_515_008, "num_layers": 30, "num_heads": 9, "head_dim": 64}
    tokens = tokens_where_attention_equals_weights(**shape)
    assert tokens == 3_893
    attention = decode_flops(**shape, tokens=tokens) - decode_flops(**shape, tokens=0)
    assert attention >= decode_flops(**shape, tokens=0) > attention - attention / tokens


def test_flops_are_those_that_torch_counts():
    torch = pytest.importorskip("torch")
    from torch.nn.functional import linear
    from torch.utils.flop_counter import FlopCounterMode

    heads, width, tokens, layers = 3, 4, 11, 2
    weights = [torch.zeros(12, 5), torch.zeros(7, 12)]
    query, keys = torch.zeros(heads, 1, width), torch.zeros(heads, tokens, width)
    with FlopCounterMode(display=False) as counter:
        for weight in weights:
            linear(torch.zeros(1, weight.shape[1]), weight)
        for _ in range(layers):
            scores = query @ keys.transpose(1, 2)  # (H, 1, T)
            scores @ keys  # (H, 1, D)
    parameters = sum(weight.numel() for weight in weights)
    assert counter.get_total_flops() == decode_flops(parameters, layers, heads, width, tokens)


def test_small_batches_are_bound_by_bandwidth_and_large_ones_by_compute():
    weights, flops = 14 * 10**9, 14 * 10**9
    one = decode_bounds(weights, 0, flops, 1.5e12, 312e12)
    many = decode_bounds(weights, 0, flops * 512, 1.5e12, 312e12)
    assert (one.limit, many.limit) == ("bandwidth", "compute")
    assert one.seconds == one.bandwidth_seconds == many.bandwidth_seconds < many.seconds


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), float("inf"), "fast", None, True])
def test_a_rate_is_a_positive_number(rate):
    with pytest.raises(UserError, match=r"bytes_per_second is .*; expected a positive number"):
        decode_seconds(1, 1, rate)
