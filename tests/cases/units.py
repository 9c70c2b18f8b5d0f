"""The unit of a row: what one of it is worth. Plain "GB" may be 10^9 or 2^30 bytes; both are tried."""

import re
from dataclasses import dataclass
from fractions import Fraction

from cases.params import Uncovered

_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"([KkMGT]?)(i?)(?:B|bytes?)(?:\s*\(\s*=?\s*([^)]*?)\s*\))?")
_PER = re.compile(
    r"\s*(?:/|per)\s*(token|block|layer|sequence|request|rank|gpu|device|slot|state|seq)s?", re.I
)
_MANY = re.compile(
    r"([KkMm])?\s*(?:(?:GPU|gpu|KV|kv) )?"
    r"(tokens?|slots|blocks?|requests?|sequences?|seqs?|cells?|users?)(?:\s*\(\w+\))?"
)
_PLAIN = {
    "x": "ratio", "times": "ratio", "x too high": "too high", "x too low": "too low", "%": "percent",
    "% too high": "% too high", "% too low": "% too low", "error": "verdict", "kv heads/device": "count",
    "kv heads/rank": "count", "kv heads/gpu": "count", "kv heads": "count", "heads": "count",
    "copies": "ratio",
}  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """One reading of a unit: what it counts ("bytes", "tokens", "ratio", ...) and how much one of it is."""

    counts: str
    size: Fraction
    reading: str


def readings(unit: str) -> list[Unit]:
    """Every meaning that the text of a unit can have. Raises Uncovered for an unknown one."""
    text = unit.strip()
    if text.lower() in _PLAIN:
        return [Unit(_PLAIN[text.lower()], Fraction(1), text)]
    many = _MANY.fullmatch(text)
    if many:
        prefix, counted = many.groups()
        counted = {"slots": "tokens", "cells": "tokens"}.get(counted, counted).rstrip("s") + "s"
        counted = {"seqs": "requests", "sequences": "requests", "users": "requests"}.get(counted, counted)
        if prefix is None:
            return [Unit(counted, Fraction(1), counted)]
        powers = {"k": (10**3, 2**10), "m": (10**6, 2**20)}[prefix.lower()]
        return [Unit(counted, Fraction(power), f"{power:,} {counted}") for power in powers]
    size = _SIZE.fullmatch(_PER.sub("", text))
    if not size:
        raise Uncovered(f"unit {unit!r}")
    prefix, binary, told = size.group(1).upper(), size.group(2), size.group(3)
    if told is not None:
        return [_told(prefix, told, unit)]
    meanings = [Unit("bytes", Fraction(_BINARY[prefix]), f"{prefix}iB" if prefix else "bytes")]
    if not binary and prefix:
        meanings.append(Unit("bytes", Fraction(_DECIMAL[prefix]), f"{prefix}B of 1000s"))
    return meanings


def _told(prefix: str, told: str, unit: str) -> Unit:
    """The meaning in brackets: "GB(=GiB)", "MB(1e6)"."""
    if told == f"{prefix}iB" or told in ("1024", "2^30", "binary"):
        return Unit("bytes", Fraction(_BINARY[prefix]), f"{prefix}iB")
    if re.fullmatch(r"1e\d+|10\^\d+|1000|decimal", told):
        power = re.fullmatch(r"(?:1e|10\^)(\d+)", told)
        if power is None or 10 ** int(power.group(1)) == _DECIMAL[prefix]:
            return Unit("bytes", Fraction(_DECIMAL[prefix]), f"{prefix}B of 1000s")
    raise Uncovered(f"unit {unit!r}")
