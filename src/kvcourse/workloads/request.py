"""One request, as far as memory is concerned: when it comes and how many tokens it has."""

from typing import NamedTuple


class Request(NamedTuple):
    """`prompt` and `output` in tokens; `arrival` in seconds from the start."""

    arrival: float
    prompt: int
    output: int

    @property
    def total(self) -> int:
        """Tokens of the sequence in the end."""
        return self.prompt + self.output
