"""Fields of a tiny model of every type that Transformers can build."""

from kvcourse.memory.families import attention_types, latent

WINDOW = 6
LLAMA = {
    "vocab_size": 64, "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 6,
    "num_attention_heads": 4, "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
GPT2 = {
    "vocab_size": 64, "n_embd": 48, "n_layer": 6, "n_head": 4, "n_positions": 256, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
GQA = LLAMA | {"num_key_value_heads": 2}
WIDE = GQA | {"head_dim": 16}  # not hidden_size / heads
SLIDING = GQA | {"sliding_window": WINDOW}
FEW = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
ROUTED = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1,
          "topk_group": 1}  # fmt: skip
MPT = {"vocab_size": 64, "d_model": 64, "n_layers": 6, "n_heads": 4, "max_seq_len": 256}
MROPE = {"rope_parameters": {"rope_type": "default", "mrope_section": [2, 2, 2], "rope_theta": 1e4}}
HALF = {"rope_parameters": MROPE["rope_parameters"] | {"mrope_section": [1, 1, 1]}}  # of half a head
ALTERNATE = {"layer_types": ["full_attention", "sliding_attention"] * 3}

FIELDS = dict.fromkeys(attention_types.FAMILIES, GQA)  # and what follows differs
FIELDS |= dict.fromkeys(
    ("gemma", "glm", "glm4", "qwen3", "qwen3_vl_text", "seed_oss", "ernie4_5", "hunyuan_v1_dense",
     "nemotron", "hyperclovax", "aria_text", "jais2", "iquestcoder", "diffllama"), WIDE
) | dict.fromkeys(
    ("afmoe", "beam", "cohere2", "cwm", "exaone4", "gemma2", "gemma3_text", "gpt_oss", "granite_swa",
     "kolibri1", "ministral", "ministral3", "mistral", "mixtral", "moshi", "muse_glimmer_text",
     "muse_spark_text", "olmo3", "phi3", "phi4_multimodal", "phimoe", "starcoder2", "vaultgemma",
     "voxtral_realtime_text", "granitemoe_swa", "qwen3_omni_moe_text"), SLIDING
)  # fmt: skip
FIELDS |= {
    "aria_text": WIDE | {"moe_num_experts": 4, "moe_topk": 2},
    "biogpt": LLAMA,
    "bloom": {"vocab_size": 64, "hidden_size": 48, "n_layer": 6, "n_head": 4},
    "codegen": GPT2 | {"rotary_dim": 4},
    "cohere2_moe": SLIDING | FEW | {"first_k_dense_replace": 2},
    "ctrl": GPT2 | {"dff": 40},
    "dbrx": MPT | {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 32},
    },
    "doge": GQA,
    "dory": SLIDING | {"head_dim": 12, "n_input_layers": 1, "n_output_layers": 1},
    "dots1": SLIDING | ROUTED | {"max_window_layers": 4, "n_shared_experts": 1},
    "exaone_moe": SLIDING | FEW | {"n_group": 1, "topk_group": 1},
    "ernie4_5_moe": GQA | {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 16},
    "falcon": LLAMA,
    "ernie4_5_vl_moe_text": GQA | MROPE | {
        "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": [16, 16]
    },
    "flex_olmo": GQA | FEW,
    "glm4v_moe_text": GQA | ROUTED | HALF,
    "glm4v_text": GQA | HALF,
    "glm_ocr_text": GQA | HALF,
    "helium": GQA | {"head_dim": 12},
    "flint": SLIDING | FEW | {"head_dim": 12},
    "glm4_moe": GQA | ROUTED,
    "gpt2": GPT2,
    "gpt_bigcode": GPT2,
    "gpt_neo": {
        "vocab_size": 64, "hidden_size": 48, "intermediate_size": 40, "num_layers": 6, "num_heads": 4,
        "max_position_embeddings": 256, "attention_types": [[["global", "local"], 3]], "window_size": WINDOW,
    },
    "gpt_neox": LLAMA,
    "gpt_neox_japanese": LLAMA,
    "gptj": GPT2 | {"rotary_dim": 4},
    "hrm_text": LLAMA | {"num_hidden_layers": 2},
    "hunyuan_vl_text": WIDE,
    "hunyuan_v1_moe": WIDE | {"num_experts": 2, "moe_topk": 1},
    "jetmoe": GQA | {"num_local_experts": 4, "kv_channels": 12},
    "laguna": SLIDING | ALTERNATE | FEW,
    "mellum": SLIDING | ALTERNATE | FEW,
    "mimo_v2_flash": SLIDING | ROUTED | {"head_dim": 12, "v_head_dim": 8, "num_hidden_layers": 8},
    "minimax": WIDE | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "minimax_m2": GQA | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "minimax_m3_vl_text": WIDE | {
        "num_local_experts": 4, "num_experts_per_tok": 2, "index_n_heads": 2, "index_block_size": 4,
        "index_topk_blocks": 2, "index_head_dim": 8, "rotary_dim": 4,
        "sparse_attention_config": {"sparse_attention_freq": [0, 1, 1, 1, 1, 1]},
    },
    "ministral": SLIDING | {"head_dim": 16},
    "mpt": MPT,
    "muse_spark_text": SLIDING | ROUTED | {"head_dim": 12},
    "cohere_compass_text": SLIDING | ALTERNATE | {
        "rope_parameters": dict.fromkeys(ALTERNATE["layer_types"], MROPE["rope_parameters"]),
    },
    "olmoe": GQA | FEW,
    "opt": LLAMA | {"ffn_dim": 40, "word_embed_proj_dim": 48},
    "persimmon": LLAMA,
    "qwen2": SLIDING | {"use_sliding_window": True, "max_window_layers": 4},
    "qwen2_5_omni_text": GQA | MROPE,
    "qwen2_5_vl_text": GQA | MROPE,
    "qwen2_moe": SLIDING | FEW | {"use_sliding_window": True, "max_window_layers": 3},
    "qwen2_vl_text": GQA | MROPE,
    "qwen3_moe": SLIDING | FEW | {"use_sliding_window": True},
    "qwen3_vl_moe_text": GQA | FEW,
    "sarvam_moe": GQA | FEW | {"n_group": 1, "topk_group": 1, "head_dim": 12},
    "smollm3": SLIDING | ALTERNATE | {"use_sliding_window": True},
    "solar_open": WIDE | ROUTED,
    "stablelm": GQA | {"hidden_size": 64},
    "step3p5": SLIDING | ALTERNATE | ROUTED | {"head_dim": 12},
    "xglm": {"vocab_size": 64, "d_model": 48, "ffn_dim": 40, "num_layers": 6, "attention_heads": 4},
}  # fmt: skip

MLA = LLAMA | ROUTED | {
    "kv_lora_rank": 24, "q_lora_rank": 20, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 16,
    "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1, "num_key_value_heads": 4,
}  # fmt: skip
INDEXED = MLA | {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 4}
FIELDS |= dict.fromkeys(latent.FAMILIES, MLA)
FIELDS |= dict.fromkeys(("axk2", "deepseek_v32", "hy_v4", "hy_v4_vl_text"), INDEXED)
FIELDS |= {
    "dots3_note_text": INDEXED | {
        "swa_num_attention_heads": 2, "swa_num_key_value_heads": 2, "swa_q_lora_rank": 12,
        "swa_kv_lora_rank": 22, "swa_head_dim": 20, "swa_qk_nope_head_dim": 14, "swa_v_head_dim": 12,
        "sliding_window": WINDOW,
    },
    "glm_moe_dsa": INDEXED | {"index_topk_freq": 3},
    "longcat_flash": {name: value for name, value in MLA.items() if name not in ("num_hidden_layers",)} | {
        "num_layers": 3, "ffn_hidden_size": 40, "expert_ffn_hidden_size": 16, "moe_topk": 2,
        "zero_expert_num": 1, "head_dim": 8,
    },
    "hy_v4_vl_text": INDEXED | {
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 1e4},
    },
    "mistral_large4_text": INDEXED | {"kv_source_layers": [0, 0, 2, 0, 4, 4], "no_rope_layer_interval": 99},
}  # fmt: skip

MAMBA2 = LLAMA | {
    "hidden_size": 64,
    "num_heads": 8,
    "head_dim": 16,
    "state_size": 8,
    "n_groups": 2,
    "expand": 2,
}
DELTA = GQA | FEW | {
    "head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 12, "full_attention_interval": 3, "shared_expert_intermediate_size": 16,
}  # fmt: skip
INKLING = WIDE | ROUTED | {
    "swa_num_attention_heads": 4, "swa_num_key_value_heads": 4, "swa_head_dim": 10,
    "sliding_window_size": WINDOW,
}  # fmt: skip
FIELDS |= {
    "bailing_hybrid": MLA | {"num_experts": 4, "head_dim": 10, "layer_group_size": 3},
    "bamba": GQA | {
        "hidden_size": 64, "attn_layer_indices": [1, 4], "mamba_n_heads": 8, "mamba_d_state": 8,
        "mamba_n_groups": 2,
    },
    "chameleon": GQA | {
        "vocabulary_map": {"<image>": 5},
        "vq_config": {"num_embeddings": 8, "embed_dim": 8, "latent_channels": 8, "base_channels": 32,
                      "channel_multiplier": [1]},
    },
    "deepseek_ocr2_text": GQA | ROUTED | {
        "n_shared_experts": 1, "mlp_layer_types": ["dense"] + ["sparse"] * 5,
    },
    "qwen2_5_omni_text": GQA | MROPE,
    "qwen3_omni_moe_talker_text": GQA | FEW | MROPE | {"shared_expert_intermediate_size": 16},
    "qwen3_omni_moe_text": SLIDING | FEW | MROPE,
    "hunyuan_vl_text": WIDE | {
        "rope_parameters": {"rope_type": "dynamic", "factor": 1.0, "alpha": 1000.0, "rope_theta": 1e4,
                            "mrope_section": [2, 2, 2, 2]},
    },
    "deepseek_v4": {name: value for name, value in LLAMA.items() if name != "intermediate_size"} | ROUTED | {
        "num_key_value_heads": 1, "head_dim": 16, "q_lora_rank": 20, "o_lora_rank": 8, "o_groups": 2,
        "index_head_dim": 8, "index_n_heads": 2, "index_topk": 2, "sliding_window": WINDOW,
        "compress_ratios": [0, 4, 128, 4, 128, 0], "qk_rope_head_dim": 4, "hc_mult": 2,
    },
    "diffusion_gemma_text": SLIDING | {"head_dim": 12, "global_head_dim": 20, "num_global_key_value_heads": 4,
                                       "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 16},
    "falcon_h1": GQA | {
        "mamba_d_ssm": 64, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 10, "mamba_n_groups": 2,
    },
    "gemma3n_text": SLIDING | {
        "num_hidden_layers": 10, "head_dim": 12, "num_kv_shared_layers": 5, "laurel_rank": 8,
        "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 64,
        "activation_sparsity_pattern": [0.0] * 10,
    },
    "gemma4_text": SLIDING | {
        "head_dim": 12, "global_head_dim": 20, "num_hidden_layers": 12, "num_kv_shared_layers": 6,
        "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 64,
    },
    "gemma4_unified_text": SLIDING | {"head_dim": 12, "global_head_dim": 20, "attention_k_eq_v": True,
                                      "num_global_key_value_heads": 1},
    "glm5_next_text": INDEXED | {
        "qk_rope_head_dim": 0,
        "linear_head_dim": 10, "linear_num_heads": 3, "num_hidden_layers": 8, "index_topk_freq": 2,
        "index_kpool": 2,
    },
    "granitemoehybrid": GQA | {
        "layer_types": ["mamba", "attention", "mamba", "mamba", "attention", "mamba"], "mamba_n_heads": 8,
        "mamba_d_state": 10, "mamba_d_head": 12, "shared_intermediate_size": 40, "num_local_experts": 4,
        "num_experts_per_tok": 2,
    },
    "inkling2_loop_text": INKLING | {
        "n_layers_per_attn_res_block": 1, "loop_layer_index_start": 2, "loop_layer_index_end": 4,
        "loop_num_passes": 3,
    },
    "inkling2_text": INKLING,
    "inkling_text": INKLING,
    "jamba": GQA | {
        "attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 2,
        "use_mamba_kernels": False,
    },
    "kimi_linear": MLA | {"num_experts": 4, "linear_head_dim": 10, "linear_num_heads": 3},
    "lara_mini": DELTA | {"sliding_window": WINDOW},
    "lfm2": GQA | {"full_attn_idxs": [1, 4], "block_multiple_of": 8},
    "lfm2_moe": GQA | FEW | {"layer_types": ["conv", "full_attention", "conv"] * 2},
    "lfm3": WIDE | {"sliding_window": WINDOW},
    "llama4_text": WIDE | {
        "attention_chunk_size": WINDOW, "num_local_experts": 2, "intermediate_size_mlp": 40,
    },
    "mamba2": MAMBA2,
    "mllama_text_model": GQA | {"cross_attention_layers": [1, 4]},
    "nemotron_h": WIDE | ROUTED | {
        "hybrid_override_pattern": "M-M*EM", "mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 8,
        "n_groups": 2, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 16,
        "use_mamba_kernels": False,
    },
    "olmo_hybrid": DELTA,
    "qwen3_5_moe_text": DELTA,
    "qwen3_5_text": DELTA,
    "qwen3_next": DELTA,
    "qwen4_exp_text": DELTA | {
        "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "zamba2": LLAMA | {
        "hidden_size": 64, "layers_block_type": ["mamba", "mamba", "hybrid", "mamba", "hybrid", "mamba"],
        "mamba_d_state": 10, "mamba_ngroups": 2, "n_mamba_heads": 8,
    },
    "zamba": GQA | {
        "hidden_size": 64, "attention_hidden_size": 128, "attention_head_dim": 32, "use_mamba_kernels": False,
        "num_hidden_layers": 20,
    },
    "zaya": WIDE | {"layer_types": ["hybrid", "hybrid_sliding"] * 3, "sliding_window": WINDOW},
}  # fmt: skip
