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

    def forward(self, ids: Any, cache: Any = None, last_only: bool = False) -> Any:
        """Logits `(B, T, vocab)` of `ids` `(B, T)` or `(T,)`; `(B, 1, vocab)` with `last_only`."""
        import torch

        shape = torch.as_tensor(ids).shape
        self.fed.append(shape[-1] if shape else 1)
        return self._model.forward(ids, cache=cache, last_only=last_only)
