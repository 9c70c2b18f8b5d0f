"""Known mistakes in a server's budget: weights, how many caches fit beside them, and the time of a step."""

import math
from types import SimpleNamespace

from kvcourse.checks.catalog.kinds import Quantity, Slip, Value, Way
from kvcourse.checks.catalog.memory import BYTES, more_than_one

GIB, GB = 2**30, 10**9
BITS = "Eight times too much. Is the dtype's size given in bits or in bytes?"
MIXED = "Off by 7 %: one of the sizes counts GiB (1024s), the other GB (1000s). Divide bytes by bytes."
INVERTED = "Upside down. Which of the two is divided by which?"
LESS = "Off by the factor between GiB and GB. How many bytes are a GiB?"


def _step(i: SimpleNamespace, weights: float = 1, caches: float = 1) -> float:
    return 1000 * (weights * i.weight_bytes + caches * i.kv_bytes) / i.bytes_per_second


def _of_several(value: Value) -> Value:
    return lambda i: value(i) if i.batch > 1 else None


def _rounded(i: SimpleNamespace) -> int | None:
    cache = i.kv_bytes // GB
    return cache and math.ceil(i.weight_bytes / GB) // cache + 1


WEIGHTS = Quantity(
    "weight_bytes",
    ("parameters", "dtype_bytes"),
    lambda i: i.parameters * i.dtype_bytes,
    slips=(
        Slip("counts parameters, not bytes", lambda i: more_than_one(i.dtype_bytes, 1 / i.dtype_bytes),
             "How many bytes does one parameter take?", "element"),
        Slip("counts bits, not bytes", lambda i: 8.0, BITS, "element"),
        Slip("counts 4 bytes a number", lambda i: 2.0 if i.dtype_bytes == 2 else None,
             "Twice too much. How many bytes does one number of this dtype take?", "element"),
        Slip("gives GiB, not bytes", lambda i: 1 / GIB, "The contract asks for bytes.", "unit"),
        Slip("gives GB, not bytes", lambda i: 1 / GB, "The contract asks for bytes.", "unit"),
    ),
    tolerance=1e-6,
)  # fmt: skip

EXCEED = Quantity(
    "sequences_to_exceed",
    ("kv_bytes", "weight_bytes"),
    lambda i: i.weight_bytes // i.kv_bytes + 1,
    ways=(
        Way("stops at the last one that fits", lambda i: i.weight_bytes // i.kv_bytes,
            "With that many, the caches are not larger than the weights yet. One more?"),
        Way("rounds up, and takes as large for larger", lambda i: -(-i.weight_bytes // i.kv_bytes),
            "The caches are just as large as the weights then. The question is when they are larger."),
        Way("divides the cache by the weights", lambda i: i.kv_bytes // i.weight_bytes + 1, INVERTED),
        Way("computes with rounded gigabytes", _rounded,
            "Rounding both sizes to whole gigabytes moves the answer. Divide the exact bytes."),
        Way("takes the batch of the lesson's example", lambda i: 16,
            "Sixteen is a batch that is well past the point. At which sequence is the point reached?"),
        Way("mixes GiB and GB", lambda i: int(i.weight_bytes * GIB / GB) // i.kv_bytes + 1, MIXED),
        Way("mixes GB and GiB", lambda i: int(i.weight_bytes * GB / GIB) // i.kv_bytes + 1, MIXED),
    ),
)  # fmt: skip

RATIO = Quantity(
    "cache_to_weights",
    ("kv_bytes", "weight_bytes"),
    lambda i: i.kv_bytes / i.weight_bytes,
    tolerance=0.005,
    ways=(Way("divides the weights by the cache", lambda i: i.weight_bytes / i.kv_bytes, INVERTED),),
    slips=(
        Slip("mixes GiB and GB", lambda i: GB / GIB, MIXED, "unit"),
        Slip("mixes GB and GiB", lambda i: GIB / GB, MIXED, "unit"),
        Slip("gives percent", lambda i: 100.0, "A hundred times too much: 1 means equal.", "scale"),
        Slip("leaves a factor 2 out of the cache", lambda i: 0.5,
             "Half of it. Does the cache hold both K and V?", "K and V"),
        Slip("has a factor 2 too many in the cache", lambda i: 2.0,
             "Twice too much. Is there a factor 2 in the cache, or a context, too many?", "K and V"),
    ),
)  # fmt: skip

STEP = Quantity(
    "decode_ms",
    ("weight_bytes", "kv_bytes", "batch", "bytes_per_second"),
    lambda i: _step(i, caches=i.batch),
    tolerance=0.005,
    ways=(
        Way("shares one cache among the batch", _of_several(_step),
            "The whole batch reads the weights once. Does it read one cache, too, or one for each sequence?"),
        Way("reads the weights for every sequence", _of_several(lambda i: _step(i, i.batch, i.batch)),
            "One pass of the weights serves all sequences of the batch."),
        Way("divides the step by the batch", _of_several(lambda i: _step(i, caches=i.batch) / i.batch),
            "That is the time for each token of the batch. How long does the step take?"),
        Way("spreads the caches over the batch", _of_several(lambda i: _step(i, caches=1 / i.batch)),
            "A batch shares the weights. Whose is a cache?"),
        Way("forgets the caches", lambda i: _step(i, caches=0),
            "These are the weights alone. What else does attention read at every step?"),
        Way("forgets the weights", lambda i: _step(i, weights=0, caches=i.batch),
            "These are the caches alone. What else does a step read?"),
        Way("takes the larger of the two reads",
            lambda i: max(_step(i, caches=0), _step(i, weights=0, caches=i.batch)),
            "Both come through the same memory bus. Do two reads on one bus overlap, or add up?"),
    ),
    slips=(
        Slip("gives seconds", lambda i: 0.001, "The contract asks for milliseconds.", "time"),
        Slip("counts bits, not bytes", lambda i: 8.0, "Eight times too long. Sizes are in bytes.", "unit"),
        Slip("mixes GiB and GB", lambda i: GB / GIB, MIXED, "unit"),
    ),
)  # fmt: skip

EQUAL = Quantity(
    "batch_where_caches_equal_weights",
    ("weight_bytes", "kv_bytes"),
    lambda i: i.weight_bytes / i.kv_bytes,
    tolerance=0.005,
    ways=(Way("divides the cache by the weights", lambda i: i.kv_bytes / i.weight_bytes, INVERTED),),
    slips=(
        Slip("mixes GiB and GB", lambda i: GIB / GB, MIXED, "unit"),
        Slip("mixes GB and GiB", lambda i: GB / GIB, MIXED, "unit"),
        Slip("takes half of the weights", lambda i: 0.5, "Equal, not half: set the two reads equal.", "half"),
        Slip("takes twice the weights", lambda i: 2.0, "Equal, not twice: set the two reads equal.", "half"),
    ),
)  # fmt: skip


def _pool(i: SimpleNamespace) -> float:
    return i.pool_bytes / BYTES.right(SimpleNamespace(**vars(i), tokens=1, batch=1, unit="B"))


POOL = Quantity(
    "pool_tokens",
    ("pool_bytes", "num_layers", "num_kv_heads", "head_dim", "dtype_bytes"),
    _pool,
    optional=("num_heads", "hidden_size"),
    tolerance=0.003,
    slips=(
        Slip("forgets that K and V are both stored", lambda i: 2.0,
             "Twice too many. What is stored for each token beside its key?", "K and V"),
        Slip("counts query heads, not KV heads", lambda i: i.num_heads and i.num_kv_heads / i.num_heads,
             "Too few. Queries are not stored. Which heads are?", "heads"),
        Slip("divides hidden_size by the query heads for the width of a head",
             lambda i: i.hidden_size and i.num_heads and _not_one(i.head_dim * i.num_heads / i.hidden_size),
             "The width of a head is a number of its own in this model.", "heads"),
        Slip("takes hidden_size for the width of K",
             lambda i: i.hidden_size and _not_one(i.num_kv_heads * i.head_dim / i.hidden_size),
             "A key is as wide as the KV heads together. Is that hidden_size in this model?", "heads"),
        Slip("counts one KV head", lambda i: more_than_one(i.num_kv_heads, i.num_kv_heads),
             "Too many. How many heads does a layer store?", "heads"),
        Slip("counts one layer", lambda i: more_than_one(i.num_layers, i.num_layers),
             "Far too many: a token is stored in every layer.", "layers"),
        Slip("counts bits, not bytes", lambda i: 1 / 8, "Eight times too few. How many bytes is a number?",
             "element"),
        Slip("counts 2 bytes a number", lambda i: 0.5 if i.dtype_bytes == 1 else None,
             "Half of it. How many bytes does one number of this dtype take?", "element"),
        Slip("takes GiB for GB", lambda i: GB / GIB, LESS, "unit"),
    ),
)  # fmt: skip

CONCURRENCY = Quantity(
    "concurrency",
    ("pool_tokens", "max_model_len"),
    lambda i: i.pool_tokens / i.max_model_len,
    tolerance=0.005,
    ways=(
        Way("rounds down to whole requests", lambda i: i.pool_tokens // i.max_model_len,
            "The log keeps the fraction: it is a ratio of tokens, not a number of requests."),
        Way("divides the length by the pool", lambda i: i.max_model_len / i.pool_tokens, INVERTED),
    ),
)  # fmt: skip


def _label(i: SimpleNamespace) -> float:
    """Printed over right, in whichever of GiB and GB the quotient is nearest to a power of two."""
    factors = [i.printed * unit / i.kv_bytes for unit in (GIB, GB)]
    return min(factors, key=lambda factor: abs(math.log2(factor) - round(math.log2(factor))))


FACTOR = Quantity(
    "printed_factor",
    ("printed", "kv_bytes"),
    _label,
    tolerance=0.01,
    ways=(
        Way("believes the label", lambda i: i.printed * GB / i.kv_bytes,
            "That takes GB at its word. What would the factor be if the number were in GiB?"),
        Way("takes GiB for granted", lambda i: i.printed * GIB / i.kv_bytes,
            "That takes the number for GiB. What would the factor be in GB?"),
        Way("divides right by printed", lambda i: 1 / _label(i), INVERTED),
        Way("blames the unit alone", lambda i: 1.0,
            "GiB and GB are 7 % apart. Can a unit explain so large a difference?"),
    ),
)  # fmt: skip


def _not_one(factor: float) -> float | None:
    return None if factor == 1 else factor
