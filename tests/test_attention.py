import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.attention import causal_attention


def by_hand(q, k, v):
    """The definition, one number at a time, in float64."""
    b, h, t_new, d = q.shape
    h_kv, t = k.shape[1], k.shape[2]
    out = torch.zeros(b, h, t_new, d, dtype=torch.float64)
    for row in range(b):
        for head in range(h):
            kv = head // (h // h_kv)
            for i in range(t_new):
                visible = t - t_new + i + 1
                scores = [
                    float(q[row, head, i].double() @ k[row, kv, j].double()) / math.sqrt(d)
                    for j in range(visible)
                ]
                top = max(scores)
                weights = [math.exp(score - top) for score in scores]
                for j, weight in enumerate(weights):
                    out[row, head, i] += weight / sum(weights) * v[row, kv, j].double()
    return out


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    new=st.integers(1, 5),
    past=st.integers(0, 6),
    width=st.sampled_from([2, 8]),
    seed=st.integers(0, 1000),
)
def test_the_definition(batch, kv_heads, group, new, past, width, seed):
    torch.manual_seed(seed)
    q = 2 * torch.randn(batch, kv_heads * group, new, width)
    k, v = 2 * torch.randn(2, batch, kv_heads, past + new, width)
    torch.testing.assert_close(causal_attention(q, k, v).double(), by_hand(q, k, v), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("new", [1, 3, 6])
def test_the_newest_query_sees_all_and_the_oldest_sees_the_past(new):
    """The mistake of a mask aligned at the top left: query 0 would see key 0 only."""
    past = 6 - new
    q = torch.zeros(1, 1, new, 4)  # equal scores: attention is the mean of what is visible
    k, v = torch.randn(2, 1, 1, 6, 4)
    out = causal_attention(q, k, v)
    for i in range(new):
        torch.testing.assert_close(out[0, 0, i], v[0, 0, : past + i + 1].mean(0))


def test_query_heads_of_a_group_share_one_kv_head():
    """Heads 0 and 1 read KV head 0, heads 2 and 3 KV head 1; not 0, 1, 0, 1."""
    v = torch.stack([torch.full((3, 2), 0.0), torch.full((3, 2), 1.0)])[None]  # (1, 2, 3, 2)
    for new in (1, 3):
        out = causal_attention(torch.randn(1, 4, new, 2), torch.randn(1, 2, 3, 2), v)
        assert out[0, :, -1, 0].round().tolist() == [0, 0, 1, 1]


def test_strided_views_are_read_right():
    """A preallocated cache hands out the front of a longer tensor."""
    long_k, long_v = torch.randn(2, 2, 2, 50, 8)
    q = torch.randn(2, 4, 1, 8)
    k, v = long_k[:, :, :7], long_v[:, :, :7]
    torch.testing.assert_close(causal_attention(q, k, v), causal_attention(q, k.contiguous(), v.contiguous()))
