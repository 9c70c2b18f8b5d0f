"""Drawn `config.json` files of several kinds, and the tensors that their layers keep, measured.

Each file is drawn together with its tensors, so nothing here reads a file: what it describes is known.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from kvcourse import registry
from kvcourse.checks.sizes import draw_raw
from kvcourse.configs import ModelConfig
from kvcourse.memory import (
    CacheModel,
    Fact,
    FullAttention,
    LatentAttention,
    Layer,
    RecurrentState,
    SlidingAttention,
    from_config,
)

# What their classes mean where the file says nothing.
PATTERNS = {"gemma2": 2, "gemma3_text": 6, "gpt_oss": 2}
_WORDS = {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embd",
          "num_key_value_heads": "num_kv_heads"}  # fmt: skip
_FULL = {kind: kind for kind in ("grouped", "plain", "wide", "multi_query", "nested")} | {"null": "plain"}
_SIZES = {2: np.float16, 4: np.float32}


@dataclass(frozen=True)
class Tensor:
    """One cached tensor of a layer: `numbers` for each of the newest `most` tokens, or once for all (0)."""

    numbers: int
    most: int | None = None  # None: every token
    dtype_bytes: int = 2

    def nbytes(self, tokens: int) -> int:
        rows = 1 if self.most == 0 else len(range(tokens)[-self.most :] if self.most else range(tokens))
        return np.broadcast_to(np.zeros((), _SIZES[self.dtype_bytes]), (rows, self.numbers)).nbytes


@dataclass(frozen=True)
class File:
    """A parsed `config.json`, the tensors it describes, and the same as a CacheModel, for the hints."""

    config: dict
    tensors: tuple[Tensor, ...]
    model: CacheModel

    def nbytes(self, tokens: int) -> int:
        return sum(tensor.nbytes(tokens) for tensor in self.tensors)


def draw_file(rng: random.Random, kind: str) -> File:
    """A file whose layers are of one kind, or of two.

    All layers full: the kinds of `draw_raw`; "null": its "plain" with nulls; "renamed": in GPT-2's words;
    "value": values of another width than keys. Windows are "listed" layer by layer, in every layer
    ("windowed"), left out by a "pattern" of the file or of its class, or switched "off". "latent": MLA.
    "linear": some full layers, by an interval, and a state in the others; "states": the same as a list.
    """
    raw, shape = draw_raw(rng, _FULL.get(kind, "wide"))
    raw = raw | {"max_position_embeddings": 1024 * rng.randint(8, 200)}
    if kind == "renamed":
        raw = {_WORDS.get(name, name): number for name, number in raw.items()}
    if kind == "null":
        raw |= {"num_key_value_heads": None, "head_dim": None}
    if kind in _FULL or kind == "renamed":
        return _file(raw, shape, [_attention(shape)] * shape.num_layers)
    if kind in ("listed", "windowed", "pattern", "off"):
        return _window(rng, raw, shape, kind)
    if kind in ("linear", "states"):
        return _linear(rng, raw, shape, listed=kind == "states")
    return {"value": _value, "latent": _latent}[kind](rng, raw, shape)


def _value(rng: random.Random, raw: dict, shape: ModelConfig) -> File:
    width = shape.head_dim + 8 * rng.choice([-2, -1, 1, 2, 3])
    return _file(raw | {"v_head_dim": width}, shape, [_attention(shape, value_dim=width)] * shape.num_layers)


def _window(rng: random.Random, raw: dict, shape: ModelConfig, kind: str) -> File:
    window, every = rng.randint(100, 3000), rng.randint(2, 5)
    raw = raw | {"sliding_window": window}
    if kind == "off":
        raw["use_sliding_window"] = False
    elif kind == "pattern" and rng.random() < 0.5:
        raw["sliding_window_pattern"] = every
    elif kind == "pattern":
        raw["model_type"] = rng.choice(sorted(PATTERNS))
        every = PATTERNS[raw["model_type"]]
    raw, shape = _longer(raw, shape, every)
    layers = shape.num_layers
    full = [kind == "off" or (kind != "windowed" and n % every == 0) for n in range(1, layers + 1)]
    if kind == "listed":
        full[0] = True  # as no pattern would have it
        raw["layer_types"] = ["full_attention" if whole else "sliding_attention" for whole in full]
    kept = [_attention(shape) if whole else _attention(shape, window) for whole in full]
    return _file(raw, shape, kept)


def _latent(rng: random.Random, raw: dict, shape: ModelConfig) -> File:
    rank, rope, nope = 64 * rng.randint(2, 9), 16 * rng.randint(1, 5), 16 * rng.randint(3, 9)
    raw = {name: number for name, number in raw.items() if name != "head_dim"}
    raw |= {"kv_lora_rank": rank, "qk_rope_head_dim": rope, "qk_nope_head_dim": nope, "v_head_dim": nope + 16}
    raw |= {"num_key_value_heads": shape.num_heads, "q_lora_rank": 3 * rank}
    kept = (LatentAttention(rank, rope), (Tensor(rank + rope),))
    return _file(raw, shape, [kept] * shape.num_layers)


def _linear(rng: random.Random, raw: dict, shape: ModelConfig, listed: bool) -> File:
    every = rng.randint(2, 5)
    key, value = 16 * rng.randint(2, 8), 16 * rng.randint(2, 8) + 8
    keys, values, kernel = rng.randint(2, 16), rng.randint(17, 40), rng.randint(3, 5)
    raw, shape = _longer(raw, shape, every)
    raw |= {"linear_num_key_heads": keys, "linear_num_value_heads": values, "linear_key_head_dim": key}
    raw |= {"linear_value_head_dim": value, "linear_conv_kernel_dim": kernel}
    full = [number % every == 0 for number in range(1, shape.num_layers + 1)]
    if listed:
        full[0] = True  # as no interval would have it
        raw["layer_types"] = ["full_attention" if whole else "linear_attention" for whole in full]
    else:
        raw["full_attention_interval"] = every
    channels = 2 * keys * key + values * value
    layer = RecurrentState(values, key * value, channels, kernel - 1, "fp32")
    state = (layer, (Tensor(values * key * value, 0, 4), Tensor((kernel - 1) * channels, 0)))
    return _file(raw, shape, [_attention(shape) if whole else state for whole in full])


def _attention(
    shape: ModelConfig, window: int | None = None, value_dim: int | None = None
) -> tuple[Layer, tuple[Tensor, ...]]:
    width = value_dim or shape.head_dim
    full = FullAttention(shape.num_kv_heads, shape.head_dim, value_dim)
    tensors = tuple(Tensor(shape.num_kv_heads * numbers, window) for numbers in (shape.head_dim, width))
    return full if window is None else SlidingAttention(window, full), tensors


def _file(raw: dict, shape: ModelConfig, kept: Sequence[tuple[Layer, tuple[Tensor, ...]]]) -> File:
    known = raw.get("text_config", raw)
    facts = {"num_heads": shape.num_heads, "hidden_size": shape.hidden_size}
    facts |= {name: known[name] for name in ("qk_nope_head_dim", "v_head_dim") if name in known}
    model = CacheModel(
        tuple(layer for layer, _ in kept),
        facts=tuple(Fact(name, number, "drawn") for name, number in facts.items()),
    )
    return File(raw, tuple(tensor for _, tensors in kept for tensor in tensors), model)


def _longer(raw: dict, shape: ModelConfig, every: int) -> tuple[dict, ModelConfig]:
    """At least 7 layers, and no multiple of `every`: so it counts whether layers are numbered from 1."""
    layers = max(shape.num_layers, 7)
    layers += layers % every == 0
    return raw | {"num_hidden_layers": layers}, replace(shape, num_layers=layers)


def hybrid(windows: Sequence[int | None], layer_bytes: int) -> CacheModel:
    """Layers that keep `layer_bytes`, a multiple of 4, of each token: of the newest `window`, or of all."""
    layer = FullAttention(1, layer_bytes // 4)
    return CacheModel(tuple(SlidingAttention(window, layer) if window else layer for window in windows))


@cache
def servable() -> dict[str, CacheModel]:
    """Models of the registry that tell their longest context and have layers of the kinds above, by name."""
    found = {}
    for known in registry.models():
        model = from_config(known.config)
        deltas = "linear_num_value_heads" in known.config.get("text_config", known.config)
        if model.max_tokens and all(_covered(layer, deltas) for layer in set(model.layers)):
            found[known.name] = model
    return found


def _covered(layer: Layer, deltas: bool) -> bool:
    if isinstance(layer, LatentAttention):
        return not layer.index_dim
    return isinstance(layer, (FullAttention, SlidingAttention)) or (
        deltas and isinstance(layer, RecurrentState)
    )


def source_of(name: str, source: str) -> bool:
    """Whether an address is the registry's for this model, or a page below huggingface.co of its name."""
    known = registry.find(name)
    page = _letters(source.partition("huggingface.co/")[2])
    own = any(_letters(word) in page for word in (known.name, known.organization))
    return source == known.source or (source.startswith("https://huggingface.co/") and own)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
