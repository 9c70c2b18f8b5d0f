"""Curated facts about published models, one of each formula, and what their caches take by hand.

The facts are of the models' config.json files on huggingface.co, as kvcache-ai/kvcache-blog
(data/kv_cache_calculator/models.yaml, 975328816be5) and the package kvcache-simulator 0.1.3 list them. Each
expectation is (keys and values at n tokens, states) in bf16, written out without our code.
"""

import pytest

from cases import config_rows, facts
from cases.params import Uncovered

V4 = [0, 0, *[4, 128] * 20, 4]
V41 = [0, 0, *[2] * 18, *[1] * 20]
KDA = {"kda_head_dim": 128, "kda_key_head_dim": 128, "kda_value_head_dim": 128, "kda_conv_kernel_size": 4,
       "kda_conv_state_bytes_per_element": 2, "kda_recurrent_state_bytes_per_element": 4}  # fmt: skip


def square(layers: int, heads: int) -> int:
    """Bytes of Kimi's delta attention: fp32 squares of 128, and 3 inputs of Q, K and V."""
    return layers * (heads * 128 * 128 * 4 + 3 * 3 * heads * 128 * 2)


ROWS = {
    "standard_gqa, Llama 3.1 8B": (
        {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128},
        lambda n: (32 * 2 * 8 * 128 * n * 2, 0),
    ),
    "standard_gqa, Qwen2.5-7B": (
        {"num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "head_dim": 128,
         "sliding_window": 131_072, "use_sliding_window": False, "max_window_layers": 28},
        lambda n: (28 * 2 * 4 * 128 * n * 2, 0),
    ),
    "standard_gqa, MiniMax M2": (
        {"num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
         "rotary_dim": 64, "use_mtp": True, "num_mtp_modules": 3, "mtp_transformer_layers": 1},
        lambda n: (62 * 2 * 8 * 128 * n * 2, 0),
    ),
    "mixed_full_sliding_gqa, Gemma 4 E2B": (
        {"num_hidden_layers": 35, "stored_layers": 15, "num_kv_shared_layers": 20, "full_attention_layers": 3,
         "sliding_attention_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256,
         "global_head_dim": 512, "sliding_window": 512},
        lambda n: (2 * (3 * 512 * n + 12 * 256 * min(n, 512)) * 2, 0),
    ),
    "mixed_full_sliding_gqa, Cohere Command R7B": (
        {"num_hidden_layers": 32, "full_attention_layers": 8, "sliding_attention_layers": 24,
         "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 4096,
         "sliding_window_pattern": 4},
        lambda n: (2 * 8 * 128 * (8 * n + 24 * min(n, 4096)) * 2, 0),
    ),
    "mixed_full_sliding_gqa, MiMo-V2.5-Pro": (
        {"num_hidden_layers": 70, "full_attention_layers": 10, "sliding_attention_layers": 60,
         "num_attention_heads": 128, "num_key_value_heads": 8, "head_dim": 192, "v_head_dim": 128,
         "swa_num_attention_heads": 128, "swa_num_key_value_heads": 8, "swa_head_dim": 192,
         "swa_v_head_dim": 128, "sliding_window": 128, "sliding_window_size": 128},
        lambda n: (8 * (192 + 128) * (10 * n + 60 * min(n, 128)) * 2, 0),
    ),
    "mla, DeepSeek V3": (
        {"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_nextn_predict_layers": 1},
        lambda n: (61 * 576 * n * 2, 0),
    ),
    "dsa_mla, GLM-5.2": (
        {"num_hidden_layers": 78, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
         "qk_head_dim": 256, "v_head_dim": 256, "num_key_value_heads": 64, "index_head_dim": 128,
         "index_n_heads": 32, "index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3,
         "index_share_for_mtp_iteration": True, "indexer_full_layers": 21, "indexer_shared_layers": 57,
         "num_nextn_predict_layers": 1, "draft_indexer_layers": 1},
        lambda n: ((78 * 576 + 21 * 128) * n * 2, 0),
    ),
    "minimax_msa, MiniMax M3": (
        {"num_hidden_layers": 60, "full_attention_layers": 3, "sparse_attention_layers": 57,
         "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "sparse_attention": True,
         "index_head_dim": 128, "index_n_heads": 4, "index_block_size": 128, "index_topk_blocks": 16,
         "index_local_blocks": 1, "indexer_fixed_precision_id": "bf16_fp16", "num_mtp_modules": 7,
         "disable_draft_kv_cache": True},
        # One key for all heads of the indexer: kvfit 0.3.0 counts one for each of the four.
        lambda n: ((60 * 2 * 4 * 128 + 57 * 128) * n * 2, 0),
    ),
    "qwen_linear_full_hybrid, Qwen3.8-2.4T-A95B": (
        {"num_hidden_layers": 92, "full_attention_layers": 23, "linear_attention_layers": 69,
         "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 256, "linear_num_key_heads": 16,
         "linear_key_head_dim": 128, "linear_num_value_heads": 128, "linear_value_head_dim": 128,
         "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32", "mtp_num_hidden_layers": 1,
         "default_recurrent_state_precision_id": "bf16_fp16"},
        # The file says float32; the calculator's own default for this model is half of that.
        lambda n: (23 * 2 * 4 * 256 * n * 2, 69 * (128 * 128 * 128 * 4 + 3 * (32 + 128) * 128 * 2)),
    ),
    "kimi_kda_mla_hybrid, Kimi K3": (
        {"num_hidden_layers": 93, "full_attention_layers": 24, "kda_layers": 69, "kv_lora_rank": 512,
         "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "num_key_value_heads": 96,
         "kda_num_heads": 96, "kda_num_key_heads": 96, "kda_num_value_heads": 96} | KDA,
        lambda n: (24 * 576 * n * 2, square(69, 96)),
    ),
    "kimi_kda_dsa_mla_hybrid, GLM-5.3-Flash": (
        {"num_hidden_layers": 45, "full_attention_layers": 11, "kda_layers": 34, "kv_lora_rank": 512,
         "qk_rope_head_dim": 0, "qk_nope_head_dim": 256, "qk_head_dim": 256, "v_head_dim": 256,
         "num_key_value_heads": 64, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048,
         "index_topk_freq": 1, "index_kpool": 4, "default_indexer_precision_id": "fp8_int8",
         "index_tail_bytes_per_element": 2, "index_share_for_mtp_iteration": True, "indexer_full_layers": 11,
         "indexer_shared_layers": 0, "indexer_fp8_quant_block_size": 128, "kda_num_heads": 64,
         "kda_num_key_heads": 64, "kda_num_value_heads": 64} | KDA,
        # A pool that is not full waits as keys and weights.
        lambda n: (11 * (512 * n + 128 * (n // 4)) * 2, square(34, 64) + 11 * (n % 4) * 256 * 2),
    ),
    "inkling_hybrid, Inkling-Small": (
        {"num_hidden_layers": 42, "full_attention_layers": 7, "sliding_attention_layers": 35,
         "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
         "swa_num_attention_heads": 32, "swa_num_key_value_heads": 8, "swa_head_dim": 128,
         "sliding_window": 512, "sliding_window_size": 512, "sconv_kernel_size": 4,
         "sconv_state_bytes_per_element": 2, "num_nextn_predict_layers": 8},
        lambda n: (2 * 8 * 128 * (7 * n + 35 * min(n, 512)) * 2, 42 * 3 * 2 * (8 * 128 + 4096) * 2),
    ),
    "dots3_note_hybrid, dots3-note Preview": (
        {"num_hidden_layers": 46, "full_attention_layers": 13, "sliding_attention_layers": 33,
         "kv_lora_rank": 512, "qk_rope_head_dim": 64, "swa_kv_lora_rank": 1024, "swa_qk_rope_head_dim": 64,
         "sliding_window": 512, "sliding_window_size": 513, "index_head_dim": 128, "index_n_heads": 64,
         "indexer_scale_bytes": 4, "indexer_fixed_precision_id": "fp8_int8"},
        # A server keeps the indexer's keys in FP8, with scales of 4 bytes: 132 bytes a token, not 256.
        lambda n: ((13 * (576 + 128) * n + 33 * 1088 * min(n, 512)) * 2, 0),
    ),
    "deepseek_v4_hybrid, DeepSeek V4 Flash": (
        {"num_hidden_layers": 43, "head_dim": 512, "sliding_window": 128, "index_head_dim": 128,
         "index_topk": 512, "num_key_value_heads": 1, "compress_ratios": [*V4, 0, 0, 0]},
        # With an indexer entries overlap, and half of the last four tokens stays, its weights in fp32; the
        # blog on DeepSeek-V4 (https://vllm.ai/blog/deepseek-v4) and calculators leave the waiting ones out.
        lambda n: (
            2 * (43 * 128 * 512 + 21 * (n // 4) * (512 + 128) + 20 * (n // 128) * 512),
            21 * 4 * 640 * (2 + 4) + 21 * (n % 4) * 4 * 640 * 2 + 20 * (n % 128) * 2 * 512 * 2,
        ),
    ),
    "deepseek_v41_shared, DeepSeek V4.1 Flash": (
        {"num_hidden_layers": 40, "num_nextn_predict_layers": 3, "head_dim": 512, "qk_rope_head_dim": 64,
         "num_key_value_heads": 1, "sliding_window": 128, "index_head_dim": 128, "index_n_heads": 32,
         "index_topk": 512, "kv_source_layer_ids": [2, 8, 14, 20],
         "index_source_layer_ids": [2, 8, 14, 20, 24, 28, 32, 36], "compress_ratios": [*V41, 0, 0, 0],
         "kv_fixed_precision_id": "fp4_int4", "kv_precision_label": "FP4 (E2M1)", "kv_quant_group_size": 16,
         "kv_scale_bytes": 1, "indexer_quant_group_size": 32, "swa_bytes_per_element": 1,
         "swa_quant_group_size": 32, "default_include_swa_cache": False},
        # Four layers compress, all keep a window: ROCm/ATOM 006fa47a, v41_pool_geometry.py, has the same.
        lambda n: (2 * (40 * 128 * 512 + (3 * (n // 2) + n) * (512 + 128)), 3 * (n % 2) * 2 * 512 * 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_facts_have_the_size_that_arithmetic_gives(name):
    given, by_hand = ROWS[name]
    done = config_rows.measure({"model": name, "formula": name.split(",")[0], "facts": given, "config": None})
    assert done.refused == ""
    for tokens in (512, 4095, 4096, 4097, 32_768):
        growing, states = by_hand(tokens)
        assert done.growing(tokens) == growing
        assert done.model.bytes(tokens, dtype="bf16") == growing + states


@pytest.mark.parametrize("name", ROWS)
def test_facts_stay_as_they_were(name):
    given = ROWS[name][0]
    before = repr(given)
    facts.as_config(given)
    assert repr(given) == before


@pytest.mark.parametrize(
    ("name", "odd"),
    [("kimi_kda_mla_hybrid, Kimi K3", {"kda_num_heads": None}),
     ("kimi_kda_mla_hybrid, Kimi K3", {"kda_layers": "69"}),
     ("kimi_kda_mla_hybrid, Kimi K3", {"kda_value_head_dim": 64}),
     ("kimi_kda_mla_hybrid, Kimi K3", {"kda_layers": 68}),
     ("kimi_kda_dsa_mla_hybrid, GLM-5.3-Flash", {"indexer_full_layers": 45}),
     ("dsa_mla, GLM-5.2", {"indexer_full_layers": [21]}),
     ("minimax_msa, MiniMax M3", {"sparse_attention_layers": 58}),
     ("dots3_note_hybrid, dots3-note Preview", {"full_attention_layers": -13}),
     ("mixed_full_sliding_gqa, Gemma 4 E2B", {"num_kv_shared_layers": 10**6}),
     ("deepseek_v41_shared, DeepSeek V4.1 Flash", {"kv_source_layer_ids": [8, 14, 20]}),
     ("deepseek_v41_shared, DeepSeek V4.1 Flash", {"kv_source_layer_ids": [0, 2]}),
     ("deepseek_v41_shared, DeepSeek V4.1 Flash", {"kv_source_layer_ids": 2})],
)  # fmt: skip
def test_facts_that_contradict_themselves_are_refused_in_a_line(name, odd):
    done = config_rows.measure({"model": name, "facts": ROWS[name][0] | odd, "config": None})
    assert done.model is None and done.refused and "\n" not in done.refused


PAIR = {"num_hidden_layers": 3, "full_attention_layers": 1, "sliding_attention_layers": 2, "head_dim": 64,
        "num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window": 16}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "full", "windowed"),
    [({}, 4 * 128, 4 * 128), ({"swa_num_key_value_heads": 8}, 4 * 128, 8 * 128),
     ({"sliding_num_key_value_heads": 8}, 4 * 128, 8 * 128), ({"sliding_head_dim": 32}, 4 * 128, 4 * 64),
     ({"v_head_dim": 32, "swa_head_dim": 96}, 4 * 96, 4 * 128), ({"global_head_dim": 96}, 4 * 192, 4 * 128),
     ({"num_global_key_value_heads": 2}, 2 * 128, 4 * 128)],
)  # fmt: skip
def test_what_differs_between_windowed_and_full_layers_may_be_told_alone(more, full, windowed):
    done = config_rows.measure({"facts": PAIR | more, "config": None})
    assert done.refused == "" and done.model.elements(100) == full * 100 + 2 * windowed * 16


def test_a_count_that_is_no_number_is_uncovered():
    with pytest.raises(Uncovered, match="sliding_attention_layers is '33'"):
        facts.as_config({"num_hidden_layers": 46, "sliding_attention_layers": "33"})
