"""Formats with scales, latent caches, tensor parallelism and reserved cells: figures printed by servers."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kvcourse.errors import ConfigError, UnitError
from kvcourse.memory import (
    CacheModel,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    Fact,
    Format,
    FullAttention,
    IndexKeys,
    LatentAttention,
    RecurrentState,
    SharedCache,
    SlidingAttention,
    Together,
    blocks_for,
    duplication,
    expanded,
    from_config,
    heads_per_rank,
    parse_format,
    parse_storage,
    reserved,
)
from kvcourse.memory.formats import known_formats

MIB = 2**20
counts = st.integers(1, 40)


# ---- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size"),
    [("fp32", 128), ("fp16", 64), ("bf16", 64), ("fp8", 32), ("fp8_e4m3", 32), ("F8", 32), ("int8", 32),
     ("q8_0", 34), ("Q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q6_0", 26), ("q4_1", 20), ("q4_0", 18),
     ("iq4_nl", 18), ("nvfp4", 18), ("mxfp4", 17)],
)  # fmt: skip
def test_bytes_of_32_numbers(name, size):
    assert parse_format(name).bytes(32) == size
    assert parse_format(name).bytes(64) == 2 * size
    assert parse_format(name).bits_per_element * 32 == 8 * size


def test_ggmls_blocks_are_those_of_its_own_table():
    gguf = pytest.importorskip("gguf", reason="install: gguf")
    for name in ("F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "IQ4_NL", "MXFP4"):
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
        assert parse_format(name).bytes(block) == size


def test_a_part_of_a_group_is_stored_whole():
    assert [parse_format("q8_0").bytes(n) for n in (0, 1, 31, 32, 33)] == [0, 34, 34, 34, 68]


def test_one_scale_a_head_vector():
    """ik_llama.cpp's q8_KV: 8 bytes beside each head's vector, 200 for 192 numbers."""
    assert parse_format("q8_kv").bytes(3 * 192, vectors=3) == 3 * 200
    assert Format("int8 per head", 8, None, 32).bytes(2 * 64, vectors=2) == 2 * 68
    assert parse_format("q8_kv").bits_per_element is None


def test_kivi_2_bits_are_3():
    """A scale and a zero point of 16 bits for 32 numbers: 5.3 times smaller than fp16 (arXiv:2402.02750)."""
    kivi = Format("kivi", 2, 32, 32)
    assert kivi.bits_per_element == 3 and kivi.bytes(128) == 48


@pytest.mark.parametrize(("elements", "size"), [(576, 656), (192, 132 + 128)])
def test_vllms_latents_in_fp8(elements, size):
    """512 fp8 numbers, 4 fp32 scales and 64 rotary numbers in bf16 (vLLM, fp8_ds_mla)."""
    assert parse_format("fp8_ds_mla").bytes(elements) == size
    assert parse_format("fp8_ds_mla").bits_per_element is None


@pytest.mark.parametrize(("elements", "vectors"), [(64, 1), (576, 2), (575, 1), (500, 1), (512, 1)])
def test_other_rows_are_no_latents(elements, vectors):
    with pytest.raises(ConfigError, match="fp8_ds_mla"):
        parse_format("fp8_ds_mla").bytes(elements, vectors)


def test_keys_and_values_may_differ():
    model = CacheModel((FullAttention(4, 128),) * 94)
    assert model.bytes(65_536, dtype="q8_0/f16") == 9212 * MIB
    assert model.bytes(65_536, dtype="f16/q8_0") == 9212 * MIB
    assert parse_storage("q8_0/f16").name == "q8_0/fp16"


@pytest.mark.parametrize("name", ["q9_9", "q8_0/q9_9", "/", "q8_0/ /", "int4", ""])
def test_unknown_formats_are_refused_with_the_known_ones(name):
    with pytest.raises(UnitError, match="iq4_nl"):
        parse_storage(name)


@given(st.sampled_from(known_formats()), counts, counts)
def test_more_numbers_never_take_less(name, heads, width):
    chosen = parse_format(name)
    assume(not chosen.plain_tail)  # of latents only
    sizes = [chosen.bytes(heads * width * n, heads) for n in range(4)]
    assert sizes == sorted(sizes)


# ---- latent attention ------------------------------------------------------------------------------


def test_deepseek_v3_latents():
    """61 layers of 512 + 64 numbers: 70,272 bytes a token; a log of 10,980 MiB at 163,840 tokens."""
    model = CacheModel((LatentAttention(512, 64),) * 61)
    assert model.bytes_per_token("bf16") == 70_272
    assert model.bytes(163_840, dtype="f16") == 10_980 * MIB


def test_a_transposed_copy_keeps_the_latent_twice():
    model = CacheModel((LatentAttention(512, 64, transposed_copy=True),) * 61)
    assert model.bytes(163_840, dtype="f16") == (10_980 + 9_760) * MIB


def test_expanded_the_same_tokens_take_71_times_as_much():
    latent, expanded = LatentAttention(512, 64), FullAttention(128, 192, 128)
    ratio = CacheModel((expanded,)).elements(100) / CacheModel((latent,)).elements(100)
    assert round(ratio, 1) == 71.1


def test_an_indexer_adds_a_key():
    assert CacheModel((LatentAttention(512, 64, 128),) * 61).bytes_per_token("bf16") == 61 * 704 * 2


# ---- tensor parallelism ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kv_heads", "ranks", "each"), [(8, 1, 8), (8, 2, 4), (8, 8, 1), (8, 32, 1), (4, 8, 1), (1, 7, 1)]
)
def test_heads_per_rank(kv_heads, ranks, each):
    assert heads_per_rank(kv_heads, ranks) == each


@pytest.mark.parametrize(("kv_heads", "ranks"), [(8, 3), (8, 12), (5, 2), (3, 2)])
def test_heads_that_do_not_divide_are_refused(kv_heads, ranks):
    with pytest.raises(ConfigError, match=f"{kv_heads} KV heads cannot be split over {ranks}"):
        heads_per_rank(kv_heads, ranks)


def test_devices_share_heads_and_not_latents():
    heads = CacheModel((FullAttention(8, 128), SlidingAttention(4, FullAttention(8, 128))))
    assert heads.shard(4).bytes(100) * 4 == heads.bytes(100)
    assert heads.shard(32).bytes(100) == heads.shard(8).bytes(100)
    latents = CacheModel((LatentAttention(512, 64),))
    assert latents.shard(8) == latents


@given(st.integers(0, 4), st.integers(0, 5))
def test_all_devices_together_hold_each_head_as_often_as_it_is_copied(a, b):
    kv_heads, ranks = 2**a, 2**b
    assert heads_per_rank(kv_heads, ranks) * ranks == kv_heads * duplication(kv_heads, ranks)


def test_copies_and_context_parallelism():
    """vLLM: 8 devices hold Qwen3-235B's 4 heads twice and a latent 8 times; sharing the tokens undoes it."""
    assert (duplication(4, 8), duplication(1, 8), duplication(8, 8)) == (2, 8, 1)
    assert (duplication(4, 8, 2), duplication(1, 8, 8)) == (1, 1)
    with pytest.raises(ConfigError, match="3 context-parallel devices cannot share 2 copies"):
        duplication(4, 8, 3)


# ---- chunks, shared caches, states, two caches -------------------------------------------------------


def test_whisper_base_has_two_caches():
    """whisper.cpp's log: 5.25 MiB for 448 tokens of text, 17.58 MiB for 1,500 positions of sound."""
    heads = FullAttention(8, 64)
    text, sound = CacheModel((heads,) * 6), CacheModel((CrossAttention(1500, heads),) * 6)
    assert text.bytes(448) == 5.25 * MIB
    assert round(sound.bytes(448) / MIB, 2) == round(sound.bytes(0) / MIB, 2) == 17.58
    assert sound.bytes_per_token() == 0


def test_deepseek_v4_pro_at_a_million_tokens():
    """9.62 GiB on vLLM's page about DeepSeek-V4, a ninth of V3.2's 83.9 GiB for the same text."""
    fine, coarse = CompressedAttention(128, 4, 512, 128, False), CompressedAttention(128, 128, 512, 0, False)
    size = CacheModel((fine,) * 30 + (coarse,) * 31).bytes(2**20, dtype="bf16")
    assert round(size / 2**30, 2) == 9.62


def test_a_compressed_past_grows_by_one_entry_for_a_whole_ratio():
    layer = CompressedAttention(window=2, ratio=4, width=3, holds_back=False)
    assert [CacheModel((layer,)).elements(n) // 3 for n in range(10)] == [0, 1, 2, 2, 3, 3, 3, 3, 4, 4]
    model = CacheModel((layer,))
    assert model.bytes_per_token(held=4) == 0 and model.bytes_per_token(held=7) == 6
    assert model.bytes_per_token(held=4, over=4) == 1  # 6 bytes in 4 tokens, rounded down


def test_tokens_that_fill_no_entry_wait_as_two_vectors():
    """And with an indexer as four, of which half of the last entry's stay, one in fp32."""
    coarse, fine = CompressedAttention(2, 4, 3), CompressedAttention(2, 4, 3, 5)
    alone = [CacheModel((replace(layer, holds_back=False),)) for layer in (coarse, fine)]
    for tokens, waiting in ((0, 0), (1, 1), (3, 3), (4, 0), (6, 2), (9, 1)):
        more = [
            CacheModel((layer,)).bytes(tokens, dtype="bf16") - plain.bytes(tokens, dtype="bf16")
            for layer, plain in zip((coarse, fine), alone, strict=True)
        ]
        last = 4 * (3 + 5) * (2 + 4) * (tokens >= 4)
        assert more == [waiting * 2 * 3 * 2, waiting * 4 * (3 + 5) * 2 + last]


def test_an_indexers_pool_makes_one_key_of_its_tokens():
    """GLM-5-Next: of four tokens one key; until then each waits as a key and what weighs it."""
    model = CacheModel((IndexKeys(128, 4, 2 * 128),))
    assert [model.elements(n) for n in (0, 1, 3, 4, 5)] == [0, 256, 768, 128, 384]
    assert CacheModel((IndexKeys(128),)).elements(5) == 5 * 128
    assert model.period() == CacheModel((Together((FullAttention(1, 8), IndexKeys(8, 4))),)).period() == 4
    assert (
        CacheModel(()).period()
        == CacheModel((CompressedAttention(4, 0, 8), FullAttention(1, 8))).period()
        == 1
    )
    assert CacheModel((CompressedAttention(4, 4, 8), CompressedAttention(4, 128, 8))).period() == 128
    with pytest.raises(ConfigError, match="pool"):
        IndexKeys(128, 0)


SOURCED = {
    "model_type": "deepseek_v41_text", "num_hidden_layers": 40, "head_dim": 512, "sliding_window": 128,
    "index_head_dim": 128, "index_n_heads": 32, "index_topk": 512, "o_lora_rank": 1024, "q_lora_rank": 1280,
    "num_key_value_heads": 1, "compress_ratios": [0, 0, *[2] * 18, *[1] * 20, 0, 0, 0],
    "kv_source_layer_ids": [2, 8, 14, 20], "index_source_layer_ids": [2, 8, 14, 20, 24, 28, 32, 36],
    "engram_compressed_vocab_size": 99_000, "compress_rope_theta": 160_000,
}  # fmt: skip


def test_deepseek_v41_flash_takes_890_bytes_a_token():
    """Its model card, of FP4: vectors with a scale for 16 numbers, an indexer's keys with one for 32."""
    model = from_config({"model_type": "deepseek_v41", "dtype": "bfloat16", "text_config": SOURCED})
    formats = {"key": Format("nvfp4", 4, 16, 8), "index": Format("mxfp4", 4, 32, 8)}
    small, large = (
        sum(p.rows * formats[p.role].bytes(p.width) for layer in model.layers for p in layer.parts(tokens))
        for tokens in (128, 130)
    )
    assert large - small == 2 * 890
    assert "and one for every 2 tokens with" in model.layers[2].describe()
    assert "and one for every token with an indexer key of 128" in model.layers[20].describe()
    assert model.elements(1) == 40 * 512 + 640 + 3 * 2 * 512  # at a ratio of 2, the first token waits
    assert model.elements(128) == 40 * 128 * 512 + (3 * 64 + 128) * 640


def test_latents_expand_beside_the_keys_of_an_indexer():
    """GLM-5-Next keeps the two side by side in a layer."""
    indexed = Together((LatentAttention(512), IndexKeys(128, 4, 256)))
    widths = {"num_heads": 64, "qk_nope_head_dim": 256, "v_head_dim": 256}
    facts = tuple(Fact(name, width, "") for name, width in widths.items())
    kept = expanded(CacheModel((indexed, RecurrentState(1, 1)), facts=facts)).layers
    assert kept == (Together((FullAttention(64, 256, 256), IndexKeys(128, 4, 256))), RecurrentState(1, 1))


def test_a_state_is_as_large_after_a_million_tokens():
    """Mamba-2 2.7B: 80 heads of 64 x 128 and 3 inputs of 5,376 channels, in every layer."""
    layer = RecurrentState(80, 64 * 128, 5_376, 3)
    model = CacheModel((layer,) * 64)
    assert model.bytes(0) == model.bytes(10**6) == 64 * 2 * (80 * 64 * 128 + 3 * 5_376)
    assert CacheModel((RecurrentState(80, 8192, dtype="fp32"),)).bytes(1, dtype="bf16") == 4 * 80 * 8192


def test_a_quantized_cache_leaves_states_alone():
    model = CacheModel((RecurrentState(4, 64), FullAttention(1, 32)))
    assert model.bytes(1, dtype="q8_0") == 4 * 64 * 2 + 2 * 34


def test_chunks_and_shared_caches():
    heads = FullAttention(2, 8)
    chunked = CacheModel((ChunkedAttention(4, heads), SharedCache(), heads))
    assert [chunked.elements(n) // 32 for n in (0, 3, 4, 5, 8)] == [0, 6, 8, 9, 12]


def test_devices_share_states_and_cross_attention():
    heads = FullAttention(8, 64)
    model = CacheModel((RecurrentState(8, 16, 32, 3), CrossAttention(10, heads), ChunkedAttention(9, heads)))
    assert 4 * model.shard(4).bytes(20) == model.bytes(20)
    alone = CacheModel((CompressedAttention(2, 4, 8), SharedCache()))
    assert alone.shard(4) == alone
    with pytest.raises(ConfigError, match="8 recurrent heads cannot be split over 3"):
        CacheModel((RecurrentState(8, 16),)).shard(3)


def test_hybrids_of_published_configurations():
    """Jamba-1.5-Large: 9 of 72 layers attend, 9 GiB at 262,144 tokens (arXiv:2408.12570, table 1)."""
    raw = {"model_type": "jamba", "num_hidden_layers": 72, "num_attention_heads": 64, "hidden_size": 8192}
    jamba = from_config(raw | {"num_key_value_heads": 8})
    attending = CacheModel(tuple(layer for layer in jamba.layers if isinstance(layer, FullAttention)))
    assert attending.bytes(262_144, dtype="bf16") == 9 * 2**30
    states = 63 * 16_384 * (16 * 4 + 3 * 2)  # fp32 states, inputs in bf16
    assert len(jamba.layers) == 72 and jamba.bytes(0, dtype="bf16") == states


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"model_type": "nemotron_h", "hidden_size": 8, "hybrid_override_pattern": "M?*"},
    "hybrid_override_pattern"),
     ({"model_type": "nemotron_h", "hidden_size": 8}, "hybrid_override_pattern"),
     ({"model_type": "nemotron_h", "layers_block_type": ["mamba", "novel"], "hidden_size": 8}, "novel"),
     ({"model_type": "mamba", "num_hidden_layers": 2}, "hidden_size"),
     ({"model_type": "bamba", "num_hidden_layers": 2, "attn_layer_indices": [2]}, "attn_layer_indices"),
     ({"model_type": "qwen3_next", "num_hidden_layers": 2, "mamba_ssm_dtype": "odd"}, "mamba_ssm_dtype"),
     ({"model_type": "deepseek_v4", "num_hidden_layers": 2, "compress_ratios": [4]}, "compress_ratios"),
     ({"model_type": "deepseek_v4", "num_hidden_layers": 1, "layer_types": ["compressed_sparse_attention"],
       "compress_rates": {"compressed_sparse_attention": [4]}}, "compress_rates"),
     ({"model_type": "qwen2", "num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 64},
      r"32 \(the default of Transformers' configuration class\) does not divide"),
     (SOURCED | {"kv_source_layer_ids": None}, "kv_source_layer_ids' is missing"),
     (SOURCED | {"kv_source_layer_ids": [8, 14, 20]}, "the first of these among them"),
     ({"model_type": "llava", "text_config": {"model_type": "llava", "text_config": {"a": 1}}}, "decoder in"),
     ({"model_type": "deepseek_v3", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8,
       "kv_lora_rank": "512"}, "kv_lora_rank"),
     ({"model_type": "glm_moe_dsa", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
       "indexer_types": ["odd"]}, "indexer_types"),
     ({"model_type": "gemma3n_text", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8,
       "num_kv_shared_layers": 3}, "num_kv_shared_layers"),
     ({"model_type": "llama4_text", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 8,
       "no_rope_layers": [1]}, "no_rope_layers"),
     ({"model_type": "t5", "num_layers": 2, "num_heads": 2, "d_model": 8, "d_kv": 4}, "source"),
     ({"model_type": "minimax_m2", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 8,
       "attn_type_list": [1, 0]}, "attn_type_list")],
)  # fmt: skip
def test_bad_fields_of_other_kinds_are_named(fields, named):
    with pytest.raises(ConfigError, match=named) as caught:
        from_config(fields)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_gemma_4_ends_with_a_full_layer_whatever_its_file_says():
    """Its class corrects the list; the file stays as it is."""
    kinds = ["full_attention", "sliding_attention", "sliding_attention"]
    raw = {"model_type": "gemma4_text", "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 64,
           "num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 32}  # fmt: skip
    raw["layer_types"] = list(kinds)
    wide, slim = FullAttention(2, 32), SlidingAttention(512, FullAttention(2, 16))
    assert from_config(raw).layers == (wide, slim, wide)
    assert raw["layer_types"] == kinds


# ---- blocks and cells ------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "blocks"), [(0, 0), (1, 1), (15, 1), (16, 1), (17, 2)])
def test_blocks(tokens, blocks):
    assert blocks_for(tokens, 16) == blocks


def test_llama_cpp_cells():
    """Its logs: 1000 tokens take 1024 cells and 1100 take 1280; 3 slots of 1024 take 1536, 4 take 1024."""
    assert [reserved.padded(n) for n in (0, 1, 256, 257, 1000, 1100)] == [0, 256, 256, 512, 1024, 1280]
    assert (reserved.slot_cells(1024, 3), reserved.slot_cells(1024, 4)) == (1536, 1024)
    assert reserved.window_cells(131_072, window=512, batch=1024) == 1536
    assert reserved.window_cells(131_072, window=128, batch=512, slots=4) == 1024
    assert reserved.window_cells(1024, window=4096, batch=512) == 1024
