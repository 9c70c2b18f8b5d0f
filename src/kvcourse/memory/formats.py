"""How a cached number is stored: a plain float, or a few bits with a scale that a group of numbers shares.

The scales are part of the cache: 4 bits with a 16-bit scale for every 32 numbers are 4.5 bits a number, and
3.56 times smaller than fp16, not 4 times.
"""

from dataclasses import dataclass

from kvcourse.errors import ConfigError, UnitError, shown
from kvcourse.units import dtype_bytes


@dataclass(frozen=True)
class Format:
    """`bits` a number, and `shared_bits` (scale, zero point) for each started group of `group` numbers.

    `group` None shares them over one head's vector, whatever its width.
    """

    name: str
    bits: int
    group: int | None = 1
    shared_bits: int = 0
    plain_tail: int = 0  # of a latent's numbers, so many at the end stay 16 bits wide

    def bytes(self, elements: int, vectors: int = 1) -> int:
        """Bytes of one row: `elements` numbers in `vectors` equal head vectors; the last group is whole."""
        if self.plain_tail:
            return self._latent_bytes(elements, vectors)
        if self.group is None:
            return vectors * -(-(elements // max(vectors, 1) * self.bits + self.shared_bits) // 8)
        groups = -(-elements // self.group)
        return -(-groups * (self.group * self.bits + self.shared_bits) // 8)

    def _latent_bytes(self, elements: int, vectors: int) -> int:
        if vectors != 1 or elements <= self.plain_tail or (elements - self.plain_tail) % self.group:
            raise ConfigError(
                f"a row of {vectors} x {elements // max(vectors, 1)} numbers cannot be kept as {self.name}; "
                f"expected one latent of {self.group}, 256, ... numbers and {self.plain_tail} rotary ones."
            )
        groups = (elements - self.plain_tail) // self.group
        return groups * (self.group * self.bits + self.shared_bits) // 8 + 2 * self.plain_tail

    @property
    def bits_per_element(self) -> float | None:
        """Average over full groups, scales included; None where it hangs on the width of a row."""
        return None if self.group is None or self.plain_tail else self.bits + self.shared_bits / self.group

    @property
    def is_float(self) -> bool:
        """Whether numbers stand alone, 16 bits or more each."""
        return self.bits >= 16


# One name for each: PyTorch's long names and ggml's short ones beside those of units.py.
_PLAIN = {"f32": "fp32", "float": "fp32", "float32": "fp32", "f16": "fp16", "half": "fp16", "float16": "fp16",
          "bfloat16": "bf16"}  # fmt: skip

# ggml's block formats (ggml-common.h): 32 numbers and an fp16 scale; the _1 kinds add an fp16 minimum. q8_kv
# and q6_0 are ik_llama.cpp's. fp8 has one scale a tensor or head, outside the cache (vLLM, "Quantized KV
# Cache"). fp8_ds_mla is vLLM's for DeepSeek's latents: 512 fp8 numbers with an fp32 scale for every 128, and
# 64 rotary ones in bf16, 656 bytes. nvfp4: 16 numbers and an fp8 scale; mxfp4: 32 and an 8-bit exponent (OCP
# MX 1.0).
_GROUPED = {
    known.name: known
    for known in (
        Format("fp8", 8), Format("int8", 8),
        Format("q8_0", 8, 32, 16), Format("q8_1", 8, 32, 32), Format("q8_kv", 8, None, 64),
        Format("q6_0", 6, 32, 16), Format("q5_0", 5, 32, 16), Format("q5_1", 5, 32, 32),
        Format("q4_0", 4, 32, 16), Format("q4_1", 4, 32, 32), Format("iq4_nl", 4, 32, 16),
        Format("nvfp4", 4, 16, 8), Format("mxfp4", 4, 32, 8), Format("fp8_ds_mla", 8, 128, 32, 64),
    )
}  # fmt: skip
# Weights only: llama.cpp's super-blocks of 256 numbers, which no cache is kept in, and 4 bits with an fp16
# scale and a 4-bit zero point for every 128 (AWQ, GPTQ).
_WEIGHTS = {
    known.name: known
    for known in (
        Format("q2_k", 2, 256, 160), Format("q3_k", 3, 256, 112), Format("q4_k", 4, 256, 128),
        Format("q5_k", 5, 256, 128), Format("q6_k", 6, 256, 144), Format("int4_g128", 4, 128, 20),
    )
}  # fmt: skip
_SAME = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "e4m3": "fp8", "e5m2": "fp8", "f8": "fp8", "float8": "fp8",
         "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "fp8_e4m3fn": "fp8"}  # fmt: skip


def parse_format(name: object) -> Format:
    """The format called `name`: a dtype ("bf16", a torch dtype) or a quantized format ("q8_0"). UnitError."""
    key = str(name).strip().lower().removeprefix("torch.")
    key = _PLAIN.get(_SAME.get(key, key), _SAME.get(key, key))
    if key in _GROUPED:
        return _GROUPED[key]
    try:
        return Format(key, 8 * dtype_bytes(key))
    except UnitError:
        raise UnitError(
            f"unknown cache dtype {shown(name)}; expected one of {', '.join(known_formats())}."
        ) from None


def parse_weight_format(name: object) -> Format:
    """The same for weights, which may also be K-quants ("q4_k") or 4 bits with scales. UnitError."""
    key = str(name).strip().lower()
    return _WEIGHTS[key] if key in _WEIGHTS else parse_format(name)


def known_formats() -> tuple[str, ...]:
    """Names that `parse_format` understands, one for each format."""
    return ("fp32", "fp16", "bf16", *_GROUPED)


@dataclass(frozen=True)
class Storage:
    """The formats of a cache: of its keys and of its values."""

    key: Format
    value: Format

    @property
    def state(self) -> Format:
        """What is neither stays a float: a quantized cache quantizes keys and values."""
        return self.key if self.key.is_float else parse_format("fp16")

    @property
    def index(self) -> Format:
        """Keys of an indexer: as other keys, but beside vLLM's latents in fp8 with a scale for every 128."""
        return Format("fp8 with scales", 8, 128, 32) if self.key.plain_tail else self.key

    @property
    def name(self) -> str:
        return self.key.name if self.key == self.value else f"{self.key.name}/{self.value.name}"


def parse_storage(dtype: "Storage | Format | str") -> Storage:
    """Storage of a cache: "fp16", or "q8_0/f16" where keys and values differ. Raises UnitError."""
    if isinstance(dtype, Storage):
        return dtype
    if isinstance(dtype, Format):
        return Storage(dtype, dtype)
    key, slash, value = str(dtype).partition("/")
    return Storage(parse_format(key), parse_format(value if slash else key))
