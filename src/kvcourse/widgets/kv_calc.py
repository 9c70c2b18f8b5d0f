"""The calculator's arithmetic: one token, one sequence, all of them, and where they pass the weights.

All of it is `kvcourse.memory`'s. `kv_calc.js` holds the same arithmetic in whole numbers for the page: the
product of a model whose layers are all alike, or the terms of one whose layers differ (`terms`). A test runs
both on the same inputs.
"""

import json
from dataclasses import asdict, dataclass
from functools import cache

from kvcourse import registry
from kvcourse.errors import UserError, shown
from kvcourse.memory import (
    CacheModel,
    FullAttention,
    Layer,
    from_config,
    kv_bytes,
    parse_format,
    sequences_to_exceed,
    weight_bytes,
)
from kvcourse.memory.reserved import reserved

# Named models to begin with: MHA, GQA and MQA, small and large; then windows, latents, states and a source.
NAMES = ("Llama-2-7B", "Llama-2-13B", "Llama-2-70B", "Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-32B",
         "Falcon-7B", "SmolLM2-135M", "Mistral-7B-v0.1", "Gemma-3-27B", "gpt-oss-120b", "DeepSeek-V3",
         "DeepSeek-V3.2", "Nemotron-H-56B", "Whisper-large")  # fmt: skip
KEEPS = ("used", "reserved")  # what layers with a window are counted at
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

    per_token: int  # that the next token adds to a sequence
    per_sequence: int
    total: int
    weights: int
    passes: int


@dataclass(frozen=True)
class Group:
    """Layers of one kind: how many, in words, and the terms of one of them, used and reserved."""

    count: int
    said: str
    used: tuple[tuple, ...]
    reserved: tuple[tuple, ...]


@dataclass(frozen=True)
class Shape:
    """What the calculator knows of a published model. With `groups`, the three numbers are not its own."""

    name: str
    layers: int
    kv_heads: int
    head_dim: int
    parameters: int
    groups: tuple[Group, ...] = ()


def figures(
    shape: Shape, dtype: str, tokens: int, sequences: int, weights_dtype: str, keeps: str = "used"
) -> Figures:
    """What the calculator shows for `sequences` sequences of `tokens` tokens. Raises UserError."""
    if shape.groups:
        model = from_config(registry.find(shape.name).config)
        model = reserved(model) if keeps == "reserved" else model
        per_sequence = model.bytes(tokens, dtype=dtype)
        per_token = model.bytes_per_token(dtype, held=tokens)
    else:
        per_token = kv_bytes(shape.layers, shape.kv_heads, shape.head_dim, 1, dtype)
        per_sequence = per_token * tokens
    weights = weight_bytes(shape.parameters, weights_dtype)
    return Figures(
        per_token=per_token,
        per_sequence=per_sequence,
        total=per_sequence * sequences,
        weights=weights,
        passes=sequences_to_exceed(per_sequence, weights),
    )


FAR = 2**40  # tokens: beyond any window


def terms(layer: Layer) -> tuple[tuple, ...]:
    """One layer's cached tensors as (rows, limit, numbers a row, bytes): what the page computes with.

    `rows` is "tokens" for one row a token, up to `limit` where that is not 0, or "always" for `limit` rows.
    `bytes` is 0 for the cache's own type, -1 for a state, which is never stored in fewer than 16 bits, and
    otherwise fixed by the layer.
    """
    found = []
    for index, part in enumerate(layer.parts(FAR)):
        rows, first = part.rows, layer.parts(1)[index].rows
        growing = first == 1 and rows != 1
        kept = ("tokens", 0 if rows == FAR else rows) if growing else ("always", rows)
        stored = parse_format(part.dtype).bits // 8 if part.dtype else -(part.role == "state")
        found.append((*kept, part.heads * part.width, stored))
    return tuple(found)


@cache
def models() -> tuple[Shape, ...]:
    """The named models, from the registry."""
    return tuple(_shape(registry.find(name)) for name in NAMES)


def state(model: str, tokens: int, sequences: int, dtype: str, weights: str, keeps: str = "used") -> dict:
    """The widget's first state. Raises UserError for a model, a dtype or a size that it does not take."""
    shape = next((known for known in models() if known.name == model), None)
    if shape is None:
        raise UserError(f"viz.kv_calc: expected a model among {', '.join(NAMES)}, got {shown(model)}.")
    known_words = (
        ("dtype", dtype, CACHE_DTYPES),
        ("weights", weights, WEIGHT_DTYPES),
        ("keeps", keeps, KEEPS),
    )
    for name, value, known in known_words:
        if value not in known:
            raise UserError(f"viz.kv_calc: expected {name} among {', '.join(known)}, got {shown(value)}.")
    for name, value in (("tokens", tokens), ("sequences", sequences)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 1 <= value <= MOST[name]:
            raise UserError(f"viz.kv_calc: expected {name} from 1 to {MOST[name]:,}, got {shown(value)}.")
    listed = json.loads(json.dumps([asdict(known) for known in models()]))  # lists, as the page has them
    chosen = {name: value for name, value in listed[NAMES.index(model)].items() if name != "name"}
    return {
        "models": listed,
        "model": model,
        **chosen,
        "dtype": dtype,
        "tokens": tokens,
        "sequences": sequences,
        "weights": weights,
        "keeps": keeps,
    }


def _shape(model: registry.Model) -> Shape:
    cached = from_config(model.config)
    groups = cached.groups()
    layer, number = groups[0]
    if len(groups) == 1 and isinstance(layer, FullAttention) and layer.value_dim is None:
        return Shape(model.name, number, layer.kv_heads, layer.head_dim, model.parameters)
    return Shape(model.name, 1, 1, 1, model.parameters, _groups(cached))


def _groups(model: CacheModel) -> tuple[Group, ...]:
    whole = reserved(model).layers
    longer = dict(zip(model.layers, whole, strict=True))
    return tuple(
        Group(number, layer.describe(), terms(layer), terms(longer[layer]))
        for layer, number in model.groups()
        if layer.parts(FAR)
    )
