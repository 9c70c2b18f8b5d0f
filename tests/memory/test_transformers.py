"""Our bytes against the tensors that Transformers' own caches hold, for every model type it shares with us.

Each type's class builds a tiny random model from the same fields, and runs it.
"""

import pytest

from kvcourse.memory import CompressedAttention, RecurrentState, from_config
from kvcourse.memory.families import FAMILIES, attention, encoder_decoder, latent

transformers = pytest.importorskip("transformers", reason="install: transformers")
torch = pytest.importorskip("torch")

WINDOW = 6
NOT_IN_TRANSFORMERS = {"internlm2", "kimi_k2"}
USUAL = {  # one of each way to read and to keep; the others run with the long tests
    "deepseek_v3", "deepseek_v4", "falcon", "gemma3_text", "gemma3n_text", "gemma4_text", "glm_moe_dsa",
    "gpt2",
    "gpt_bigcode", "jamba", "lfm2", "llama", "llama4_text", "mistral", "mixtral", "nemotron_h", "opt",
    "qwen2",
    "qwen3", "qwen3_next",
}  # fmt: skip

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

MAMBA2 = LLAMA | {
    "hidden_size": 64,
    "num_heads": 8,
    "head_dim": 16,
    "state_size": 8,
    "n_groups": 2,
    "expand": 2,
}
DELTA = LLAMA | {
    "num_key_value_heads": 2, "head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 8, "linear_value_head_dim": 12, "full_attention_interval": 3, "num_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
}  # fmt: skip
FIELDS |= {
    "bamba": LLAMA | {
        "hidden_size": 64, "num_key_value_heads": 2, "attn_layer_indices": [1, 4], "mamba_n_heads": 8,
        "mamba_d_state": 8, "mamba_n_groups": 2,
    },
    "deepseek_v4": LLAMA | {
        "num_key_value_heads": 1, "head_dim": 16, "q_lora_rank": 20, "o_lora_rank": 8, "o_groups": 2,
        "index_head_dim": 8, "index_n_heads": 2, "index_topk": 2, "sliding_window": WINDOW,
        "compress_ratios": [0, 4, 128, 4, 128, 0], "moe_intermediate_size": 16, "n_routed_experts": 4,
        "num_experts_per_tok": 2, "qk_rope_head_dim": 4, "hc_mult": 2,
    },
    "gemma3n_text": LLAMA | {
        "num_hidden_layers": 10, "num_key_value_heads": 2, "head_dim": 12, "sliding_window": WINDOW,
        "num_kv_shared_layers": 5, "laurel_rank": 8, "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": 64, "intermediate_size": 40, "activation_sparsity_pattern": [0.0] * 10,
    },
    "gemma4_text": LLAMA | {
        "num_key_value_heads": 2, "head_dim": 12, "global_head_dim": 20, "sliding_window": WINDOW,
        "num_hidden_layers": 12, "num_kv_shared_layers": 6, "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": 64,
    },
    "jamba": LLAMA | {
        "num_key_value_heads": 2, "attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 2,
        "use_mamba_kernels": False,
    },
    "lfm2": LLAMA | {"num_key_value_heads": 2, "full_attn_idxs": [1, 4], "block_multiple_of": 8},
    "llama4_text": LLAMA | {
        "num_key_value_heads": 2, "head_dim": 16, "attention_chunk_size": WINDOW, "num_local_experts": 2,
        "intermediate_size_mlp": 40,
    },
    "mamba2": MAMBA2,
    "nemotron_h": LLAMA | {
        "num_key_value_heads": 2, "head_dim": 16, "hybrid_override_pattern": "M-M*EM", "mamba_num_heads": 4,
        "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 2, "n_routed_experts": 4, "n_shared_experts": 1,
        "num_experts_per_tok": 2, "moe_intermediate_size": 16, "moe_shared_expert_intermediate_size": 16,
        "use_mamba_kernels": False,
    },
    "qwen3_5_moe_text": DELTA,
    "qwen3_5_text": DELTA,
    "qwen3_next": DELTA,
}  # fmt: skip


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
    """What one layer of Transformers' cache holds, under any name; two names of one tensor count once."""
    held = [getattr(layer, name, None) for name in ("keys", "values", "indexer_keys")]
    for states in ("conv_states", "recurrent_states", "compressed_kv"):
        held += getattr(layer, states, {}).values()
    return list({id(tensor): tensor for tensor in held if tensor is not None}.values())


def beyond(layer, tokens: int) -> int:
    """Numbers that Transformers keeps of a layer beyond ours; fewer are negative.

    It drops what leaves a window one step early, because the query's own K and V come with it; and it keeps
    as many inputs of a convolution as its kernel is wide, though the newest comes with the step.
    DeepSeek-V4's one vector for K and V stands there twice in the layers that compress nothing.
    """
    if isinstance(layer, RecurrentState):
        return layer.conv_channels
    window = getattr(layer, "window", getattr(layer, "chunk", tokens + 1))
    early = 1 if tokens >= window else 0
    if isinstance(layer, CompressedAttention):
        again = 0 if layer.ratio else min(tokens, window) - early
        return layer.width * (again - early)
    return -early * 2 * layer.attention.kv_heads * layer.attention.head_dim if early else 0


def types():
    for name in sorted(set(FAMILIES) - NOT_IN_TRANSFORMERS - set(encoder_decoder.FAMILIES)):
        yield pytest.param(name, marks=() if name in USUAL else pytest.mark.full)


@pytest.mark.parametrize("model_type", types())
def test_bytes_are_those_of_the_real_cache(model_type):
    raw = dict(FIELDS.get(model_type, LLAMA), model_type=model_type)
    ours = from_config(raw)
    config = transformers.AutoConfig.for_model(**raw)
    for tokens in (1, WINDOW - 1, WINDOW + 7):
        more = sum(beyond(layer, tokens) for layer in ours.layers)
        assert real_bytes(config, tokens, batch=2) == ours.bytes(tokens, 2, "fp32") + 2 * 4 * more


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


SMALL = {
    "vocab_size": 64, "d_model": 48, "encoder_layers": 1, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 99,
    "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 30, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3,
}  # fmt: skip


SMALL_T5 = {
    "vocab_size": 64, "d_model": 48, "d_kv": 10, "d_ff": 40, "num_layers": 1, "num_decoder_layers": 3,
    "num_heads": 4, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
}  # fmt: skip


@pytest.mark.parametrize("model_type", encoder_decoder.FAMILIES)
@pytest.mark.parametrize(("source", "tokens"), [(20, 1), (20, 9)])
def test_bytes_of_both_caches_of_an_encoder_decoder(model_type, source, tokens):
    """The cross-attention cache is as long as the source and does not grow with the text."""
    raw = (SMALL_T5 if model_type in ("t5", "mt5") else SMALL) | {"model_type": model_type}
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**raw)).eval()
    if model_type == "whisper":  # two frames of sound a position
        encoded = {"input_features": torch.zeros(2, 8, 2 * source)}
    else:
        encoded = {"input_ids": torch.randint(3, 60, (2, source))}
    with torch.no_grad():
        output = model(**encoded, decoder_input_ids=torch.randint(3, 60, (2, tokens)), use_cache=True)
    caches = output.past_key_values if hasattr(output, "past_key_values") else output.cache
    layers = [*caches.self_attention_cache.layers, *caches.cross_attention_cache.layers]
    held = sum(tensor.numel() * 4 for layer in layers for tensor in tensors(layer))
    assert held == from_config(raw, source_tokens=source).bytes(tokens, 2, "fp32")
