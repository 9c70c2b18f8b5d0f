"""The least time one decode step can take: what must be read from memory, and what must be computed.

A step reads every weight once for the whole batch and every sequence's own cache, so t >= (weights +
caches) / bandwidth; and it multiplies, so t >= FLOPs / peak. A real step does more than either bound counts.
Source: kipply, "Transformer Inference Arithmetic" (2022); Pope et al., arXiv:2211.05102.
"""

from dataclasses import dataclass

from kvcourse.errors import UserError, shown
from kvcourse.memory.checked import whole


@dataclass(frozen=True)
class DecodeBounds:
    """Seconds that one decode step of a batch cannot beat."""

    bandwidth_seconds: float
    compute_seconds: float

    @property
    def seconds(self) -> float:
        """The larger of the two: reading and computing may overlap."""
        return max(self.bandwidth_seconds, self.compute_seconds)

    @property
    def limit(self) -> str:
        """ "bandwidth" or "compute": which of them it is."""
        return "bandwidth" if self.bandwidth_seconds >= self.compute_seconds else "compute"


def decode_seconds(weight_bytes: int, cache_bytes: int, bytes_per_second: float) -> float:
    """Bandwidth bound of one step. `cache_bytes` is the sum over the batch: no sequence reads another's."""
    total = whole("weight_bytes", weight_bytes) + whole("cache_bytes", cache_bytes)
    return total / _rate("bytes_per_second", bytes_per_second)


def decode_flops(parameters: int, num_layers: int, num_heads: int, head_dim: int, tokens: int) -> int:
    """FLOPs to decode one token that attends to `tokens` keys: 2 P + 4 layers query-heads head_dim tokens.

    2 FLOPs for each multiply-add: every parameter once; every query head with each key, and its attention
    weights with each value. Query heads, not KV heads: sharing K and V saves memory and no arithmetic.
    """
    per_key = (
        4 * whole("num_layers", num_layers) * whole("num_heads", num_heads) * whole("head_dim", head_dim)
    )
    return 2 * whole("parameters", parameters) + per_key * whole("tokens", tokens)


def tokens_where_attention_equals_weights(
    parameters: int, num_layers: int, num_heads: int, head_dim: int
) -> int:
    """Context from which attention's FLOPs are at least those of the weights: 3,893 for SmolLM2-135M."""
    per_key = (
        4
        * whole("num_layers", num_layers, 1)
        * whole("num_heads", num_heads, 1)
        * whole("head_dim", head_dim, 1)
    )
    return -(-2 * whole("parameters", parameters) // per_key)


def decode_bounds(
    weight_bytes: int, cache_bytes: int, flops: int, bytes_per_second: float, flops_per_second: float
) -> DecodeBounds:
    """Both bounds of one step; `flops` is the sum over the batch."""
    return DecodeBounds(
        decode_seconds(weight_bytes, cache_bytes, bytes_per_second),
        whole("flops", flops, most=10**24) / _rate("flops_per_second", flops_per_second),
    )


def _rate(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise UserError(f"{name} is {shown(value)}; expected a positive number.")
    return float(value)
