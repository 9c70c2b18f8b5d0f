"""References for paged attention that never see a block: dense keys and values, token by token.

A case is drawn dense and then scattered over the blocks of a pool; what attention must give is computed from
the dense side alone. Known mistakes are computed from the pool, by hint.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvcourse.checks.oracles import SCALED_BY_DIM, TILED, UNSCALED, attend
from kvcourse.checks.paging import places
from kvcourse.checks.staged import Checks

NO_MASK = "Slots after the last token are read too. What may lie there?"
SORTED = "The blocks are read in the order of their ids, so the wrong one is taken for the last."
IN_A_ROW = "The blocks are read as if they lay one behind the other, from the first on."
LOGICAL = "The blocks are numbered as in the text. Which block of the pool is the sequence's first?"
PER_BLOCK = "Each block has a softmax of its own, and their outputs are averaged."
FULL_BLOCKS = "The tokens in the last, part-filled block are missing."
SAME_LENGTH = "All rows are read to the length of the first."
FIRST_TAIL = "The last block of each row is read as far as that of the first row."
SWAPPED = "Keys and values have changed places."


@dataclass
class PagedCase:
    """A batch over one pool: what a function gets, what it must give, and what known mistakes give."""

    q: Any  # (N, H, D)
    k_pool: Any  # (num_blocks, block_size, H_kv, D)
    v_pool: Any  # the same
    tables: list[list[int]]
    lengths: list[int]
    want: Any  # (N, H, D)
    mistakes: dict[str, Any]


def paged_case(
    generator: Any, lengths: Sequence[int], block_size: int, heads: tuple[int, int, int], filler: float = 0.0
) -> PagedCase:
    """A drawn case; `heads` is (H, H_kv, D). Slots that hold no token hold `filler`, which may be nan.

    No table is one that a wrong reading of it would also give.
    """
    import torch

    (h, h_kv, d), size = heads, block_size
    counts = [-(-length // size) for length in lengths]
    num_blocks = sum(counts) + 3
    tables: list[list[int]] = []
    while not tables or not all(_telling(table, num_blocks) for table in tables):
        order = torch.randperm(num_blocks, generator=generator).tolist()
        tables = [[order.pop() for _block in range(count)] for count in counts]
    pools = [torch.full((num_blocks, size, h_kv, d), filler) for _kv in "kv"]
    q = torch.randn(len(lengths), h, d, generator=generator)
    dense = [[torch.randn(h_kv, n, d, generator=generator) for n in lengths] for _kv in "kv"]  # (H_kv, T, D)
    for pool, rows in zip(pools, dense, strict=True):
        for row, table in zip(rows, tables, strict=True):
            for token, (block, offset) in zip(row.unbind(1), places(table, size), strict=False):
                pool[block, offset] = token
    want = torch.stack([attend(q[n], k, v) for n, (k, v) in enumerate(zip(*dense, strict=True))])
    case = PagedCase(q, *pools, tables, list(lengths), want, {})
    case.mistakes = _attention_mistakes(case, size)
    return case


def _telling(table: list[int], num_blocks: int) -> bool:
    """Whether a table's order, start and gaps show: its last block is not its largest, its first not 0."""
    in_a_row = [(table[0] + step) % num_blocks for step in range(len(table))]
    return table[0] != 0 and (len(table) == 1 or (table[-1] != max(table) and table != in_a_row))


def _attention_mistakes(case: PagedCase, size: int) -> dict[str, Any]:
    import torch

    num_blocks = len(case.k_pool)

    def read(pool: Any, table: Sequence[int], length: int) -> Any:
        rows = [pool[block, offset] for block, offset in places(table, size)][:length]
        return torch.stack(rows, dim=1)  # (H_kv, length, D)

    def rows(table_of=None, length_of=None, swap: bool = False, **options: Any) -> Any:
        found = []
        for n, (table, length) in enumerate(zip(case.tables, case.lengths, strict=True)):
            table = table_of(table) if table_of else table
            length = length_of(table, length) if length_of else length
            k, v = (read(pool, table, length) for pool in (case.k_pool, case.v_pool))
            found.append(attend(case.q[n], v, k, **options) if swap else attend(case.q[n], k, v, **options))
        return torch.stack(found)  # (N, H, D)

    def block_by_block() -> Any:
        found = []
        for n, (table, length) in enumerate(zip(case.tables, case.lengths, strict=True)):
            lengths = [min(size, length - at) for at in range(0, length, size)]
            parts = [
                attend(case.q[n], *(read(pool, [block], some) for pool in (case.k_pool, case.v_pool)))
                for block, some in zip(table, lengths, strict=True)
            ]
            found.append(sum(parts) / len(parts))
        return torch.stack(found)

    first = case.lengths[0]
    known = {
        NO_MASK: rows(length_of=lambda table, length: len(table) * size),
        SORTED: rows(table_of=sorted),
        IN_A_ROW: rows(table_of=lambda t: [(t[0] + step) % num_blocks for step in range(len(t))]),
        LOGICAL: rows(table_of=lambda t: list(range(len(t)))),
        PER_BLOCK: block_by_block(),
        TILED: rows(tiled=True),
        UNSCALED: rows(scale=1.0),
        SCALED_BY_DIM: rows(scale=1 / case.q.shape[-1]),
        SWAPPED: rows(swap=True),
    }
    if min(case.lengths) >= size:
        known[FULL_BLOCKS] = rows(length_of=lambda table, length: length // size * size)
    if len(case.lengths) > 1:
        known[SAME_LENGTH] = rows(length_of=lambda table, length: min(first, len(table) * size))
        known[FIRST_TAIL] = rows(
            length_of=lambda table, length: (len(table) - 1) * size + (first - 1) % size + 1
        )
    right = case.want
    known = {hint: out for hint, out in known.items() if bool(out.isfinite().all())}  # nan is nobody's mark
    return {hint: out for hint, out in known.items() if not bool(((out - right).abs() <= 1e-4).all())}


# ---- parts of a softmax --------------------------------------------------------------------------

Part = tuple[Any, Any, Any]


def part(scores: Any, values: Any) -> Part:
    """(m, l, o) over some keys: scores `(H, n)`, values `(H, n, D)`; m and l `(H,)`, o `(H, D)`.

    m is the largest score, l the sum of exp(score - m), o that of exp(score - m) times the value
    (arXiv:2205.14135, section 3.1). Over no keys m is -inf, l and o are 0. In double precision.
    """
    import torch

    m, total, o = [], [], []
    for row, vectors in zip(scores.double().tolist(), values.double(), strict=True):
        top = max(row, default=-math.inf)
        weights = [math.exp(score - top) for score in row]
        m.append(top)
        total.append(sum(weights))
        o.append(
            sum(
                (w * vector for w, vector in zip(weights, vectors, strict=True)),
                vectors.new_zeros(vectors.shape[1]),
            )
        )
    return torch.tensor(m), torch.tensor(total, dtype=torch.float32), torch.stack(o).float()


def check_part(
    checks: Checks,
    got: Any,
    scores: Any,
    values: Any,
    case: str,
    pieces: Sequence[Part] = (),
    atol: float = 1e-4,
) -> None:
    """`got`, a learner's (m, l, o), says the same as `part(scores, values)`, whatever m it is told with.

    What counts is m + log l and o / l. `pieces` are what was merged, for the hints.
    """
    __tracebackhide__ = True
    import torch

    m, total, o = part(scores, values)
    items = checks.items(got, 3, case)
    for name, item, like in zip(("m", "l", "o"), items, (m, total, o), strict=True):
        nowhere = torch.zeros_like(like, dtype=torch.bool)  # type, shape and dtype only
        legend = "(H, D)" if name == "o" else "(H,)"
        checks.tensor(item, like, f"{case}: {name}", legend=legend, where=nowhere)
    sure = (items[1] > 0).all() & items[1].isfinite().all() & items[0].isfinite().all()
    checks.that(bool(sure), case, "m must be finite and l above 0 where there are keys: nan, inf or 0 came.")
    known = _output_mistakes(pieces)
    checks.tensor(
        items[2] / items[1][:, None], o / total[:, None], f"{case}: o / l", atol, "(H, D)", mistakes=known
    )
    sizes = {"m and l are those of one part alone.": pieces[0][0] + pieces[0][1].log()} if pieces else {}
    tolerance = 1e-4 + 5e-7 * float(m.abs().max())  # a few float32 steps at the size of m
    checks.tensor(
        items[0] + items[1].log(), m + total.log(), f"{case}: m + log(l)", tolerance, "(H,)", mistakes=sizes
    )


def _output_mistakes(pieces: Sequence[Part]) -> dict[str, Any]:
    import torch

    full = [p for p in pieces if bool((p[1] > 0).all())]
    if len(full) < 2:
        return {}
    m = torch.stack([p[0] for p in full]).amax(0)
    total = sum(p[1] for p in full)
    return {
        "The outputs of the parts are averaged. Does a part with small scores count as much as the others?": (
            sum(p[2] / p[1][:, None] for p in full) / len(full)
        ),
        "The sums are added as they are. They were made with different m: bring them to one first.": (
            sum(p[2] for p in full) / total[:, None]
        ),
        "The rescaling goes the wrong way: the part with the smaller m must shrink.": (
            sum(p[2] * (m - p[0]).exp()[:, None] for p in full)
            / sum(p[1] * (m - p[0]).exp() for p in full)[:, None]
        ),
        "o is brought to the common m, l is not.": (
            sum(p[2] * (p[0] - m).exp()[:, None] for p in full) / total[:, None]
        ),
        "l is brought to the common m, o is not.": (
            sum(p[2] for p in full) / sum(p[1] * (p[0] - m).exp() for p in full)[:, None]
        ),
        "That is the output of one part. Where is the other?": full[0][2] / full[0][1][:, None],
    }


# ---- writing into a pool -------------------------------------------------------------------------


def written(pool: Any, rows: Any, slots: Sequence[int]) -> Any:
    """A pool `(num_blocks, block_size, H_kv, D)` after `rows` `(T_new, H_kv, D)` went to these slots."""
    after = pool.clone()
    where = places(range(len(pool)), pool.shape[1])
    for row, slot in zip(rows, slots, strict=True):
        after[where[slot]] = row
    return after


def write_mistakes(pool: Any, rows: Any, other_rows: Any, slots: Sequence[int]) -> dict[str, Any]:
    """What known mistakes leave in one of the two pools; `other_rows` belong into the other one."""
    count = len(pool) * pool.shape[1]
    in_a_row = [(slots[0] + step) % count for step in range(len(slots))] if slots else []
    return {
        "The pool is as it was. It must be changed in place: a new tensor is lost.": pool,
        "Keys and values have changed places, or one of them is written to both.": (
            written(pool, other_rows, slots)
        ),
        "The rows lie one behind the other from the first slot on. Each has a slot of its own.": (
            written(pool, rows, in_a_row)
        ),
        "The rows are written in the order of the slots. Row i belongs to slots[i].": (
            written(pool, rows, sorted(slots))
        ),
        "The slots that are not named have lost what they held.": written(pool.clone().zero_(), rows, slots),
    }
