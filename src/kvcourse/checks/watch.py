"""A model that notes what it is fed: the count that tells a generation with a cache from one without."""

from typing import Any


class WatchedModel:
    """A decoder's `forward` and `config`, nothing else; `fed` lists each call's rows (tokens a sequence).

    A test lends it to the learner: `share(watched, methods=["forward"], attrs=["config"])`. The rows are
    counted on entry, so that a pass that raises counts too, and the list stays with the test.
    """

    def __init__(self, model: Any) -> None:
        self.config = model.config
        self.fed: list[int] = []
        self._model = model
        self._cache: LearnersCache | None = None

    def forward(self, ids: Any, cache: Any = None, last_only: bool = False) -> Any:
        """Logits `(B, T, vocab)` of `ids` `(B, T)` or `(T,)`; `(B, 1, vocab)` with `last_only`."""
        import torch

        shape = torch.as_tensor(ids).shape
        self.fed.append(shape[-1] if shape else 1)
        return self._model.forward(ids, cache=self._asked_once(cache), last_only=last_only)

    def _asked_once(self, cache: Any) -> Any:
        if cache is None or not hasattr(cache, "attend"):  # the model says what is wrong with it
            return cache
        if self._cache is None or self._cache.cache is not cache:
            self._cache = LearnersCache(cache)
        return self._cache


class LearnersCache:
    """A learner's cache, which may be in another process: what stays the same of it is asked for once."""

    def __init__(self, cache: Any) -> None:
        self.cache, self.config, self.batch = cache, cache.config, cache.batch
        self.begin, self.attend, self.abandon = cache.begin, cache.attend, cache.abandon

    @property
    def length(self) -> int:
        """Tokens stored, a sequence."""
        return self.cache.length
