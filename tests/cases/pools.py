"""The memory that a row sets aside for caches: given, or what weights and activations leave of a share."""

import re
from fractions import Fraction

from cases.params import Params, Uncovered

_UNITS = {
    "gib": [(2**30, "")], "mib": [(2**20, "")], "bytes": [(1, "")],
    "gb": [(2**30, "GB of 1024s"), (10**9, "GB of 1000s")],
    "mb": [(2**20, "MB of 1024s"), (10**6, "MB of 1000s")],
}  # fmt: skip
_POOL = "avail|available|pool|kv_mem|kv_memory|kv_pool|kv_cache|kv|budget|free|memory"
_TOTAL, _WEIGHTS = "total|gpu|gpu_memory|vram", "weights|weight|model"
_PEAK = "peak|activations|activation|overhead|other"
_SHARE = ("gpu_memory_utilization", "utilization", "frac", "fraction", "util")


def pool_bytes(params: Params) -> list[tuple[Fraction, str]]:
    """Bytes for caches: each reading with its name. A key that names no unit holds GB, of 1000s or 1024s."""
    given = _memory(params, _POOL)
    if given:
        return given
    share, total, weights = params.number(*_SHARE), _memory(params, _TOTAL), _memory(params, _WEIGHTS)
    if share is None or not total or not weights:
        raise Uncovered("no key for the memory of the pool, such as 'pool_gib'")
    peak = _memory(params, _PEAK) or [(Fraction(0), "")]
    # Of one row's figures all are in one unit, so the readings go together.
    pools = [
        (share * t - w - p, told) for (t, told), (w, _), (p, _) in zip(total, weights, peak, strict=True)
    ]
    return [(pool, told) for pool, told in pools if pool >= 0]


def _memory(params: Params, kinds: str) -> list[tuple[Fraction, str]]:
    for name in params.raw:
        found = re.fullmatch(rf"(?:{kinds})(?:_(gib|gb|mib|mb|bytes))?", name)
        if found:
            number = params.number(name)
            return [(number * size, told) for size, told in _UNITS[found.group(1) or "gb"]]
    return []
