"""llama.cpp's start-up log, and its relatives': cells, layers, formats, and the MiB of K and of V.

A model with windows has two such caches, one for each kind of layer. The shape stands in the log itself
(n_embd_k_gqa), so the sizes can be recomputed without knowing the model.
"""

import re
from typing import NamedTuple

from kvcourse.engines.log_lines import COUNT, SIZE, Reading, Rounded, last, number, positive
from kvcourse.errors import UnitError
from kvcourse.memory import parse_format
from kvcourse.units import MIB

_SIDES = rf"K \((\w+)\):\s*{SIZE} MiB, V \((\w+)\):\s*{SIZE} MiB"
_CACHE = re.compile(
    rf"size\s*=\s*{SIZE} MiB \(\s*{COUNT} cells,\s*{COUNT} layers,\s*[0-9]+(?:/\s*{COUNT})? seqs\), {_SIDES}"
)
_SELF = rf"KV self size\s*=\s*{SIZE} MiB, {_SIDES}"


class _Cache(NamedTuple):
    """One line of sizes as printed; `streams` copies of `cells` cells, one where the slots share a buffer."""

    size: str
    cells: int
    layers: int
    streams: int
    key_format: str
    key_size: str
    value_format: str
    value_size: str


def read(text: str) -> Reading | None:
    """What the log says, or None where it is not llama.cpp's."""
    rows = [_Cache(size, number(cells), number(layers), number(streams or "1"), kt, k, vt, v)
            for size, cells, layers, streams, kt, k, vt, v in _CACHE.findall(text)]  # fmt: skip
    if not rows and (found := last(_SELF, text)) is not None:
        cells = last(rf"kv_size = {COUNT}", text) or last(rf"\bn_ctx\s*= {COUNT}", text)
        layers = last(rf"\bn_layer\s*= {COUNT}", text)
        size, *sides = found.groups()
        rows = [_Cache(size, positive(cells, 0), positive(layers, 0), 1, *sides)]
    if not rows:
        return None
    reading = Reading("llama.cpp")
    name = last(r"general\.name\s+(?:str\s+)?= (.{1,200})", text)
    reading.model = name and name[1].strip()
    # Caches of different lengths are a model with windows: a token then has no single price.
    reading.tokens = rows[0].cells * rows[0].streams if len(rows) == 1 else None
    whole = reading.pool = sum_of([row.size for row in rows])
    first = rows[0]
    same = first.key_format == first.value_format
    reading.cache_dtype = first.key_format if same else f"{first.key_format}/{first.value_format}"
    for row in rows:
        _sides(reading, text, row)
    buffers = re.findall(rf"KV buffer size\s*=\s*{SIZE} MiB", text)
    if buffers:
        reading.check(
            sum_of(buffers).meets(whole.low, whole.high),
            f"KV buffers of {' + '.join(buffers)} MiB; printed {' + '.join(r.size for r in rows)} MiB in all",
        )
    return reading


def sum_of(sizes: list[str]) -> Rounded:
    """Several printed MiB together."""
    total = Rounded.parse(sizes[0], "MiB")
    for size in sizes[1:]:
        total += Rounded.parse(size, "MiB")
    return total


def _sides(reading: Reading, text: str, row: _Cache) -> None:
    """K and V against their sum, and each against cells x layers x width where the log prints the width."""
    total = Rounded.parse(row.size, "MiB")
    reading.check(
        sum_of([row.key_size, row.value_size]).meets(total.low, total.high),
        f"K of {row.key_size} MiB and V of {row.value_size} MiB; printed {row.size} MiB together",
    )
    sides = (("k", row.key_format, row.key_size), ("v", row.value_format, row.value_size))
    for side, name, printed in sides:
        width = last(rf"n_embd_{side}_gqa\s*= {COUNT}", text)
        if not (width and row.cells and row.layers):
            continue
        try:
            stored = parse_format(name)
        except UnitError:  # a format of theirs that is not ours
            continue
        exact = row.cells * row.layers * row.streams * stored.bytes(number(width[1]))
        reading.check(
            Rounded.parse(printed, "MiB").meets(exact, exact),
            f"{row.cells * row.streams:,} cells x {row.layers} layers x {width[1]} numbers in {name} are "
            f"{exact / MIB:,.2f} MiB of {side.upper()}; printed {printed} MiB",
        )
