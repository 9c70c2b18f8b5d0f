"""The calculator's arithmetic: one token, one sequence, all of them, and where they pass the weights.

All of it is `kvcourse.memory`'s, for models whose layers are all alike. `kv_calc.js` holds the same
arithmetic in whole numbers for the page; a test runs both on the same inputs.
"""

from dataclasses import asdict, dataclass
from functools import cache

from kvcourse import registry
from kvcourse.errors import UserError, shown
from kvcourse.memory import FullAttention, from_config, kv_bytes, sequences_to_exceed, weight_bytes

# Named models to begin with: MHA, GQA and MQA, small and large.
NAMES = ("Llama-2-7B", "Llama-2-13B", "Llama-2-70B", "Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-32B",
         "Falcon-7B", "SmolLM2-135M")  # fmt: skip
CACHE_DTYPES = ("fp32", "fp16", "fp8")
WEIGHT_DTYPES = ("fp32", "fp16", "fp8", "q4_0")
# The largest number that each field takes; all are whole and 1 or more. `kv_calc.js` repeats them.
MOST = {
    "layers": 256,
    "kv_heads": 256,
    "head_dim": 512,
    "tokens": 2_000_000,
    "sequences": 10_000,
    "parameters": 10**13,
}


@dataclass(frozen=True)
class Figures:
    """Exact bytes; `passes` is the number of the sequence that makes the caches larger than the weights."""

    per_token: int
    per_sequence: int
    total: int
    weights: int
    passes: int


@dataclass(frozen=True)
class Shape:
    """What the calculator knows of a published model."""

    name: str
    layers: int
    kv_heads: int
    head_dim: int
    parameters: int


def figures(shape: Shape, dtype: str, tokens: int, sequences: int, weights_dtype: str) -> Figures:
    """What the calculator shows for `sequences` sequences of `tokens` tokens. Raises UserError."""
    per_token = kv_bytes(shape.layers, shape.kv_heads, shape.head_dim, 1, dtype)
    weights = weight_bytes(shape.parameters, weights_dtype)
    return Figures(
        per_token=per_token,
        per_sequence=per_token * tokens,
        total=per_token * tokens * sequences,
        weights=weights,
        passes=sequences_to_exceed(per_token * tokens, weights),
    )


@cache
def models() -> tuple[Shape, ...]:
    """The named models, from the registry."""
    return tuple(_shape(registry.find(name)) for name in NAMES)


def state(model: str, tokens: int, sequences: int, dtype: str, weights: str) -> dict:
    """The widget's first state. Raises UserError for a model, a dtype or a size that it does not take."""
    shape = next((known for known in models() if known.name == model), None)
    if shape is None:
        raise UserError(f"viz.kv_calc: expected a model among {', '.join(NAMES)}, got {shown(model)}.")
    for name, value, known in (("dtype", dtype, CACHE_DTYPES), ("weights", weights, WEIGHT_DTYPES)):
        if value not in known:
            raise UserError(f"viz.kv_calc: expected {name} among {', '.join(known)}, got {shown(value)}.")
    for name, value in (("tokens", tokens), ("sequences", sequences)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 1 <= value <= MOST[name]:
            raise UserError(f"viz.kv_calc: expected {name} from 1 to {MOST[name]:,}, got {shown(value)}.")
    chosen = {name: value for name, value in asdict(shape).items() if name != "name"}
    return {
        "models": [asdict(known) for known in models()],
        "model": model,
        **chosen,
        "dtype": dtype,
        "tokens": tokens,
        "sequences": sequences,
        "weights": weights,
    }


def _shape(model: registry.Model) -> Shape:
    cached = from_config(model.config)
    ((layer, number),) = cached.groups()
    assert isinstance(layer, FullAttention) and layer.value_dim is None, model.name
    return Shape(model.name, number, layer.kv_heads, layer.head_dim, model.parameters)
