"""Known mistakes in the FLOPs of one decoded token, and where attention costs as much as the weights."""

from types import SimpleNamespace
from typing import Any

from kvcourse.checks.catalog.kinds import Quantity, Slip, Way


def matmul_params(config: Any) -> int:
    """Weights that multiply each decoded token: q, k, v, o, the three of SwiGLU, and the output projection.

    Norms and the lookup of the input embedding multiply nothing; a tied table counts once, as the projection.
    """
    q_and_o = 2 * config.hidden_size * config.num_heads * config.head_dim
    k_and_v = 2 * config.hidden_size * config.num_kv_heads * config.head_dim
    mlp = 3 * config.hidden_size * config.intermediate_size
    return config.num_layers * (q_and_o + k_and_v + mlp) + config.hidden_size * config.vocab_size


def _attention(i: SimpleNamespace) -> int:
    return 4 * i.num_layers * i.num_heads * i.head_dim * i.tokens


def _kv_attention(i: SimpleNamespace) -> float | None:
    return i.num_kv_heads and _attention(i) * i.num_kv_heads / i.num_heads


def _layer_params(i: SimpleNamespace) -> int:
    return i.matmul_params - i.hidden_size * i.vocab_size


NO_LOGITS = "Something is missing after the last layer: what turns the hidden state into logits?"
MACS = "Half of it. A multiply-accumulate is two floating-point operations."
QUERY_HEADS_WORK = (
    "Sharing K and V saves memory, not arithmetic: how many heads compute scores against the stored keys?"
)

FLOPS = Quantity(
    "flops_decode",
    ("matmul_params", "num_layers", "num_heads", "head_dim", "tokens"),
    lambda i: 2 * i.matmul_params + _attention(i),
    optional=("num_kv_heads", "hidden_size", "vocab_size"),
    tolerance=0.002,
    ways=(
        Way(
            "counts KV heads in the attention",
            lambda i: i.num_kv_heads and 2 * i.matmul_params + _kv_attention(i),
            QUERY_HEADS_WORK,
        ),
        Way(
            "counts scores but not the weighted sum of values",
            lambda i: 2 * i.matmul_params + _attention(i) / 2,
            "Attention has two products for each head. One is q with the keys. Which is the other?",
        ),
        Way(
            "forgets the attention over the cache",
            lambda i: 2 * i.matmul_params,
            "This does not depend on `tokens`. What does the new query do with every stored key and value?",
        ),
        Way(
            "forgets the layers in the attention",
            lambda i: 2 * i.matmul_params + _attention(i) / i.num_layers,
            "In how many layers does the new token look back?",
        ),
        Way(
            "forgets the projections",
            _attention,
            "This is the attention alone. What do the weights do with the new token?",
        ),
        Way(
            "counts every token's projections",
            lambda i: 2 * i.matmul_params * i.tokens + _attention(i),
            "With a cache, how many tokens pass through the weights at one step?",
        ),
        Way(
            "forgets the output projection",
            lambda i: i.vocab_size and 2 * _layer_params(i) + _attention(i),
            NO_LOGITS,
        ),
    ),
    slips=(
        Slip("counts multiply-accumulates, not FLOPs", lambda i: 0.5, MACS, "unit"),
        Slip(
            "counts each FLOP twice", lambda i: 2.0, "Twice too much. Is the factor 2 in there twice?", "unit"
        ),
    ),
)

CROSSOVER = Quantity(
    "crossover",
    ("matmul_params", "num_layers", "num_heads", "head_dim"),
    lambda i: 2 * i.matmul_params / (4 * i.num_layers * i.num_heads * i.head_dim),
    optional=("num_kv_heads", "hidden_size", "vocab_size"),
    tolerance=0.002,
    ways=(
        Way(
            "forgets the output projection",
            lambda i: i.vocab_size and 2 * _layer_params(i) / (4 * i.num_layers * i.num_heads * i.head_dim),
            NO_LOGITS,
        ),
    ),
    slips=(
        Slip(
            "counts KV heads in the attention",
            lambda i: i.num_kv_heads and i.num_heads / i.num_kv_heads,
            QUERY_HEADS_WORK,
            "heads",
        ),
        Slip(
            "leaves a factor 2 out of the projections",
            lambda i: 0.5,
            "Half of it. Do both sides count FLOPs, or one of them multiply-accumulates?",
            "unit",
        ),
        Slip(
            "leaves a factor 2 out of the attention",
            lambda i: 2.0,
            "Twice too much. How many products has attention, and how many FLOPs is a multiply-accumulate?",
            "unit",
        ),
        Slip(
            "forgets the layers in the attention",
            lambda i: float(i.num_layers),
            "In how many layers does the new token look back?",
            "layers",
        ),
    ),
)
