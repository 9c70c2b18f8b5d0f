"""Slow, plain references for tensor problems, what known mistakes give instead (by hint), and inputs.

Written pair by pair and in double precision, so that they share no code, no shortcut and no rounding with the
answers they judge. No reference keeps a cache.
"""

import math
import random
from collections.abc import Callable
from typing import Any

from kvcourse.configs import ModelConfig

TILED = (
    "The query heads are matched to KV heads in the wrong order. Neighboring query heads share a KV head: "
    "which one does query head 1 read?"
)
TOP_LEFT = (
    "The diagonal starts at the top left, as if there were no past. Which token of the text is query 0?"
)
UNSCALED = "The scores are not divided by the square root of head_dim."
SCALED_BY_DIM = "The scores are divided by head_dim; the scale is its square root."
UNROTATED = (
    "The outputs are those of position 0 at every step. Does `position` reach the rotation of q and k?"
)
TWICE = "Keys are rotated twice. A key that was stored rotated is done; one stored as it is, is rotated once."
AGAIN = "Stored keys are rotated again at every step. A token's position does not change: rotate it once."
ROTATED_VALUES = "The values are rotated too. Positions belong in the scores: which tensors make the scores?"


# ---- the causal mask with a past -----------------------------------------------------------------


def causal_mask(n_new: int, n_past: int, sees: Callable[[int, int], bool] | None = None) -> Any:
    """Bool mask `(n_new, n_past + n_new)`: query i is token n_past + i and sees every token up to itself."""
    import torch

    sees = sees or (lambda query, key: key <= n_past + query)
    pairs = [[sees(query, key) for key in range(n_past + n_new)] for query in range(n_new)]
    return torch.tensor(pairs, dtype=torch.bool).reshape(n_new, n_past + n_new)


def mask_mistakes(n_new: int, n_past: int) -> dict[str, Any]:
    """What known mistakes give for `causal_mask(n_new, n_past)`."""
    ways: dict[str, Callable[[int, int], bool]] = {
        TOP_LEFT: lambda query, key: key <= query,
        "Every query sees every key, tokens after it too.": lambda query, key: True,
        "No query sees itself.": lambda query, key: key < n_past + query,
        "The mask is inverted: True means that the query may look.": lambda query, key: key > n_past + query,
        "The queries see only the new tokens. What about the past?": (
            lambda query, key: n_past <= key <= n_past + query
        ),
        "The past is the only thing seen. What about the new tokens up to the query?": (
            lambda query, key: key < n_past
        ),
    }
    return {hint: causal_mask(n_new, n_past, sees) for hint, sees in ways.items()}


# ---- one query over stored keys and values -------------------------------------------------------


def attend(q: Any, keys: Any, values: Any, scale: float | None = None, tiled: bool = False) -> Any:
    """Attention of one token, head by head: q `(H, D)`, keys and values `(H_kv, T, D)`; returns `(H, D)`."""
    import torch

    num_heads, head_dim = q.shape
    num_kv_heads = keys.shape[0]
    scale = 1 / math.sqrt(head_dim) if scale is None else scale
    wide_q, wide_keys, wide_values = q.double(), keys.double(), values.double()
    rows = []
    for head in range(num_heads):
        shared = head % num_kv_heads if tiled else head // (num_heads // num_kv_heads)
        scores = scale * (wide_keys[shared] @ wide_q[head])  # (T,)
        weights = torch.exp(scores - scores.max())  # (T,)
        rows.append(weights @ wide_values[shared] / weights.sum())  # (D,)
    return torch.stack(rows).to(q.dtype)  # (H, D)


def attend_mistakes(q: Any, keys: Any, values: Any) -> dict[str, Any]:
    """What known mistakes give for `attend(q, keys, values)`."""
    return {
        TILED: attend(q, keys, values, tiled=True),
        UNSCALED: attend(q, keys, values, scale=1.0),
        SCALED_BY_DIM: attend(q, keys, values, scale=1 / q.shape[1]),
        "Keys and values have changed places.": attend(q, values, keys),
    }


# ---- attention of one layer, token by token ------------------------------------------------------


def attention_rows(
    x: Any,
    weights: dict[str, Any],
    num_heads: int,
    num_kv_heads: int,
    positions: list[int],
    key_turns: Callable[[int, int], int] | None = None,
    query_turns: Callable[[int], int] | None = None,
    rotate_values: bool = False,
    **attend_options: Any,
) -> Any:
    """Causal attention of one layer over a whole sequence; row t is what decoding token t must give.

    x `(T, d)`; weights "q" `(H D, d)`, "k" and "v" `(H_kv D, d)`, "o" `(d, H D)`; RoPE turns the pair of
    elements i and i + D/2 by position x 10000^(-2i/D). Returns `(T, d)`. The `..._turns` say by how many
    positions the query of step t, or key j as step t sees it, is rotated: the right ones unless a mistake is
    computed.
    """
    import torch

    key_turns = key_turns or (lambda step, token: positions[token])
    query_turns = query_turns or (lambda step: positions[step])
    wide = {name: weight.double() for name, weight in weights.items()}
    q = (x.double() @ wide["q"].T).unflatten(-1, (num_heads, -1))  # (T, H, D)
    k = (x.double() @ wide["k"].T).unflatten(-1, (num_kv_heads, -1))  # (T, H_kv, D)
    v = (x.double() @ wide["v"].T).unflatten(-1, (num_kv_heads, -1))  # (T, H_kv, D)
    rows = []
    for step in range(len(positions)):
        turned = _turn(k[: step + 1], [key_turns(step, token) for token in range(step + 1)])
        seen = _turn(v[: step + 1], positions[: step + 1]) if rotate_values else v[: step + 1]
        keys, values = turned.transpose(0, 1), seen.transpose(0, 1)  # (H_kv, step + 1, D)
        query = _turn(q[step : step + 1], [query_turns(step)])[0]  # (H, D)
        mixed = attend(query, keys, values, **attend_options)  # (H, D)
        rows.append(wide["o"] @ mixed.flatten())
    return torch.stack(rows).to(x.dtype)  # (T, d)


def attention_mistakes(
    x: Any, weights: dict[str, Any], num_heads: int, num_kv_heads: int, positions: list[int]
) -> dict[str, Any]:
    """What known mistakes give for `attention_rows`."""
    same = (x, weights, num_heads, num_kv_heads, positions)
    return {
        TILED: attention_rows(*same, tiled=True),
        UNSCALED: attention_rows(*same, scale=1.0),
        UNROTATED: attention_rows(*same, key_turns=lambda step, token: 0, query_turns=lambda step: 0),
        TWICE: attention_rows(*same, key_turns=lambda step, token: 2 * positions[token]),
        AGAIN: attention_rows(*same, key_turns=lambda step, token: sum(positions[token : step + 1])),
        ROTATED_VALUES: attention_rows(*same, rotate_values=True),
    }


def _turn(heads: Any, positions: list[int]) -> Any:
    """RoPE of `(T, H, D)` as multiplication by a complex number of length 1 for each token and pair
    (arXiv:2104.09864).
    """
    import torch

    half = heads.shape[-1] // 2
    pairs = torch.complex(heads[..., :half].contiguous(), heads[..., half:].contiguous())  # (T, H, D / 2)
    speeds = torch.tensor([10000.0 ** (-i / half) for i in range(half)], dtype=heads.dtype)
    angles = torch.tensor(positions, dtype=heads.dtype)[:, None, None] * speeds  # (T, 1, D / 2)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1)  # (T, H, D)


# ---- matrices of a decode step -------------------------------------------------------------------


def matrices(config: ModelConfig) -> list[tuple[int, int]]:
    """Shape (out, in) of every weight that one decoded token is multiplied by, layer after layer."""
    c = config
    wide, stored = c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim
    attention = [
        (wide, c.hidden_size),
        (stored, c.hidden_size),
        (stored, c.hidden_size),
        (c.hidden_size, wide),
    ]
    mlp = [(c.intermediate_size, c.hidden_size)] * 2 + [(c.hidden_size, c.intermediate_size)]
    return c.num_layers * (attention + mlp) + [(c.vocab_size, c.hidden_size)]


# ---- inputs --------------------------------------------------------------------------------------


def draw_layer(
    seed: int, tokens: int, num_heads: int, num_kv_heads: int, head_dim: int, hidden_size: int
) -> tuple[dict[str, Any], Any]:
    """Seeded weights of a layer, as `attention_rows` takes them, and hidden states `(tokens, d)`."""
    import torch

    wide, stored = num_heads * head_dim, num_kv_heads * head_dim
    shapes = {
        "q": (wide, hidden_size),
        "k": (stored, hidden_size),
        "v": (stored, hidden_size),
        "o": (hidden_size, wide),
    }
    generator = torch.Generator().manual_seed(seed)
    weights = {name: torch.randn(s, generator=generator) / hidden_size**0.5 for name, s in shapes.items()}
    return weights, torch.randn(tokens, hidden_size, generator=generator)


def draw_config(rng: random.Random, group_size: int) -> ModelConfig:
    """A model's shape, of the size of real ones, whose head_dim is not hidden_size / num_heads."""
    num_kv_heads, head_dim = rng.randint(2, 8), 2 * rng.randint(16, 80)
    hidden_size = num_kv_heads * group_size * head_dim + 64 * rng.randint(1, 9)
    return ModelConfig(
        model_type="llama",
        num_layers=rng.randint(3, 40),
        num_heads=num_kv_heads * group_size,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        hidden_size=hidden_size,
        intermediate_size=64 * rng.randint(9, 90),
        vocab_size=1000 * rng.randint(2, 60),
    )
