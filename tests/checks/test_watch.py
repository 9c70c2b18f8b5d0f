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


class Mine(GrowingCache):
    """A cache of a learner's own: it cannot take anything back, and rebinds a method as it goes."""

    abandon = property()

    def begin(self, ids):
        start, self.attend = super().begin(ids), self._attend
        return start

    def _attend(self, layer, q, k, v):
        return GrowingCache.attend(self, layer, q, k, v)


def test_a_cache_of_the_learner_s_own_is_asked_when_it_is_needed():
    model = tiny_model(seed=3)
    watched, cache = WatchedModel(model), Mine(model.config)
    with pytest.raises(AttributeError):
        cache.abandon  # noqa: B018
    watched.forward([[1, 2, 3]], cache=cache)
    got, want = watched.forward([[4]], cache=cache), model.forward([[1, 2, 3, 4]])[:, -1:]
    assert (got - want).abs().max() <= 1e-4
