"""Known mistakes in the bytes of a KV cache. All are factors, so two at once are found too."""

from types import SimpleNamespace

from kvcourse.checks.catalog.kinds import Quantity, Slip, Way

UNIT_BYTES = {
    "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip
_TWINS = {"KiB": "kB", "MiB": "MB", "GiB": "GB", "TiB": "TB"}
_TWINS |= {small: large for large, small in _TWINS.items()}


def _unit_twin(i: SimpleNamespace) -> float | None:
    twin = _TWINS.get(i.unit or "B")
    return twin and UNIT_BYTES[i.unit] / UNIT_BYTES[twin]


def _kv_bytes(i: SimpleNamespace) -> float:
    one = 2 * i.num_layers * i.num_kv_heads * i.head_dim * i.dtype_bytes
    return one * i.tokens * (i.batch or 1) / UNIT_BYTES[i.unit or "B"]


def more_than_one(number: float | None, factor: float) -> float | None:
    return factor if number and number > 1 else None


def _not_one(factor: float) -> float | None:
    return None if factor == 1 else factor


BYTES = Quantity(
    "kv_bytes",
    ("num_layers", "num_kv_heads", "head_dim", "tokens", "dtype_bytes"),
    _kv_bytes,
    optional=("batch", "num_heads", "hidden_size", "unit"),
    tolerance=0.005,
    slips=(
        Slip("forgets that K and V are both stored", lambda i: 0.5,
             "Half of it. What is stored for each token beside its key?", "K and V"),
        Slip("counts query heads, not KV heads", lambda i: i.num_heads and i.num_heads / i.num_kv_heads,
             "Queries are not stored. Which heads are?", "heads"),
        Slip("takes hidden_size for the width of K",
             lambda i: i.hidden_size and i.hidden_size / (i.num_kv_heads * i.head_dim),
             "A key is as wide as the KV heads together. Is that hidden_size in this model?", "heads"),
        Slip("divides hidden_size by the query heads for the width of a head",
             lambda i: i.hidden_size and i.num_heads and _not_one(i.hidden_size / i.num_heads / i.head_dim),
             "The width of a head is a number of its own in this model.", "heads"),
        Slip("counts one KV head", lambda i: more_than_one(i.num_kv_heads, 1 / i.num_kv_heads),
             "That is one head's share. How many heads does a layer store?", "heads"),
        Slip("counts bits, not bytes", lambda i: 8.0,
             "Eight times too much. Is the dtype's size given in bits or in bytes?", "element"),
        Slip("counts elements, not bytes", lambda i: more_than_one(i.dtype_bytes, 1 / i.dtype_bytes),
             "How many bytes does one stored number take?", "element"),
        Slip("counts 4 bytes a number", lambda i: 2.0 if i.dtype_bytes == 2 else None,
             "Twice too much. How many bytes does one number of this dtype take?", "element"),
        Slip("counts 2 bytes a number", lambda i: 0.5 if i.dtype_bytes == 4 else None,
             "Half of it. How many bytes does one number of this dtype take?", "element"),
        Slip("counts one layer", lambda i: more_than_one(i.num_layers, 1 / i.num_layers),
             "That is one layer's share.", "layers"),
        Slip("counts one token", lambda i: more_than_one(i.tokens, 1 / i.tokens),
             "That is the size for each token.", "tokens"),
        Slip("takes a K of tokens for 1000", lambda i: 1000 / 1024 if i.tokens % 1024 == 0 else None,
             "How many tokens are a K here, 1000 or 1024?", "tokens"),
        Slip("takes a K of tokens for 1024",
             lambda i: 1.024 if i.tokens % 1000 == 0 and i.tokens % 1024 else None,
             "How many tokens are a K here, 1000 or 1024?", "tokens"),
        Slip("counts one sequence", lambda i: more_than_one(i.batch, 1 / (i.batch or 1)),
             "That is one sequence's cache. How many sequences are there?", "batch"),
        Slip("mixes units of 1000 and of 1024", _unit_twin,
             "The number fits the other family of units: GiB counts 1024s, GB counts 1000s.", "unit"),
        Slip("counts K and V twice", lambda i: 2.0,
             "Twice too much. Is the factor for K and V in there twice?", "K and V"),
    ),
)  # fmt: skip

SIZE = Quantity(
    "size_in_bytes",
    ("number", "unit_bytes", "twin_bytes"),
    lambda i: round(i.number * i.unit_bytes),
    ways=(
        Way("takes the other family of units", lambda i: round(i.number * i.twin_bytes),
            "The unit belongs to the other family: with an i it counts 1024s, without one 1000s."),
        Way("forgets the unit", lambda i: round(i.number), "The number alone. What does the unit say?"),
        Way("cuts off the fraction", lambda i: int(i.number) * i.unit_bytes,
            "The number before the unit may have a fraction."),
    ),
)  # fmt: skip
