"""The engines' rules against pools that real servers printed, and GPUs by name."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse import registry
from kvcourse.engines import ENGINES, Device, find_engine, find_gpu, gpus, pool
from kvcourse.errors import UserError
from kvcourse.memory import CacheModel, FullAttention, from_config, parse_storage
from kvcourse.units import GIB, MIB

LLAMA = from_config(registry.find("Llama-2-7B").config)
BF16 = parse_storage("bf16")


def test_vllm_cuts_available_memory_into_whole_blocks():
    """A line as vLLM prints it: 11.47 GiB are 83,488 tokens of Qwen3-4B, 166,992 in fp8."""
    engine, qwen = find_engine("vLLM"), from_config(registry.find("Qwen3-4B").config)
    for dtype, printed in (("bf16", 83_488), ("fp8", 166_992)):
        found = set()
        for hundredth in (-0.005, 0, 0.00499):
            room = int((11.47 + hundredth) * GIB)
            device = Device(total=room, weights=0, other=0)
            found.add(pool(engine, device, qwen, parse_storage(dtype), 32_768, 1.0).tokens)
        assert min(found) <= printed <= max(found)


def test_vllm_pays_weights_and_the_rest_from_its_share():
    device = Device(80 * GIB, 15 * GIB, 2 * GIB)
    assert find_engine("vLLM").pool_bytes(device, 0.9) == 72 * GIB - 17 * GIB
    assert find_engine("TensorRT-LLM").pool_bytes(device, 0.9) == int(0.9 * 63 * GIB)
    assert find_engine("SGLang").pool_bytes(device, 0.85) == 68 * GIB - 15 * GIB
    assert find_engine("llama.cpp").pool_bytes(device) == 63 * GIB


def test_sglangs_rest_must_hold_the_activations():
    device = Device(80 * GIB, 15 * GIB, 8 * GIB)
    assert find_engine("SGLang").pool_bytes(device, 0.99) == 57 * GIB


def test_tensorrt_gives_the_last_tokens_a_whole_block():
    """NVIDIA/TensorRT-LLM issue 2268: 21.89 GiB free, blocks of 64 tokens of 512 KiB, 631 blocks."""
    engine = find_engine("trt-llm")
    blocks = {-(-int(Fraction(9, 10) * Fraction(room) * GIB) // 2**19 // 64) for room in ("21.885", "21.894")}
    assert blocks == {631}
    one = CacheModel((FullAttention(1, 1),))  # 4 bytes a token
    assert pool(engine, Device(4 * 33, 0, 0), one, BF16, 32, 1.0).tokens == 64
    assert pool(find_engine("vllm"), Device(4 * 33, 0, 0), one, BF16, 32, 1.0).tokens == 32


def test_the_papers_pool():
    """PagedAttention, table 1: 12 GB for OPT-13B are 15.7 K slots; 7 sequences of 2,048 tokens."""
    opt = from_config(registry.find("OPT-13B").config)
    found = pool(find_engine("llama.cpp"), Device(12 * GIB, 0, 0), opt, parse_storage("fp16"), 2048, None)
    assert (found.sequences, found.tokens) == (7, 15_728 // 256 * 256)


def test_windows_count_at_what_they_use():
    gemma = from_config(registry.find("Gemma-3-27B").config)
    context = 131_072
    one = gemma.bytes(context, dtype=BF16)
    found = pool(find_engine("vllm"), Device(3 * one, 0, 0), gemma, BF16, context, 1.0)
    assert (found.sequences, found.tokens) == (3, 3 * context)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
@given(
    total=st.integers(1, 300),
    weights=st.integers(0, 300),
    other=st.integers(0, 20),
    context=st.integers(1, 9000),
)
def test_no_pool_is_larger_than_what_is_left(engine, total, weights, other, context):
    device = Device(total * GIB, weights * GIB, other * GIB)
    found = pool(engine, device, LLAMA, BF16, context, None)
    assert 0 <= found.bytes <= max(device.left, 0)
    assert (
        found.sequences * LLAMA.bytes(context, dtype=BF16)
        <= found.bytes + engine.rounds_up * engine.block * 2**19
    )
    assert (
        found.sequences
        == int(found.concurrency)
        == found.tokens // (-(-context // engine.block) * engine.block)
    )
    assert found.tokens % engine.block == 0
    assert (found.tokens - engine.rounds_up * engine.block) * 2**19 <= found.bytes


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan"), True, "0.9"])
def test_a_fraction_outside_its_range(share):
    with pytest.raises(UserError, match="fraction above 0 and at most 1"):
        find_engine("vllm").pool_bytes(Device(GIB, 0, 0), share)


def test_an_unknown_engine_lists_the_known():
    with pytest.raises(UserError, match=r"vLLM, SGLang, TensorRT-LLM, llama\.cpp"):
        find_engine("tgi")


def test_gpus_by_name_and_by_size():
    assert find_gpu("h100").memory == find_gpu("NVIDIA H100 80GB").memory == 81_559 * MIB
    assert find_gpu("GeForce RTX 4090") == find_gpu("4090")
    assert (find_gpu("80 GiB").memory, find_gpu("80GB").memory) == (80 * GIB, 80 * 10**9)
    assert [gpu.memory for gpu in gpus()] == sorted(gpu.memory for gpu in gpus())


@pytest.mark.parametrize("text", ["", "H9000", "80 G", "0 GiB", "-1 GiB", "80", "8_0"])
def test_no_such_gpu(text):
    with pytest.raises(UserError):
        find_gpu(text)
