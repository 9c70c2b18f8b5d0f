"""Bytes: integers inside, GiB (1024) for people with GB (1000) beside it. Units follow IEC 80000-13."""

import re
from decimal import Decimal

from kvcourse.errors import UnitError, shown

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12

_UNITS = {
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB,
    "kb": KB, "mb": MB, "gb": GB, "tb": TB,
    "": 1, "b": 1, "byte": 1, "bytes": 1,
}  # fmt: skip
_SIZE = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([A-Za-z]*)\s*")

_DTYPE_BYTES = {
    "fp32": 4, "float32": 4,
    "fp16": 2, "float16": 2, "half": 2,
    "bf16": 2, "bfloat16": 2,
}  # fmt: skip


def parse_size(text: str | int) -> int:
    """Bytes in a size such as "2 GiB", "2.15 GB", "512 KiB" or "1024", rounded to the nearest byte.

    A unit must say which "G" it means: "2 G" is refused, and so is "2 Gb", which reads as bits.
    """
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    expected = 'expected a number of 0 or more and a unit, such as "2 GiB", "2.15 GB" or "512 KiB"'
    if match is None:
        raise UnitError(f"cannot read the size {shown(text)}; {expected}.")
    number, unit = match.groups()
    if unit[:1].upper() in {"K", "M", "G", "T"} and len(unit) == 1:
        binary, decimal = f"{unit.upper()}iB", "kB" if unit in "kK" else f"{unit.upper()}B"
        raise UnitError(
            f"the size {shown(text)} does not say which: write {binary} (1024) or {decimal} (1000)."
        )
    if len(unit) == 2 and unit[0].isupper() and unit[1] == "b":
        raise UnitError(f"the size {shown(text)} reads as bits; write {unit[0]}B for bytes.")
    if unit.lower() not in _UNITS:
        raise UnitError(f"the size {shown(text)} has the unknown unit {shown(unit)}; {expected}.")
    size = Decimal(number) * _UNITS[unit.lower()]
    if _UNITS[unit.lower()] == 1 and "." in number:
        raise UnitError(f"the size {shown(text)} is a fraction of a byte; {expected}.")
    return int(size.to_integral_value())


def format_size(n: int, base: int = 2) -> str:
    """`n` bytes to two decimals: "2.00 GiB" (base 2), "2.15 GB" (base 10), "512 B" below one kilo."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise UnitError(f"a number of bytes is a whole number of 0 or more; got {shown(n)}.")
    if base not in (2, 10):
        raise UnitError(f"sizes are shown by 1024 (base 2) or by 1000 (base 10); got base {shown(base)}.")
    step, names = (1024, ("KiB", "MiB", "GiB", "TiB")) if base == 2 else (1000, ("kB", "MB", "GB", "TB"))
    if n < step:
        return f"{n} B"
    size, power = step, 0
    # The last digit may round up to a whole step: 2**20 - 1 bytes read "1.00 MiB", not "1024.00 KiB".
    while power < 3 and 200 * n + size >= 200 * step * size:
        size, power = size * step, power + 1
    hundredths = (200 * n + size) // (2 * size)
    return f"{hundredths // 100}.{hundredths % 100:02d} {names[power]}"


def both(n: int) -> str:
    """`n` bytes for people: "2.00 GiB (2.15 GB)"; below 1000 bytes there is one way to say it."""
    return format_size(n) if n < KB else f"{format_size(n)} ({format_size(n, base=10)})"


def dtype_bytes(dtype: object) -> int:
    """Bytes of one element: 4 for fp32, 2 for fp16 and bf16. Takes a name or a torch dtype."""
    name = str(dtype).lower().removeprefix("torch.")
    if name not in _DTYPE_BYTES:
        raise UnitError(f"unknown dtype {shown(dtype)}; expected one of {', '.join(_DTYPE_BYTES)}.")
    return _DTYPE_BYTES[name]
