"""The arithmetic against counting element by element, against published figures, and at its edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.errors import ConfigError, UnitError
from kvcourse.memory import CacheModel, Format, FullAttention, SlidingAttention, kv_bytes, parse_format

GIB = 2**30
LLAMA_2_7B = CacheModel((FullAttention(32, 128),) * 32)

small = st.integers(1, 6)
attention = st.builds(FullAttention, small, small, st.none() | small)
layers = st.lists(
    attention | st.builds(SlidingAttention, st.integers(1, 9), attention), min_size=1, max_size=5
)
models = layers.map(lambda chosen: CacheModel(tuple(chosen)))
lengths = st.integers(0, 24)


def counted(model: CacheModel, tokens: int) -> int:
    """Numbers held after `tokens` tokens, found by writing them one by one and letting windows forget."""
    total = 0
    for layer in model.layers:
        held = []
        for token in range(tokens):
            held.append(token)
            if isinstance(layer, SlidingAttention) and len(held) > layer.window:
                held.pop(0)
        heads = layer.attention if isinstance(layer, SlidingAttention) else layer
        for _token in held:
            for _head in range(heads.kv_heads):
                total += heads.head_dim
                total += heads.value_dim or heads.head_dim
    return total


@given(models, lengths)
def test_elements_are_those_counted_one_by_one(model, tokens):
    assert model.elements(tokens) == counted(model, tokens)


@given(models, lengths, st.integers(0, 5), st.sampled_from([("fp32", 4), ("bf16", 2), ("fp16", 2)]))
def test_bytes_are_elements_times_their_width_times_the_batch(model, tokens, batch, dtype):
    name, width = dtype
    assert model.bytes(tokens, batch, name) == batch * width * counted(model, tokens)


@given(models, st.lists(lengths, max_size=5))
def test_a_ragged_batch_is_the_sum_of_its_sequences(model, tokens):
    assert model.bytes_of(tokens) == sum(model.bytes(length) for length in tokens)


@given(models, lengths)
def test_per_token_is_what_one_more_token_adds(model, held):
    assert model.bytes_per_token(held=held) == model.bytes(held + 1) - model.bytes(held)
    assert sum(model.bytes_per_token(held=i) for i in range(held)) == model.bytes(held)


@given(models, lengths)
def test_the_groups_are_the_layers(model, tokens):
    assert sum(count for _, count in model.groups()) == len(model.layers)
    assert sum(count * CacheModel((layer,)).bytes(tokens) for layer, count in model.groups()) == model.bytes(
        tokens
    )


@given(small, small, small, lengths, small)
def test_the_plain_formula(num_layers, heads, width, tokens, batch):
    model = CacheModel((FullAttention(heads, width),) * num_layers)
    assert kv_bytes(num_layers, heads, width, tokens, "bf16", batch) == model.bytes(tokens, batch, "bf16")
    assert kv_bytes(num_layers, heads, width, tokens) == 2 * num_layers * heads * width * tokens * 2


# ---- figures printed by others -------------------------------------------------------------------


def test_llama_2_7b():
    """32 layers of 4,096: 512 KiB a token, 2 GiB at 4,096 tokens, 32 GiB for 16 sequences."""
    assert LLAMA_2_7B.bytes_per_token() == 524_288
    assert LLAMA_2_7B.bytes(4096) == 2 * GIB
    assert LLAMA_2_7B.bytes(4096, batch=16) == 32 * GIB


def test_gemma_3_27b_windows():
    """vLLM's page on its hybrid cache manager: at 131,072 tokens 10.4 GiB, and 62 GiB without windows."""
    heads = FullAttention(16, 128)
    windowed = CacheModel((SlidingAttention(1024, heads),) * 52 + (heads,) * 10)
    assert windowed.bytes(131_072) / GIB == pytest.approx(10.41, abs=0.005)
    assert CacheModel((heads,) * 62).bytes(131_072) == 62 * GIB


# ---- edges and bad input -------------------------------------------------------------------------


def test_an_empty_cache_is_empty():
    assert LLAMA_2_7B.bytes(0) == LLAMA_2_7B.bytes(4096, batch=0) == LLAMA_2_7B.bytes_of([]) == 0
    assert CacheModel(()).bytes(10) == 0


def test_numpy_integers_are_whole_numbers():
    numpy = pytest.importorskip("numpy")
    assert LLAMA_2_7B.bytes(numpy.int64(4096), numpy.int32(16)) == 32 * GIB


@pytest.mark.parametrize("tokens", [-1, 1.5, 4096.0, "4096", None, True, [4096], 10**16])
def test_tokens_that_are_no_count_are_refused(tokens):
    with pytest.raises(ConfigError, match=r"^tokens is .*; expected .*\.$"):
        LLAMA_2_7B.bytes(tokens)
    with pytest.raises(ConfigError, match=r"^tokens is "):
        LLAMA_2_7B.bytes_of([tokens])


@pytest.mark.parametrize("shape", [(0, 128), (8, 0), (-1, 128), ("8", 128), (8, None), (8, 128, 0)])
def test_heads_that_are_no_count_are_refused(shape):
    with pytest.raises(ConfigError, match="expected a whole number of 1 or more"):
        FullAttention(*shape)


@pytest.mark.parametrize("dtype", ["fp12", "", "int", None, 2, "fp16/", "/fp16", "fp16/fp16/fp16"])
def test_unknown_dtypes_are_refused(dtype):
    with pytest.raises(UnitError, match="unknown cache dtype"):
        LLAMA_2_7B.bytes(1, dtype=dtype)


@pytest.mark.parametrize(
    ("names", "width"),
    [(("fp32", "float32", "f32", "F32", "torch.float32"), 4), (("fp16", "half", "f16", "float16"), 2),
     (("bf16", "bfloat16", "torch.bfloat16"), 2)],
)  # fmt: skip
def test_dtype_names(names, width):
    formats = {parse_format(name) for name in names}
    assert len(formats) == 1 and formats.pop().bytes(10) == 10 * width


@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 64), st.integers(0, 200))
def test_groups_are_stored_whole(bits, group, shared, elements):
    stored = Format("test", bits, group, shared).bytes(elements)
    groups = len(range(0, elements, group))
    assert stored * 8 >= groups * (group * bits + shared) > (stored - 1) * 8
