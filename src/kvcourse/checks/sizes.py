"""References and inputs for problems of cache arithmetic: tensors that are measured, not a formula.

Knows no more of caches than: K and V, in each layer, of shape (batch, KV heads, tokens, head_dim).
"""

import random
from functools import cache
from itertools import product

import numpy as np

from kvcourse import registry
from kvcourse.checks.oracles import draw_config
from kvcourse.configs import ModelConfig
from kvcourse.memory import FullAttention, from_config

_OF_SIZE = {1: np.int8, 2: np.float16, 4: np.float32, 8: np.float64}


def cache_bytes(config: ModelConfig, tokens: int, dtype_bytes: int = 2, batch: int = 1) -> int:
    """Bytes of a cache, measured: NumPy's count for each K and V, of which no number is ever stored."""
    one = np.zeros((), _OF_SIZE[dtype_bytes])
    shape = (batch, config.num_kv_heads, tokens, config.head_dim)  # (B, H_kv, T, D)
    layers = (config.num_layers, 2, *shape)  # (L, K and V, B, H_kv, T, D)
    return np.broadcast_to(one, layers).nbytes


@cache
def published() -> dict[str, ModelConfig]:
    """Models of the registry, by name, in which every layer keeps K and V of every token."""
    found = {}
    for model in registry.models():
        layers = from_config(model.config).groups()
        if len(layers) == 1 and isinstance(layers[0][0], FullAttention) and layers[0][0].value_dim is None:
            found[model.name] = ModelConfig.from_dict(model.config)
    return found


def draw_raw(rng: random.Random, kind: str) -> tuple[dict, ModelConfig]:
    """A `config.json` as a dict, and the shape it describes.

    `kind`: "grouped" counts the KV heads; "plain" does not, or has nulls, and means as many as query heads;
    "wide" tells a head_dim that is not hidden_size / heads; "multi_query" has one KV head; "nested" is a
    wide one inside `text_config`, beside a vision part with numbers of its own.
    """
    group = {"plain": 1, "multi_query": 1}.get(kind, rng.choice([2, 4]))
    config = draw_config(rng, group)
    heads, dim = config.num_heads, config.head_dim
    kv_heads = {"multi_query": 1}.get(kind, config.num_kv_heads)
    wide = kind in ("wide", "nested")
    hidden = config.hidden_size if wide else heads * dim
    raw = {"num_hidden_layers": config.num_layers, "num_attention_heads": heads, "hidden_size": hidden}
    raw |= {"vocab_size": config.vocab_size, "intermediate_size": config.intermediate_size}
    if kind in ("grouped", "wide", "nested"):
        raw["num_key_value_heads"] = kv_heads
    elif kind == "multi_query":
        raw["multi_query"] = True
    elif rng.random() < 0.5:
        raw |= {"num_key_value_heads": None, "head_dim": None}
    if wide:
        raw["head_dim"] = dim
    if kind == "nested":
        vision = {"num_hidden_layers": 27, "num_attention_heads": 16, "hidden_size": 1152}
        raw = {"model_type": "a_vision_model", "vision_config": vision, "text_config": raw}
    shape = ModelConfig(
        model_type="llama", num_layers=config.num_layers, num_heads=heads, num_kv_heads=kv_heads,
        head_dim=dim, hidden_size=hidden,
    )  # fmt: skip
    return raw, shape


# ---- which slips give a number -------------------------------------------------------------------


def slips(config: ModelConfig, dtype_bytes: int) -> dict[frozenset[str], int]:
    """What letters a to e give for the bytes of a token, one at a time and two; "r" is the right value.

    a: K or V alone. b: query heads for KV heads. c: hidden_size / query heads for head_dim. d: hidden_size
    for the width of all KV heads. e: bits for bytes. b, c and d are about the same factor and come alone.
    """
    c = config
    widths = {
        "": c.num_kv_heads * c.head_dim,
        "b": c.num_heads * c.head_dim,
        "c": c.num_kv_heads * (c.hidden_size // c.num_heads),
        "d": c.hidden_size,
    }
    found = {}
    for sides, width, size in product({"": 2, "a": 1}.items(), widths.items(), {"": 1, "e": 8}.items()):
        letters = frozenset(sides[0] + width[0] + size[0])
        if len(letters) <= 2:
            found[letters or frozenset("r")] = c.num_layers * sides[1] * width[1] * size[1] * dtype_bytes
    return found


def draw_distinct(rng: random.Random) -> ModelConfig:
    """A shape in which all combinations of `slips` give different numbers, whatever the dtype."""
    while True:
        drawn = draw_config(rng, rng.choice([3, 5, 6, 7]))
        hidden = drawn.num_heads * (drawn.head_dim - 2 * rng.randint(2, 6))
        config = ModelConfig(
            model_type="llama", num_layers=drawn.num_layers, num_heads=drawn.num_heads,
            num_kv_heads=drawn.num_kv_heads, head_dim=drawn.head_dim, hidden_size=hidden,
        )  # fmt: skip
        values = slips(config, 2).values()
        if hidden > 0 and len(set(values)) == len(values):
            return config


def accepted(config: ModelConfig, dtype_bytes: int, claimed: int) -> list[frozenset[str]]:
    """The sets of letters that explain `claimed`: "r" alone where it is right, else all that give it."""
    fits = [letters for letters, value in slips(config, dtype_bytes).items() if value == claimed]
    return [frozenset("r")] if frozenset("r") in fits else fits


def says(config: ModelConfig, dtype_bytes: int, letters: frozenset[str]) -> str:
    """A sentence on what a learner's letters give, for one that gave the wrong ones."""
    value = slips(config, dtype_bytes).get(letters)
    listed = ", ".join(sorted(letters))
    if value is None:
        return f"{listed}: no two of b, c and d go together, r stands alone, and two letters are the most."
    return f"With {listed} the number would be {value:,}."
