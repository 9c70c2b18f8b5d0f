"""Formats with scales, latent caches, tensor parallelism and reserved cells: figures printed by servers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.errors import ConfigError, UnitError
from kvcourse.memory import (
    CacheModel,
    Format,
    FullAttention,
    LatentAttention,
    SlidingAttention,
    blocks_for,
    duplication,
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
