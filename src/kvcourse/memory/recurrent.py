"""Layers with a state in place of a cache: the same size after one token and after a million."""

from dataclasses import dataclass, replace

from kvcourse.errors import ConfigError
from kvcourse.memory.checked import whole
from kvcourse.memory.layers import Part


@dataclass(frozen=True)
class RecurrentState:
    """`heads` states of `head_numbers`, and the newest inputs of a short convolution.

    Mamba (arXiv:2312.00752): one head a channel, d_state numbers each. Mamba-2: head width x d_state. Gated
    delta net: key width x value width. A convolution over n tokens keeps `conv_width` = n - 1 of each.
    `dtype` is that of the state where the model fixes it; the convolution's inputs are of the cache's own.
    """

    heads: int
    head_numbers: int
    conv_channels: int = 0
    conv_width: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        for name in ("heads", "head_numbers", "conv_channels", "conv_width"):
            whole(name, getattr(self, name))

    def parts(self, tokens: int) -> tuple[Part, ...]:
        state = Part("state", 1, self.heads, self.head_numbers, self.dtype)
        inputs = Part("state", self.conv_width, 1, self.conv_channels)
        return tuple(part for part in (state, inputs) if part.elements)

    def shard(self, ranks: int) -> "RecurrentState":
        whole("ranks", ranks, least=1)
        if self.heads % ranks or self.conv_channels % ranks:
            raise ConfigError(
                f"{self.heads} recurrent heads cannot be split over {ranks} devices; expected a divisor."
            )
        return replace(self, heads=self.heads // ranks, conv_channels=self.conv_channels // ranks)

    def describe(self) -> str:
        kept = f"{self.heads} states of {self.head_numbers}" if self.heads * self.head_numbers else ""
        inputs = f"{self.conv_width} inputs of {self.conv_channels} channels" if self.conv_width else ""
        return "recurrent, " + " and ".join(filter(None, (kept, inputs)))
