"""A Llama-shaped decoder in plain PyTorch: RMSNorm, RoPE, grouped-query attention, SwiGLU.

It takes any cache. With one, a forward pass processes only the new tokens and attends to what the cache
stores; without one, the same code processes the whole sequence again. The weights never change: all that
differs from step to step is the cache.
"""

from dataclasses import asdict, dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from kvcourse.attention import causal_attention
from kvcourse.configs import ModelConfig
from kvcourse.decoder_weights import TINY, random_weights, weight_shapes
from kvcourse.decoder_work import DecoderCounters, forward_flops
from kvcourse.errors import CacheError, ConfigError, ModelFileError, UserError, shown
from kvcourse.projection import Projection, WeightMemory


@dataclass
class Layer:
    """Weights of one decoder layer."""

    attention_norm: Tensor  # (d,)
    qkv: Projection  # (H + 2 H_kv) D <- d
    output: Projection  # d <- H D
    mlp_norm: Tensor  # (d,)
    gate_up: Projection  # 2 f <- d
    down: Projection  # d <- f


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis (arXiv:1910.07467)."""
    return F.rms_norm(x, weight.shape, weight, eps)


def rope_frequencies(config: ModelConfig) -> Tensor:
    """Radians that one position turns pair i of a head by, `(D / 2,)`: theta^(-2i/D), stretched if scaled."""
    exponent = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    frequency = 1.0 / config.rope_theta**exponent  # (D / 2,)
    scaling = config.rope_scaling
    if scaling is None:
        return frequency
    if scaling.kind == "linear":
        return frequency / scaling.factor
    if scaling.kind != "llama3":
        raise ConfigError(f"rope scaling of kind {shown(scaling.kind)}; expected default, linear or llama3.")
    # Llama 3.1: slow pairs are stretched by the factor, fast ones kept, those between blended.
    turns = scaling.original_max_position_embeddings * frequency / (2 * torch.pi)
    blend = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    keep = blend.clamp(0, 1)
    return keep * frequency + (1 - keep) * frequency / scaling.factor


def rope_angles(positions: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    """cos and signed sin for `rotate`, `(B, 1, T, D)` each, of positions `(B, T)`."""
    angles = positions[:, None, :, None] * frequencies  # (B, 1, T, D / 2)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE (arXiv:2104.09864): turn each pair of x `(B, H, T, D)`, elements i and i + D/2, by its angle.

    (a, b) becomes (a cos - b sin, b cos + a sin): x times cos plus the swapped halves times the signed sin.
    """
    return x * cos + x.roll(x.shape[-1] // 2, dims=-1) * sin


class Decoder:
    """The model as a function: token ids and a cache in, logits out.

    `weights` maps Hugging Face's Llama names to tensors; the decoder runs in their dtype on their device.
    """

    def __init__(self, config: ModelConfig, weights: dict[str, Tensor]) -> None:
        if config.head_dim % 2:
            raise ConfigError(f"head_dim = {config.head_dim} is odd; RoPE turns pairs of elements.")
        self.config = config
        self.counters = DecoderCounters()
        shapes = weight_shapes(config)
        if unknown := sorted(weights.keys() - shapes.keys()):
            raise ModelFileError(f"weight {shown(unknown[0])} has no place in a Llama-shaped decoder.")
        for name, shape in shapes.items():
            if name not in weights:
                raise ModelFileError(f"weight {name} is missing; expected shape {shape}.")
            if tuple(weights[name].shape) != shape:
                raise ModelFileError(
                    f"weight {name} has shape {tuple(weights[name].shape)}; expected {shape}."
                )

        embedding = weights["model.embed_tokens.weight"]  # (V, d)
        self.dtype, self.device = embedding.dtype, embedding.device
        count = sum(weight.numel() for weight in weights.values() if weight.dim() == 2)
        memory = WeightMemory(count, self.dtype, self.device)

        def norm(layer: int, name: str) -> Tensor:
            return weights[f"model.layers.{layer}.{name}.weight"]

        def project(layer: int, *names: str) -> Projection:
            parts = (weights[f"model.layers.{layer}.{name}_proj.weight"] for name in names)
            return Projection(*parts, memory=memory)

        self.layers = [
            Layer(
                attention_norm=norm(i, "input_layernorm"),
                qkv=project(i, "self_attn.q", "self_attn.k", "self_attn.v"),
                output=project(i, "self_attn.o"),
                mlp_norm=norm(i, "post_attention_layernorm"),
                gate_up=project(i, "mlp.gate", "mlp.up"),
                down=project(i, "mlp.down"),
            )
            for i in range(config.num_layers)
        ]
        self.final_norm = weights["model.norm.weight"]  # (d,)
        tied = "lm_head.weight" not in weights
        self.lm_head = Projection(embedding if tied else weights["lm_head.weight"], memory=memory)
        self.embedding = self.lm_head.weight if tied else embedding
        self.num_parameters = sum(tensor.numel() for tensor in weights.values())
        self._frequencies = rope_frequencies(config).to(self.device)  # (D / 2,)

    @torch.no_grad()
    def forward(self, ids: Tensor | list, cache=None, last_only: bool = False) -> Tensor:
        """Logits `(B, T, vocab)` of the T tokens `ids`, or `(B, 1, vocab)` of the last with `last_only`.

        `ids` `(B, T)` or `(T,)` follow what `cache` stores and are stored in turn. Without a cache they are
        the whole sequence. If the pass fails, the cache is as it was. Positions past the model's trained
        context are computed like any other, and mean little.
        """
        ids = self._check_ids(ids)
        if cache is None:
            past, positions = 0, torch.arange(ids.shape[1], device=self.device)[None]  # (1, T)
        else:
            self._check_cache(cache, ids)
            past, positions = cache.length, cache.begin(ids)  # (B, T)
        try:
            logits = self._run(ids, positions, cache, last_only)
        except BaseException:  # an interrupted cell too: layers that have stored the tokens must forget them
            if cache is not None:
                cache.abandon(past)
            raise
        new, total = ids.shape[1], past + ids.shape[1]
        self.counters.forwards += 1
        self.counters.rows_projected += new
        self.counters.score_pairs += new * past + new * (new + 1) // 2
        self.counters.flops += forward_flops(self.config, new, total, logits.shape[1], ids.shape[0])
        return logits

    def _run(self, ids: Tensor, positions: Tensor, cache, last_only: bool) -> Tensor:
        c = self.config
        heads = c.num_heads + c.num_kv_heads  # of q and k
        cos, sin = (t.to(self.dtype) for t in rope_angles(positions, self._frequencies))  # (B, 1, T, D)
        x = F.embedding(ids, self.embedding)  # (B, T, d)
        attend = cache.attend if cache is not None else None
        for i, layer in enumerate(self.layers):
            # Attention: every new token gets q, k and v; k and v are what later tokens will ask for again.
            h = rms_norm(x, layer.attention_norm, c.rms_norm_eps)
            qkv = layer.qkv(h).unflatten(-1, (-1, c.head_dim)).transpose(1, 2)  # (B, H + 2 H_kv, T, D)
            qk, v = rotate(qkv[:, :heads], cos, sin), qkv[:, heads:]
            q, k = qk[:, : c.num_heads], qk[:, c.num_heads :]  # (B, H, T, D), (B, H_kv, T, D)
            a = causal_attention(q, k, v) if attend is None else attend(i, q, k, v)  # (B, H, T, D)
            x = x + layer.output(a.transpose(1, 2).flatten(2))  # (B, T, d)
            # MLP (SwiGLU, arXiv:2002.05202): each token on its own.
            h = rms_norm(x, layer.mlp_norm, c.rms_norm_eps)
            gate, up = layer.gate_up(h).chunk(2, dim=-1)  # (B, T, f)
            x = x + layer.down(F.silu(gate) * up)  # (B, T, d)
        if last_only:
            x = x[:, -1:]
        return self.lm_head(rms_norm(x, self.final_norm, c.rms_norm_eps))  # (B, T or 1, V)

    def generate(
        self, prompt_ids: list[int], max_new_tokens: int, cache=None, eos_id: int | None = None
    ) -> list[int]:
        """The next `max_new_tokens` tokens of greedy decoding, fewer if `eos_id` comes (it is included).

        With a cache each step feeds the newest token only; afterwards the cache holds all tokens but the
        last, which was never fed. Without one each step feeds the whole sequence again.
        """
        prompt = self._check_ids(prompt_ids)
        if prompt.shape[0] != 1:
            raise UserError(f"the prompt has {prompt.shape[0]} rows; generate takes one sequence.")
        ids = prompt[0].tolist()
        if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 0:
            raise UserError(
                f"max_new_tokens is {shown(max_new_tokens)}; expected a whole number of 0 or more."
            )
        if cache is not None and max_new_tokens:
            self._check_cache(cache, prompt)
            cache.check_room(len(ids) + max_new_tokens - 1)
        feed, new = ids, []
        while len(new) < max_new_tokens:
            token = int(self.forward([feed], cache, last_only=True).argmax())
            new.append(token)
            if token == eos_id:
                break
            feed = ids + new if cache is None else [token]
        return new

    def _check_ids(self, ids: Tensor | list) -> Tensor:
        try:
            tensor = torch.as_tensor(ids, device=self.device)
        except (TypeError, ValueError, RuntimeError):
            raise UserError(f"token ids are {shown(ids)}; expected whole numbers, (T,) or (B, T).") from None
        tensor = tensor[None] if tensor.dim() == 1 else tensor  # (B, T)
        if tensor.dim() != 2 or not tensor.numel():
            raise UserError(
                f"token ids have shape {tuple(tensor.shape)}; expected (T,) or (B, T), not empty."
            )
        if tensor.dtype not in (torch.int64, torch.int32):
            raise UserError(f"token ids are {tensor.dtype}; expected whole numbers (int64).")
        low, high = (int(bound) for bound in tensor.aminmax())
        if low < 0 or high >= self.config.vocab_size:
            bad = low if low < 0 else high
            raise UserError(f"token id {bad} is outside the vocabulary of {self.config.vocab_size}.")
        return tensor

    def _check_cache(self, cache, ids: Tensor) -> None:
        if not hasattr(cache, "attend"):  # the caches' floor is above this one: no isinstance
            raise CacheError(f"the cache is a {type(cache).__name__}; expected one of kvcourse.caches.")
        ours, theirs = ((c.num_layers, c.num_kv_heads, c.head_dim) for c in (self.config, cache.config))
        if ours != theirs:
            raise CacheError(
                f"the cache is for (layers, KV heads, head_dim) = {theirs}; the model has {ours}."
            )
        if cache.batch != ids.shape[0]:
            raise CacheError(
                f"the cache holds {cache.batch} sequences; got {ids.shape[0]} rows of token ids."
            )


def tiny_model(seed: int = 0, **config_overrides) -> Decoder:
    """A random decoder that runs in milliseconds: two layers, 4 query and 2 KV heads unless overridden."""
    unknown = sorted(config_overrides.keys() - asdict(TINY).keys())
    if unknown:
        raise ConfigError(f"unknown field {shown(unknown[0])}; expected some of {', '.join(asdict(TINY))}.")
    config = replace(TINY, **config_overrides)
    return Decoder(config, random_weights(config, seed))
