"""How a cached number is stored: a plain float, or a few bits with a scale that a group of numbers shares.

The scales are part of the cache: 4 bits with a 16-bit scale for every 32 numbers are 4.5 bits a number, and
3.56 times smaller than fp16, not 4 times.
"""

from dataclasses import dataclass

from kvcourse.errors import UnitError, shown
from kvcourse.units import dtype_bytes


@dataclass(frozen=True)
class Format:
    """`bits` a number, and `shared_bits` (scale, zero point) for each started group of `group` numbers."""

    name: str
    bits: int
    group: int = 1
    shared_bits: int = 0

    def bytes(self, elements: int) -> int:
        """Bytes of one row of `elements` numbers; the last group is stored whole."""
        groups = -(-elements // self.group)
        return -(-groups * (self.group * self.bits + self.shared_bits) // 8)

    @property
    def bits_per_element(self) -> float:
        """Average over full groups, scales included."""
        return self.bits + self.shared_bits / self.group


# One name for each: PyTorch's long names and ggml's short ones beside those of units.py.
_PLAIN = {"f32": "fp32", "float": "fp32", "float32": "fp32", "f16": "fp16", "half": "fp16", "float16": "fp16",
          "bfloat16": "bf16"}  # fmt: skip


def parse_format(name: object) -> Format:
    """The format called `name`: a dtype name such as "bf16", or a torch dtype. Raises UnitError."""
    key = str(name).strip().lower().removeprefix("torch.")
    key = _PLAIN.get(key, key)
    try:
        return Format(key, 8 * dtype_bytes(key))
    except UnitError:
        raise UnitError(
            f"unknown cache dtype {shown(name)}; expected one of {', '.join(known_formats())}."
        ) from None


def known_formats() -> tuple[str, ...]:
    """Names that `parse_format` understands, one for each format."""
    return ("fp32", "fp16", "bf16")


@dataclass(frozen=True)
class Storage:
    """The formats of a cache: keys, values, and whatever is neither (recurrent states), which stay floats."""

    key: Format
    value: Format

    @property
    def name(self) -> str:
        return self.key.name if self.key == self.value else f"{self.key.name}/{self.value.name}"


def parse_storage(dtype: "Storage | str | object") -> Storage:
    """Storage of a cache: "fp16", or "q8_0/f16" where keys and values differ. Raises UnitError."""
    if isinstance(dtype, Storage):
        return dtype
    if isinstance(dtype, Format):
        return Storage(dtype, dtype)
    key, _, value = str(dtype).partition("/")
    return Storage(parse_format(key), parse_format(value or key))
