"""Our formula and our own caches: two implementations that must agree to the byte."""

import pytest

from kvcourse.memory import from_config

torch = pytest.importorskip("torch")

from kvcourse.caches import GrowingCache, PreallocatedCache  # noqa: E402
from kvcourse.decoder import tiny_model  # noqa: E402


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("tokens", [1, 15, 16, 17])
def test_caches_hold_what_the_formula_says(heads, tokens):
    model = tiny_model(num_heads=heads[0], num_kv_heads=heads[1], head_dim=10)
    shape = from_config(model.config)
    growing = GrowingCache(model.config, batch=2)
    reserved = PreallocatedCache(model.config, 32, batch=2)
    for cache in (growing, reserved):
        model.forward([[5] * tokens] * 2, cache=cache)
        assert cache.used_bytes == shape.bytes(tokens, 2, "fp32")
    assert growing.nbytes == shape.bytes(tokens, 2, "fp32")
    assert reserved.nbytes == shape.bytes(32, 2, "fp32")


def test_an_unused_growing_cache_is_empty():
    model = tiny_model()
    assert GrowingCache(model.config).nbytes == from_config(model.config).bytes(0) == 0


def test_after_generating_the_last_token_is_not_held():
    model = tiny_model()
    cache = GrowingCache(model.config)
    model.generate([1, 2, 3, 4, 5], 6, cache=cache)
    assert cache.used_bytes == from_config(model.config).bytes(5 + 6 - 1, dtype="fp32")
