"""What pages and notebooks need around a measurement: a model, a clock, and numbers for the text.

None of it is the lesson. Times are for plots only, never for a check: on a shared machine the same step can
take ten times longer from one run to the next.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from kvcourse import model_file, weights
from kvcourse.caches import GrowingCache, KVCache, PagedCache
from kvcourse.decoder import TINY, Decoder, DecoderCounters, random_weights
from kvcourse.device import synchronize
from kvcourse.errors import UserError, shown


class ByteTokenizer:
    """One token a byte of UTF-8, for models without a vocabulary of their own."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8"))

    def decode(self, ids: list[int]) -> str:
        text = bytes(ids).decode("utf-8", errors="replace")
        return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)

    def chat(self, user_text: str) -> list[int]:
        return self.encode(user_text)


def smollm2_or_tiny(
    dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> tuple[Decoder, object]:
    """SmolLM2 and its tokenizer or, where its file was not fetched, a tiny random model; prints which."""
    if model_file.find() is None:
        config = replace(TINY, num_layers=6, vocab_size=256)
        random = {name: tensor.to(device, dtype) for name, tensor in random_weights(config).items()}
        model, tokenizer = Decoder(config, random), ByteTokenizer()
        name = "SmolLM2 is not on this machine (`kvcourse model` fetches it), so here is a tiny random model"
    else:
        model, tokenizer = weights.smollm2(dtype, device)
        name = "SmolLM2-135M-Instruct"
    c = model.config
    print(
        f"{name}: {model.num_parameters:,} parameters in {str(dtype).removeprefix('torch.')}, {c.num_layers} "
        f"layers, {c.num_heads} query heads and {c.num_kv_heads} KV heads of width {c.head_dim}."
    )
    return model, tokenizer


def transformers_twin(model: Decoder):
    """Transformers' Llama over the very tensors of `model`: no copy, no file, no hub."""
    from transformers import LlamaConfig, LlamaForCausalLM

    c = model.config
    shape = LlamaConfig(
        num_hidden_layers=c.num_layers,
        num_attention_heads=c.num_heads,
        num_key_value_heads=c.num_kv_heads,
        head_dim=c.head_dim,
        hidden_size=c.hidden_size,
        intermediate_size=c.intermediate_size,
        vocab_size=c.vocab_size,
        max_position_embeddings=c.max_position_embeddings,
        rope_parameters={"rope_type": "default", "rope_theta": c.rope_theta},
        rms_norm_eps=c.rms_norm_eps,
        tie_word_embeddings=True,
    )
    if c.rope_scaling or model.lm_head.weight is not model.embedding:
        raise UserError("this twin is for models with a tied embedding and without rope scaling.")
    twin = LlamaForCausalLM(shape)
    q_and_kv = [c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim, c.num_kv_heads * c.head_dim]
    named = {
        "model.norm": model.final_norm,
        "model.embed_tokens": model.embedding,
        "lm_head": model.embedding,
    }
    for i, layer in enumerate(model.layers):
        q, k, v = layer.qkv.weight.split(q_and_kv)
        gate, up = layer.gate_up.weight.chunk(2)
        parts = {
            "input_layernorm": layer.attention_norm,
            "self_attn.q_proj": q,
            "self_attn.k_proj": k,
            "self_attn.v_proj": v,
            "self_attn.o_proj": layer.output.weight,
            "post_attention_layernorm": layer.mlp_norm,
            "mlp.gate_proj": gate,
            "mlp.up_proj": up,
            "mlp.down_proj": layer.down.weight,
        }
        named |= {f"model.layers.{i}.{name}": tensor for name, tensor in parts.items()}
    twin.load_state_dict({f"{name}.weight": tensor for name, tensor in named.items()}, assign=True)
    return twin.eval()


def median_seconds(
    call: Callable[[], object], repeats: int = 5, warmup: int = 1, device: torch.device | str = "cpu"
) -> float:
    """Median wall time of `call` over `repeats` runs after `warmup` unmeasured ones, waiting for `device`."""
    if repeats < 1:
        raise UserError(f"repeats is {shown(repeats)}; expected a whole number of 1 or more.")
    seconds = []
    for run in range(warmup + repeats):
        synchronize(device)
        start = time.perf_counter()
        call()
        synchronize(device)
        if run >= warmup:
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@contextmanager
def each_forward(model: Decoder) -> Iterator[list[DecoderCounters]]:
    """Collect what each forward pass inside the `with` block counted, one entry a pass."""
    passes: list[DecoderCounters] = []
    forward = model.forward

    def counted(*args, **kwargs):
        before = replace(model.counters)
        logits = forward(*args, **kwargs)
        after = vars(model.counters)
        passes.append(DecoderCounters(**{name: after[name] - was for name, was in vars(before).items()}))
        return logits

    model.forward = counted
    try:
        yield passes
    finally:
        del model.forward


class _Recorder(GrowingCache):
    """A growing cache that lets its contents be read layer by layer."""

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        stored = super().update(layer, k, v)
        self.contents = getattr(self, "contents", {}) | {layer: stored}
        return stored


def keys_and_values(model: Decoder, ids: list[int]) -> tuple[Tensor, Tensor]:
    """K and V that one pass over `ids` computes, of all layers: two tensors `(L, H_kv, T, D)`, K rotated."""
    cache = _Recorder(model.config, dtype=model.dtype, device=model.device)
    model.forward([ids], cache, last_only=True)
    keys, values = zip(*(cache.contents[layer] for layer in range(model.config.num_layers)), strict=True)
    return torch.cat(keys), torch.cat(values)  # (L, H_kv, T, D)


def fill(cache: KVCache, tokens: int, seed: int = 0) -> KVCache:
    """Append `tokens` random tokens to `cache`, for counts that depend on the length only; returns it."""
    if tokens == 0:
        return cache
    c = cache.config
    generator = torch.Generator().manual_seed(seed)
    shape = (cache.batch, c.num_kv_heads, tokens, c.head_dim)
    for layer in range(c.num_layers):
        k, v = (torch.randn(shape, generator=generator) for _ in "kv")
        cache.update(layer, k.to(cache.device, cache.dtype), v.to(cache.device, cache.dtype))
    return cache


def disorder(cache: PagedCache, seed: int = 0) -> PagedCache:
    """Shuffle the free blocks of a paged cache and fill its pool with NaN; returns it.

    Whatever relied on neighboring blocks, or on cleared memory, would show.
    """
    pool = cache.manager.pool
    blocks = pool.allocate(pool.num_free)
    random.Random(seed).shuffle(blocks)
    pool.free(blocks)
    for stored in (cache.keys, cache.values):
        stored.fill_(torch.nan)
    return cache


def glue(name: str, value: object) -> None:
    """Hand a computed value to the page's text as {glue:text}`name`; outside the book's build, do nothing."""
    try:
        from myst_nb import glue as book_glue
    except ImportError:  # a learner's environment need not hold the book's tools
        return
    book_glue(name, value, display=False)
