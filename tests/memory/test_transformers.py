"""Our bytes against the tensors that Transformers' own caches hold, for every model type it shares with us.

Each type's class builds a tiny random model from the same fields, and runs it.
"""

import pytest

from kvcourse.memory import from_config
from kvcourse.memory.families import FAMILIES, attention, latent

transformers = pytest.importorskip("transformers", reason="install: transformers")
torch = pytest.importorskip("torch")

WINDOW = 6
NOT_IN_TRANSFORMERS = {"internlm2", "kimi_k2"}
USUAL = {
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen3",
    "gemma3_text",
    "gpt2",
    "gpt_bigcode",
    "falcon",
    "opt",
}

LLAMA = {
    "vocab_size": 64, "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 6,
    "num_attention_heads": 4, "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
GPT2 = {
    "vocab_size": 64,
    "n_embd": 48,
    "n_layer": 6,
    "n_head": 4,
    "n_positions": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SLIDING = LLAMA | {"num_key_value_heads": 2, "sliding_window": WINDOW}
MPT = {"vocab_size": 64, "d_model": 64, "n_layers": 6, "n_heads": 4, "max_seq_len": 256}
# Fields that a tiny model of the type needs; the KV heads are given wherever the class's default is above 4.
FIELDS = {
    "bitnet": dict(LLAMA, num_key_value_heads=2),
    "bloom": {"vocab_size": 64, "hidden_size": 48, "n_layer": 6, "n_head": 4},
    "codegen": dict(GPT2, rotary_dim=4),
    "dbrx": dict(
        MPT, attn_config={"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        ffn_config={"ffn_hidden_size": 32},
    ),
    "exaone4": SLIDING,
    "glm4_moe": dict(LLAMA, num_key_value_heads=2, n_routed_experts=8, num_experts_per_tok=2, n_group=1),
    "gpt2": GPT2,
    "gpt_bigcode": GPT2,
    "gptj": dict(GPT2, rotary_dim=4),
    "helium": dict(LLAMA, num_key_value_heads=2, head_dim=12),
    "hunyuan_v1_dense": dict(LLAMA, head_dim=16),
    "minimax_m2": dict(LLAMA, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2),
    "mistral": SLIDING,
    "mpt": MPT,
    "ministral3": SLIDING,
    "nemotron": dict(LLAMA, head_dim=16, num_key_value_heads=2),
    "olmoe": dict(LLAMA, num_experts=4, num_experts_per_tok=2),
    "opt": dict(LLAMA, ffn_dim=40, word_embed_proj_dim=48),
    "qwen2": dict(SLIDING, use_sliding_window=True, max_window_layers=4),
    "qwen2_moe": dict(SLIDING, use_sliding_window=True, max_window_layers=3, num_experts=4,
    num_experts_per_tok=2),
    "qwen3_moe": dict(SLIDING, num_experts=4, num_experts_per_tok=2, use_sliding_window=True),
    "stablelm": dict(LLAMA, hidden_size=64, num_key_value_heads=2),
    "xglm": {"vocab_size": 64, "d_model": 48, "ffn_dim": 40, "num_layers": 6, "attention_heads": 4},
}  # fmt: skip
for wide in (
    "gemma",
    "gemma2",
    "gemma3_text",
    "olmo3",
    "cohere2",
    "gpt_oss",
    "starcoder2",
    "phi3",
    "mixtral",
    "phimoe",
):
    FIELDS[wide] = SLIDING
for wide in ("qwen3", "qwen3_vl_text", "qwen3_vl_moe_text", "gemma", "internlm3", "seed_oss", "ernie4_5"):
    FIELDS[wide] = dict(LLAMA, num_key_value_heads=2)
for wide in ("qwen2_vl_text", "qwen2_5_vl_text"):
    rope = {"rope_type": "default", "mrope_section": [2, 2, 2], "rope_theta": 1e4}
    FIELDS[wide] = dict(LLAMA, num_key_value_heads=2, rope_parameters=rope)

MLA = LLAMA | {
    "kv_lora_rank": 24, "q_lora_rank": 20, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 16,
    "moe_intermediate_size": 16, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "n_shared_experts": 1, "first_k_dense_replace": 1, "num_key_value_heads": 4,
}  # fmt: skip
for latent_type in latent.FAMILIES:
    FIELDS[latent_type] = MLA
for indexed in ("deepseek_v32", "glm_moe_dsa"):
    FIELDS[indexed] = MLA | {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 4}
FIELDS["glm_moe_dsa"] = FIELDS["glm_moe_dsa"] | {"index_topk_freq": 3}


def real_bytes(config, tokens: int, batch: int) -> int:
    """Bytes of what Transformers holds after one forward pass."""
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    try:
        model = transformers.AutoModelForCausalLM.from_config(config)
    except ValueError:  # the decoders of vision models have no head of their own
        model = transformers.AutoModel.from_config(config)
    cache = transformers.DynamicCache(config=config)
    with torch.no_grad():
        model.eval()(torch.randint(3, 60, (batch, tokens)), cache=cache, use_cache=True)
    return sum(tensor.numel() * tensor.element_size() for layer in cache.layers for tensor in tensors(layer))


def tensors(layer) -> list:
    """What one layer of Transformers' cache holds: keys and values, and an indexer's keys."""
    held = (getattr(layer, name, None) for name in ("keys", "values", "indexer_keys"))
    return [tensor for tensor in held if tensor is not None]


def types():
    for name in sorted(set(FAMILIES) - NOT_IN_TRANSFORMERS):
        yield pytest.param(name, marks=() if name in USUAL else pytest.mark.full)


@pytest.mark.parametrize("model_type", types())
def test_bytes_are_those_of_the_real_cache(model_type):
    raw = dict(FIELDS.get(model_type, LLAMA), model_type=model_type)
    ours = from_config(raw)
    config = transformers.AutoConfig.for_model(**raw)
    for tokens in (1, WINDOW - 1, WINDOW + 7):
        # Transformers drops what leaves the window one step early: the query's own K and V come with it.
        short = [layer for layer in ours.layers if getattr(layer, "window", tokens + 1) <= tokens]
        early = sum(layer.attention.kv_heads * layer.attention.head_dim * 2 for layer in short)
        assert real_bytes(config, tokens, batch=2) == ours.bytes(tokens, 2, "fp32") - 2 * 4 * early


@pytest.mark.parametrize("model_type", sorted(set(attention.FAMILIES) - NOT_IN_TRANSFORMERS))
def test_absent_fields_mean_what_the_class_says(model_type):
    """Only sizes are given; KV heads, head width and windows are defaults, ours and the class's."""
    layers, heads, hidden = 12, 160, 10_240  # 160 heads: every class default for KV heads divides it
    raw = {"model_type": model_type}
    for names, value in (
        (("num_hidden_layers", "n_layer", "num_layers", "n_layers"), layers),
        (("num_attention_heads", "n_head", "attention_heads", "n_heads"), heads),
        (("hidden_size", "n_embd", "d_model"), hidden),
    ):
        known = [name for name in names if name in transformers.AutoConfig.for_model(model_type).to_dict()]
        raw[known[0]] = value
    config, ours = transformers.AutoConfig.for_model(**raw), from_config(raw)
    shape = {fact.name: fact.value for fact in ours.facts}
    if getattr(config, "num_key_value_heads", None) is not None:
        assert shape["num_kv_heads"] == config.num_key_value_heads
    else:
        assert shape["num_kv_heads"] == (1 if getattr(config, "multi_query", False) else heads)
    assert shape["head_dim"] == (getattr(config, "head_dim", None) or hidden // heads)
    windows = [
        getattr(layer, "sliding_window", None) for layer in transformers.DynamicCache(config=config).layers
    ]
    assert [getattr(layer, "window", None) for layer in ours.layers] == windows


@pytest.mark.parametrize("model_type", sorted(set(latent.FAMILIES) - NOT_IN_TRANSFORMERS))
def test_absent_fields_of_latent_types(model_type):
    raw = {"model_type": model_type, "num_hidden_layers": 7, "num_attention_heads": 128, "hidden_size": 7168}
    config = transformers.AutoConfig.for_model(**raw)
    indexed = [kind == "full" for kind in getattr(config, "indexer_types", [])] or [True] * 7
    widths = [own * getattr(config, "index_head_dim", 0) for own in indexed]
    assert [layer.index_dim for layer in from_config(raw).layers] == widths
    assert {layer.rank for layer in from_config(raw).layers} == {config.kv_lora_rank}
    assert {layer.rope_dim for layer in from_config(raw).layers} == {config.qk_rope_head_dim}


def test_falcons_new_architecture_stores_each_key_once_for_every_query_head():
    """Transformers broadcasts the KV heads of Falcon-40B before it caches them; the model needs the few."""
    raw = dict(LLAMA, model_type="falcon", new_decoder_architecture=True, num_kv_heads=2)
    config = transformers.AutoConfig.for_model(**raw)
    assert real_bytes(config, 5, 1) == 2 * from_config(raw).bytes(5, 1, "fp32")
