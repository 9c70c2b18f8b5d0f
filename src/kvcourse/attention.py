"""Causal attention over stored keys and values, dense.

Knows nothing about where K and V come from: a cache, or the same forward pass.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention of the newest T_new positions over all T stored ones; the newest query sees every key.

    q `(B, H, T_new, D)`, k and v `(B, H_kv, T, D)` with T >= T_new and H a multiple of H_kv; query head h
    reads KV head h // (H / H_kv), as in GQA (arXiv:2305.13245). Returns `(B, H, T_new, D)`.
    """
    b, h, t_new, d = q.shape
    h_kv, t = k.shape[1], k.shape[2]
    if t_new == 1:
        # One query sees all keys, so there is no mask, and the query heads of a group become the rows of one
        # small matrix: K and V are read once for the group instead of being repeated for each head.
        out = F.scaled_dot_product_attention(q.view(b, h_kv, h // h_kv, d), k, v)  # (B, H_kv, H/H_kv, D)
        return out.reshape(b, h, 1, d)
    mask = None
    if t_new < t:
        # Row i is position t - t_new + i and sees that many keys and itself: the diagonal ends at the bottom
        # right. `is_causal=True` would start it at the top left and hide the past (pytorch#108108).
        mask = torch.ones(t_new, t, dtype=torch.bool, device=q.device).tril(t - t_new)  # (T_new, T)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=h != h_kv
    )
