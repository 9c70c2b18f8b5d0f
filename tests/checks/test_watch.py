"""The watched model answers as the decoder does and counts what it is fed, however the ids come."""

import pytest
import torch

from kvcourse.caches import GrowingCache
from kvcourse.checks import WatchedModel
from kvcourse.decoder import tiny_model


def test_counts_rows_and_passes_everything_on():
    model = tiny_model(seed=3)
    watched = WatchedModel(tiny_model(seed=3))
    cache, other = GrowingCache(model.config), GrowingCache(model.config)
    for ids in (torch.tensor([[1, 2, 3]]), torch.tensor([4]), [[5, 6]]):
        got, want = watched.forward(ids, cache=cache), model.forward(ids, cache=other)
        assert got.shape == want.shape and (got - want).abs().max() <= 0
    assert watched.forward([1, 2, 3, 4], last_only=True).shape == (1, 1, model.config.vocab_size)
    assert watched.fed == [3, 1, 2, 4]
    assert watched.config == model.config


def test_offers_nothing_else():
    assert not hasattr(WatchedModel(tiny_model()), "generate")


def test_a_pass_that_raises_is_counted():
    watched = WatchedModel(tiny_model())
    for cache in (object(), "no cache"):
        with pytest.raises(Exception):  # noqa: B017
            watched.forward(torch.tensor([[1, 2, 3]]), cache=cache)
    assert watched.fed == [3, 3]


class Asked:
    """A cache that notes which of its attributes are asked for, as each is a message between processes."""

    def __init__(self, cache):
        self.cache, self.names = cache, []

    def __getattr__(self, name):
        self.names.append(name)
        return getattr(self.cache, name)


def test_a_cache_is_asked_once_for_what_stays_the_same():
    model = tiny_model(seed=3)
    watched = WatchedModel(model)
    one, two = Asked(GrowingCache(model.config)), Asked(GrowingCache(model.config))
    for cache, ids in ((one, [1, 2]), (two, [3]), (two, [5, 6]), (two, [1])):
        watched.forward([ids], cache=cache)
    assert (one.cache.length, two.cache.length) == (2, 4)
    assert [two.names.count(name) for name in ("config", "batch", "begin", "attend")] == [1, 1, 1, 4]
    got = watched.forward([[4]], cache=one)
    want = model.forward([[1, 2, 4]])[:, -1:]
    assert (got - want).abs().max() <= 1e-4
