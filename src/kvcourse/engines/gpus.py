"""GPUs by name: how much memory one has and how fast it reads it. `gpus.toml` is read at first use."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kvcourse.errors import UnitError, UserError, shown
from kvcourse.units import MIB, parse_size


@dataclass(frozen=True)
class Gpu:
    """One device: bytes of memory in all and, where it is known, bytes that it reads a second."""

    name: str
    memory: int
    bandwidth: float | None
    source: str


def find_gpu(text: str) -> Gpu:
    """The GPU called `text`, or one of a size such as "80 GiB". Raises UserError for neither."""
    known = _index().get(_key(text))
    if known is not None:
        return known
    if not text[:1].isdigit():
        raise UserError(
            f"no GPU {shown(text)} here; expected one of {', '.join(gpu.name for gpu in gpus())}, or a size "
            'such as "80 GiB".'
        )
    if text.strip().isdigit():
        raise UnitError(f"a GPU of {shown(text)} what? Expected a unit, such as {text.strip()} GiB.")
    size = parse_size(text)
    if not size:
        raise UnitError(f"a GPU of {shown(text)} holds nothing; expected a size above 0.")
    return Gpu(text.strip(), size, None, "as given")


@cache
def gpus() -> tuple[Gpu, ...]:
    """All that are known by name, smallest first."""
    return tuple(Gpu(e["name"], e["memory_mib"] * MIB, e["bandwidth"], e["source"]) for e in _entries())


@cache
def _entries() -> list[dict]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("gpus.toml").read_text(encoding="utf-8"))["gpu"]


@cache
def _index() -> dict[str, Gpu]:
    names = {e["name"]: [e["name"], *e.get("aliases", ())] for e in _entries()}
    return {_key(alias): gpu for gpu in gpus() for alias in names[gpu.name]}


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.lower()).removeprefix("nvidia").removeprefix("geforce")
