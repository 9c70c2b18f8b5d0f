"""The weights a Llama-shaped decoder needs: names, shapes, and random ones for a model of any size."""

import torch
from torch import Tensor

from kvcourse.configs import ModelConfig
from kvcourse.errors import ConfigError, shown

# Types whose layers are exactly Llama's. Qwen2 adds biases, Qwen3 norms of q and k, Gemma scales embeddings
# and norms, SmolLM3 leaves RoPE out of some layers: with their weights this code would talk nonsense.
LLAMA_TYPES = ("llama", "mistral")


def weight_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Hugging Face's name and shape of every weight; a tied model has no lm_head.

    Raises ConfigError for a shape that says too little or is not Llama's.
    """
    if config.model_type not in LLAMA_TYPES:
        raise ConfigError(
            f"field 'model_type' is {shown(config.model_type)}; this decoder computes "
            f"{' and '.join(LLAMA_TYPES)}."
        )
    if config.hidden_act not in (None, "silu", "swish"):  # two names of one function
        raise ConfigError(f"field 'hidden_act' is {shown(config.hidden_act)}; this decoder computes silu.")
    for name in ("intermediate_size", "vocab_size", "rope_theta", "rms_norm_eps"):
        if getattr(config, name) is None:
            raise ConfigError(f"field '{name}' is missing; a Llama-shaped decoder needs it.")
    if config.num_experts:
        raise ConfigError(f"the model has {config.num_experts} experts; this decoder has one MLP a layer.")
    c = config
    heads, kv_heads = c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim
    shapes = {"model.embed_tokens.weight": (c.vocab_size, c.hidden_size)}
    for i in range(c.num_layers):
        prefix = f"model.layers.{i}."
        shapes |= {
            prefix + "input_layernorm.weight": (c.hidden_size,),
            prefix + "self_attn.q_proj.weight": (heads, c.hidden_size),
            prefix + "self_attn.k_proj.weight": (kv_heads, c.hidden_size),
            prefix + "self_attn.v_proj.weight": (kv_heads, c.hidden_size),
            prefix + "self_attn.o_proj.weight": (c.hidden_size, heads),
            prefix + "post_attention_layernorm.weight": (c.hidden_size,),
            prefix + "mlp.gate_proj.weight": (c.intermediate_size, c.hidden_size),
            prefix + "mlp.up_proj.weight": (c.intermediate_size, c.hidden_size),
            prefix + "mlp.down_proj.weight": (c.hidden_size, c.intermediate_size),
        }
    shapes["model.norm.weight"] = (c.hidden_size,)
    if not c.tie_word_embeddings:
        shapes["lm_head.weight"] = (c.vocab_size, c.hidden_size)
    return shapes


TINY = ModelConfig(
    model_type="llama", num_layers=2, num_heads=4, num_kv_heads=2, head_dim=16, hidden_size=48,
    intermediate_size=96, vocab_size=128, max_position_embeddings=512, rope_theta=10000.0,
    rms_norm_eps=1e-5, tie_word_embeddings=True, dtype="float32",
)  # fmt: skip


def random_weights(config: ModelConfig, seed: int = 0) -> dict[str, Tensor]:
    """Seeded float32 weights, large enough that attention is far from uniform and mistakes show."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in weight_shapes(config).items():
        noise = torch.randn(shape, generator=generator)
        weights[name] = 1 + 0.1 * noise if len(shape) == 1 else noise * 1.5 / shape[-1] ** 0.5
    return weights
