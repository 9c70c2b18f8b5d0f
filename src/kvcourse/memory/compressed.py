"""Attention over the newest tokens and a compressed past: DeepSeek-V4."""

from dataclasses import dataclass

from kvcourse.memory.checked import whole
from kvcourse.memory.layers import Part


@dataclass(frozen=True)
class CompressedAttention:
    """One vector for each of the newest `window` tokens and one for every whole `ratio` tokens of all.

    The vector serves as key and value of all heads, so there is no factor 2 and nothing to split over
    devices. `index_dim` adds the key of an indexer for every compressed vector. `ratio` 0 keeps the window
    alone.

    Tokens that do not yet fill a `ratio` are held back, each as the two vectors from which an entry is made:
    what is averaged and its weights. With an indexer, entries overlap: both vectors are twice as wide, and
    half of each of the last `ratio` tokens stays for the next entry, its weights in fp32. Published figures
    leave all this out, as `holds_back` False does.
    """

    window: int
    ratio: int
    width: int
    index_dim: int = 0
    holds_back: bool = True

    def __post_init__(self) -> None:
        for name in ("window", "ratio", "index_dim"):
            whole(name, getattr(self, name))
        whole("width", self.width, least=1)

    def parts(self, tokens: int) -> tuple[Part, ...]:
        entries = tokens // self.ratio if self.ratio else 0
        kept = Part("key", min(tokens, self.window), 1, self.width)
        past, index = Part("key", entries, 1, self.width), Part("index", entries, 1, self.index_dim)
        return tuple(part for part in (kept, past, index, *self.held_back(tokens)) if part.elements)

    def held_back(self, tokens: int) -> tuple[Part, ...]:
        """What waits to be compressed after `tokens` tokens."""
        if not self.ratio or not self.holds_back:
            return ()
        waiting, width = tokens % self.ratio, self.width + self.index_dim
        if not self.index_dim:
            return (Part("state", waiting, 2, width),)
        last = self.ratio if tokens >= self.ratio else 0
        return (
            Part("state", waiting, 4, width),
            Part("state", last, 1, width),
            Part("state", last, 1, width, "fp32"),
        )

    def shard(self, ranks: int) -> "CompressedAttention":
        whole("ranks", ranks, least=1)
        return self

    def describe(self) -> str:
        every = f"every {self.ratio} tokens" if self.ratio > 1 else "every token"
        past = f" and one for {every}" if self.ratio else ""
        index = f", each with an indexer key of {self.index_dim}" if self.index_dim else ""
        return f"compressed attention, vectors of {self.width} for {self.window} tokens{past}{index}"
