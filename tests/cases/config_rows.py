"""Rows that hold a published configuration: what its cache takes, used and reserved, at two lengths.

"Used" is what the model needs; "reserved" what a server sets aside that keeps windowed layers whole.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from cases import facts
from cases.in_transformers import beyond
from cases.params import Uncovered, Unreadable
from cases.shapes import Shape
from kvcourse.errors import ConfigError, shown
from kvcourse.memory import CacheModel, count_parameters, from_config, parse_format, parse_storage
from kvcourse.memory.reserved import reserved

LENGTHS = (4_096, 32_768)


@dataclass(frozen=True)
class Sized:
    """One row: its sizes, or the reason for having none; and what contradicts them, if anything does."""

    name: str
    model: CacheModel | None = None
    dtype: str = "bf16"
    parameters: int | None = None
    refused: str = ""
    wrong: str = ""

    def sizes(self) -> list[tuple[int, int, int]]:
        """Tokens, bytes used and bytes reserved."""
        whole = reserved(self.model)
        return [(n, self.model.bytes(n, dtype=self.dtype), whole.bytes(n, dtype=self.dtype)) for n in LENGTHS]

    def growing(self, tokens: int) -> int:
        """Bytes used without recurrent states and what waits to be compressed: what some call the cache."""
        return Shape(self.model, parse_storage(self.dtype)).without_states().bytes(tokens, dtype=self.dtype)

    def held(self, tokens: int) -> int:
        """Bytes that Transformers' DynamicCache holds between two steps (`in_transformers.py`)."""
        more = sum(count * beyond(layer, tokens) for layer, count in self.model.groups())
        return self.model.bytes(tokens, dtype=self.dtype) + parse_format(self.dtype).bytes(abs(more)) * (
            1 if more > 0 else -1
        )

    def line(self) -> str:
        if self.model is None:
            return f"{'refused':>15} {self.refused}  [{self.name}]"
        columns = "  ".join(f"{used:>15,} {whole:>15,}" for _, used, whole in self.sizes())
        return f"{columns}  {self.dtype}  [{self.name}]" + (f"  <-- {self.wrong}" if self.wrong else "")

    def as_json(self) -> str:
        if self.model is None:
            return json.dumps({"model": self.name, "refused": self.refused})
        return json.dumps(
            {
                "model": self.name,
                "model_type": self.model.model_type,
                "dtype": self.dtype,
                "used": {str(n): used for n, used, _ in self.sizes()},
                "reserved": {str(n): whole for n, _, whole in self.sizes()},
                "held_by_transformers": {str(n): self.held(n) for n in LENGTHS},
                "keys_and_values": {str(n): self.growing(n) for n in LENGTHS},
                "layers": [{"count": n, "kind": layer.describe()} for layer, n in self.model.groups()],
                "parameters": self.parameters,
                "wrong": self.wrong or None,
            }
        )


def measure(row: dict, oracle: Callable[[dict], str] | None = None) -> Sized:
    """What one row's model takes. Raises Unreadable for a row that has neither a configuration nor facts.

    `oracle` gets the configuration and says in words what contradicts our reading of it, if anything does.
    """
    name = shown(row.get("model", ""), 80)[1:-1]
    config, known = row.get("config"), row.get("facts")
    if (config is None and not isinstance(known, dict)) or (
        config is not None and not isinstance(config, dict)
    ):
        raise Unreadable(f"config is {shown(config)} and facts are {shown(known)}; expected a JSON object")
    try:
        raw = facts.as_config(known) if config is None else config
        model = from_config(raw)
    except (ConfigError, Uncovered) as reason:
        return Sized(name, refused=str(reason))
    wrong = oracle(raw) if oracle is not None and config is not None else ""
    told = row.get("params_counted_on_meta")
    counted = _parameters(raw) if config is not None else None
    if told is not None and counted is not None and counted != told:
        wrong = f"{counted:,} parameters, where {shown(told)} were counted"
    return Sized(name, model, model.dtype or "bf16", counted, wrong=wrong)


def _parameters(raw: dict) -> int | None:
    try:
        return count_parameters(raw).total
    except ConfigError:
        return None
