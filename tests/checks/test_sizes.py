"""References for cache arithmetic: against real caches, the registry's own reader, and each other."""

import random

import pytest

from kvcourse import registry
from kvcourse.caches import PreallocatedCache
from kvcourse.checks import right_value
from kvcourse.checks.oracles import draw_config
from kvcourse.checks.sizes import (
    accepted,
    cache_bytes,
    draw_distinct,
    draw_raw,
    published,
    says,
    slips,
)
from kvcourse.configs import ModelConfig
from kvcourse.memory import from_config


@pytest.mark.parametrize("seed", range(3))
def test_measured_bytes_are_those_of_a_real_cache(seed):
    rng = random.Random(seed)
    config, tokens, batch = draw_config(rng, 2), rng.randint(1, 5), rng.randint(1, 3)
    assert cache_bytes(config, tokens, 4, batch) == PreallocatedCache(config, tokens, batch).nbytes
    assert cache_bytes(config, tokens) == right_value("kv_bytes", config=config, tokens=tokens, dtype_bytes=2)


def test_published_models_keep_every_token_as_the_planner_says():
    assert len(published()) >= 40 and "Gemma-3-27B" not in published() and "DeepSeek-V3" not in published()
    for name, shape in published().items():
        model = from_config(registry.find(name).config)
        assert model.bytes(7) == cache_bytes(shape, 7), name
        assert model.bytes_per_token(held=10**6) == cache_bytes(shape, 1), name


@pytest.mark.parametrize("kind", ["grouped", "plain", "wide", "multi_query", "nested"])
def test_drawn_configurations_are_read_as_they_are_meant(kind):
    for seed in range(20):
        raw, shape = draw_raw(random.Random(seed), kind)
        read = ModelConfig.from_dict(raw)
        assert [getattr(read, name) for name in ("num_layers", "num_heads", "num_kv_heads", "head_dim")] == [
            getattr(shape, name) for name in ("num_layers", "num_heads", "num_kv_heads", "head_dim")
        ]
        assert (kind in ("wide", "nested")) == (shape.hidden_size != shape.num_heads * shape.head_dim)


def test_slips_of_published_figures():
    """163,840: LMCache issue 688. 1,605,632: vllm-project/vllm issue 22291."""
    assert accepted(published()["Qwen3-32B"], 2, 163_840) == [frozenset("c")]
    assert set(accepted(published()["Qwen2.5-7B"], 1, 1_605_632)) == {frozenset("be"), frozenset("de")}
    assert accepted(published()["Llama-2-7B"], 2, 524_288) == [frozenset("r")]
    assert "262,144" in says(published()["Qwen3-32B"], 2, frozenset("r"))
    assert "two letters are the most" in says(published()["Qwen3-32B"], 2, frozenset("abe"))


def test_distinct_shapes_tell_every_slip_apart():
    for seed in range(20):
        config = draw_distinct(random.Random(seed))
        for letters, value in slips(config, 2).items():
            assert accepted(config, 2, value) == [letters]
        assert slips(config, 2)[frozenset("r")] == cache_bytes(config, 1)
