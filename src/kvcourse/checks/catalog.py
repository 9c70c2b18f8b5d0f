"""Known mistakes by quantity: what each gives, and the nudge it earns. No nudge contains the right formula.

`i` holds the inputs by name; a way or a slip answers None where an input it needs was not given.
They come from wrong answers in public issues and tutorials, and from the assignments' answer banks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

Value = Callable[[SimpleNamespace], float | int | None]


@dataclass(frozen=True)
class Way:
    """A wrong way to compute a quantity."""

    name: str
    value: Value
    hint: str


@dataclass(frozen=True)
class Slip:
    """A factor too many or too few. Two slips of one group do not happen together."""

    name: str
    factor: Value
    hint: str
    group: str


@dataclass(frozen=True)
class Quantity:
    """A number that learners compute: its right value and the mistakes known for it. Tolerance 0 = exact."""

    name: str
    needs: tuple[str, ...]
    right: Value
    ways: tuple[Way, ...] = ()
    slips: tuple[Slip, ...] = ()
    optional: tuple[str, ...] = ()
    tolerance: float = 0.0


def triangle(n: int) -> int:
    """1 + 2 + ... + n."""
    return n * (n + 1) // 2


def tetrahedron(n: int) -> int:
    """triangle(1) + ... + triangle(n)."""
    return n * (n + 1) * (n + 2) // 6


def matmul_params(config: Any) -> int:
    """Weights that multiply each decoded token: q, k, v, o, the three of SwiGLU, and the output projection.

    Norms and the lookup of the input embedding multiply nothing; a tied table counts once, as the projection.
    """
    q_and_o = 2 * config.hidden_size * config.num_heads * config.head_dim
    k_and_v = 2 * config.hidden_size * config.num_kv_heads * config.head_dim
    mlp = 3 * config.hidden_size * config.intermediate_size
    return config.num_layers * (q_and_o + k_and_v + mlp) + config.hidden_size * config.vocab_size


# ---- rows and pairs of one generation ------------------------------------------------------------


def _rows(i: SimpleNamespace, cached: bool) -> int:
    last = i.prompt + i.new - 1
    return last if cached else triangle(last) - triangle(i.prompt - 1)


def _pairs(i: SimpleNamespace, cached: bool) -> int:
    last = i.prompt + i.new - 1
    return triangle(last) if cached else tetrahedron(last) - tetrahedron(i.prompt - 1)


def _with(value: Value) -> Value:
    return lambda i: value(i) if i.cached else None


def _without(value: Value) -> Value:
    return lambda i: None if i.cached else value(i)


LAST_TOKEN = "Follow the last new token: it is chosen and returned. Is it ever fed to the model in this call?"
OTHER_CASE = "This is the count of the other case. Check which branch `cached` takes."

ROWS = Quantity(
    "rows_projected",
    ("prompt", "new", "cached"),
    lambda i: _rows(i, i.cached),
    ways=(
        Way("counts the last token, which is never fed", _with(lambda i: i.prompt + i.new), LAST_TOKEN),
        Way(
            "forgets the prompt",
            _with(lambda i: i.new - 1),
            "These are the decode steps alone. Who fills the cache before the first of them?",
        ),
        Way("forgets the prompt", _with(lambda i: i.new), "Who projects the prompt's tokens, and how often?"),
        Way(
            "stops after the prompt",
            _with(lambda i: i.prompt),
            "That is the prefill. Which rows do the steps after it add?",
        ),
        Way(
            "projects the prompt at every step",
            _with(lambda i: i.prompt * i.new + i.new - 1),
            "The prompt is counted at each step. After the prefill its keys and values lie in the cache.",
        ),
        Way("swaps with and without a cache", lambda i: _rows(i, not i.cached), OTHER_CASE),
        Way(
            "starts the sum at one token",
            _without(lambda i: triangle(i.prompt + i.new - 1)),
            "The sum begins too early: how many rows does the very first forward pass have?",
        ),
        Way(
            "starts the sum at one token and ends it one late",
            _without(lambda i: triangle(i.prompt + i.new)),
            "The sum begins too early and ends too late: how many rows do the first and the last pass have?",
        ),
        Way(
            "counts each pass after its token is appended",
            _without(lambda i: _rows(i, False) + i.new),
            "Every pass is one row too long. Is the token that a pass produces part of that pass's input?",
        ),
        Way(
            "forgets that the text grows",
            _without(lambda i: i.prompt * i.new),
            "Every pass is counted with the prompt's length. What did the passes before it append?",
        ),
        Way(
            "counts the final length at every pass",
            _without(lambda i: (i.prompt + i.new) * i.new),
            "Every pass is counted with the final length. The first one sees the prompt alone.",
        ),
        Way(
            "counts the prompt only once",
            _without(lambda i: i.prompt + triangle(i.new - 1)),
            "Without a cache nothing is kept: what happens to the prompt's rows at the second pass?",
        ),
        Way(
            "counts tokens, not rows", _without(lambda i: i.prompt + i.new), "That is the length of the text."
        ),
    ),
)

PAIRS = Quantity(
    "score_pairs",
    ("prompt", "new", "cached"),
    lambda i: _pairs(i, i.cached),
    ways=(
        Way("swaps with and without a cache", lambda i: _pairs(i, not i.cached), OTHER_CASE),
        Way(
            "counts linear work",
            lambda i: _rows(i, i.cached),
            "That many rows are projected. Each row is one query; how many keys does it meet?",
        ),
        Way(
            "counts the masked pairs too",
            _without(lambda i: sum(t * t for t in range(i.prompt, i.prompt + i.new))),
            "These are full squares. Which keys may query number 3 not look at?",
        ),
        Way(
            "counts the masked pairs too",
            _with(lambda i: (i.prompt + i.new - 1) ** 2),
            "This is a full square. Which keys may query number 3 not look at?",
        ),
        Way(
            "counts the prompt's masked pairs too",
            _with(lambda i: i.prompt**2 + triangle(i.prompt + i.new - 1) - triangle(i.prompt)),
            "The decode steps are right. Within the prompt, which keys may a query not look at?",
        ),
        Way(
            "counts the last token, which is never fed",
            _with(lambda i: triangle(i.prompt + i.new)),
            LAST_TOKEN,
        ),
        Way(
            "counts each pass after its token is appended",
            _without(lambda i: tetrahedron(i.prompt + i.new) - tetrahedron(i.prompt)),
            "Every pass is one token too long. Is the token that a pass produces part of that pass's input?",
        ),
        Way(
            "starts the sum at one token",
            _without(lambda i: tetrahedron(i.prompt + i.new - 1) if i.prompt > 1 else None),
            "The sum begins too early: how many tokens does the very first pass see?",
        ),
        Way(
            "leaves out a token's look at itself",
            _with(lambda i: triangle(i.prompt + i.new - 2)),
            "One pair is missing for each query. May a token attend to itself?",
        ),
        Way(
            "forgets the prefill",
            _with(lambda i: triangle(i.prompt + i.new - 1) - triangle(i.prompt)),
            "These are the decode steps alone. The prefill computes scores too.",
        ),
        Way(
            "counts only the newest query's row",
            _without(lambda i: triangle(i.prompt + i.new - 1) - triangle(i.prompt - 1)),
            "Each pass is counted as if it had one query. How many has it, without a cache?",
        ),
    ),
)

LENGTH = Quantity(
    "cache_length",
    ("prompt", "new"),
    lambda i: i.prompt + i.new - 1,
    ways=(
        Way("counts the last token, which is never fed", lambda i: i.prompt + i.new, LAST_TOKEN),
        Way("forgets the prompt", lambda i: i.new, "Which tokens filled the cache before the first new one?"),
        Way(
            "forgets the prompt",
            lambda i: i.new - 1,
            "Which tokens filled the cache before the first new one?",
        ),
        Way("stops after the prompt", lambda i: i.prompt, "That is the cache after the prefill. Then?"),
        Way(
            "takes two off",
            lambda i: i.prompt + i.new - 2,
            "One too few. List the tokens that were fed for a prompt of 1 and 2 new tokens.",
        ),
    ),
)

CHAT = Quantity(
    "chat_cache_length",
    ("turns",),
    lambda i: sum(prompt + new for prompt, new in i.turns) - 1,
    ways=(
        Way(
            "drops the last token of every turn",
            lambda i: sum(prompt + new - 1 for prompt, new in i.turns),
            "The last token of a turn is not in the cache when the turn ends. "
            "What must be fed first when the next turn begins?",
        ),
        Way(
            "counts the last token, which is never fed", lambda i: sum(p + n for p, n in i.turns), LAST_TOKEN
        ),
        Way(
            "looks at the last turn only",
            lambda i: sum(i.turns[-1]) - 1,
            "One cache serves the whole conversation. What do the earlier turns leave in it?",
        ),
        Way(
            "forgets what the model said",
            lambda i: sum(prompt for prompt, _ in i.turns),
            "Generated tokens are fed too, all but one.",
        ),
    ),
)


# ---- FLOPs of one decoded token ------------------------------------------------------------------


def _attention(i: SimpleNamespace) -> int:
    return 4 * i.num_layers * i.num_heads * i.head_dim * i.tokens


def _kv_attention(i: SimpleNamespace) -> float | None:
    return i.num_kv_heads and _attention(i) * i.num_kv_heads / i.num_heads


def _layer_params(i: SimpleNamespace) -> int:
    return i.matmul_params - i.hidden_size * i.vocab_size


NO_LOGITS = "Something is missing after the last layer: what turns the hidden state into logits?"
MACS = "Half of it. A multiply-accumulate is two floating-point operations."
QUERY_HEADS_WORK = (
    "Sharing K and V saves memory, not arithmetic: how many heads compute scores against the stored keys?"
)

FLOPS = Quantity(
    "flops_decode",
    ("matmul_params", "num_layers", "num_heads", "head_dim", "tokens"),
    lambda i: 2 * i.matmul_params + _attention(i),
    optional=("num_kv_heads", "hidden_size", "vocab_size"),
    tolerance=0.002,
    ways=(
        Way(
            "counts KV heads in the attention",
            lambda i: i.num_kv_heads and 2 * i.matmul_params + _kv_attention(i),
            QUERY_HEADS_WORK,
        ),
        Way(
            "counts scores but not the weighted sum of values",
            lambda i: 2 * i.matmul_params + _attention(i) / 2,
            "Attention has two products for each head. One is q with the keys. Which is the other?",
        ),
        Way(
            "forgets the attention over the cache",
            lambda i: 2 * i.matmul_params,
            "This does not depend on `tokens`. What does the new query do with every stored key and value?",
        ),
        Way(
            "forgets the layers in the attention",
            lambda i: 2 * i.matmul_params + _attention(i) / i.num_layers,
            "In how many layers does the new token look back?",
        ),
        Way(
            "forgets the projections",
            _attention,
            "This is the attention alone. What do the weights do with the new token?",
        ),
        Way(
            "counts every token's projections",
            lambda i: 2 * i.matmul_params * i.tokens + _attention(i),
            "With a cache, how many tokens pass through the weights at one step?",
        ),
        Way(
            "forgets the output projection",
            lambda i: i.vocab_size and 2 * _layer_params(i) + _attention(i),
            NO_LOGITS,
        ),
    ),
    slips=(
        Slip("counts multiply-accumulates, not FLOPs", lambda i: 0.5, MACS, "unit"),
        Slip(
            "counts each FLOP twice", lambda i: 2.0, "Twice too much. Is the factor 2 in there twice?", "unit"
        ),
    ),
)

CROSSOVER = Quantity(
    "crossover",
    ("matmul_params", "num_layers", "num_heads", "head_dim"),
    lambda i: 2 * i.matmul_params / (4 * i.num_layers * i.num_heads * i.head_dim),
    optional=("num_kv_heads", "hidden_size", "vocab_size"),
    tolerance=0.002,
    ways=(
        Way(
            "forgets the output projection",
            lambda i: i.vocab_size and 2 * _layer_params(i) / (4 * i.num_layers * i.num_heads * i.head_dim),
            NO_LOGITS,
        ),
    ),
    slips=(
        Slip(
            "counts KV heads in the attention",
            lambda i: i.num_kv_heads and i.num_heads / i.num_kv_heads,
            QUERY_HEADS_WORK,
            "heads",
        ),
        Slip(
            "leaves a factor 2 out of the projections",
            lambda i: 0.5,
            "Half of it. Do both sides count FLOPs, or one of them multiply-accumulates?",
            "unit",
        ),
        Slip(
            "leaves a factor 2 out of the attention",
            lambda i: 2.0,
            "Twice too much. How many products has attention, and how many FLOPs is a multiply-accumulate?",
            "unit",
        ),
        Slip(
            "forgets the layers in the attention",
            lambda i: float(i.num_layers),
            "In how many layers does the new token look back?",
            "layers",
        ),
    ),
)


# ---- bytes of the cache --------------------------------------------------------------------------

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


def _more_than_one(number: float | None, factor: float) -> float | None:
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
        Slip("counts one KV head", lambda i: _more_than_one(i.num_kv_heads, 1 / i.num_kv_heads),
             "That is one head's share. How many heads does a layer store?", "heads"),
        Slip("counts bits, not bytes", lambda i: 8.0,
             "Eight times too much. Is the dtype's size given in bits or in bytes?", "element"),
        Slip("counts elements, not bytes", lambda i: _more_than_one(i.dtype_bytes, 1 / i.dtype_bytes),
             "How many bytes does one stored number take?", "element"),
        Slip("counts 4 bytes a number", lambda i: 2.0 if i.dtype_bytes == 2 else None,
             "Twice too much. How many bytes does one number of this dtype take?", "element"),
        Slip("counts 2 bytes a number", lambda i: 0.5 if i.dtype_bytes == 4 else None,
             "Half of it. How many bytes does one number of this dtype take?", "element"),
        Slip("counts one layer", lambda i: _more_than_one(i.num_layers, 1 / i.num_layers),
             "That is one layer's share.", "layers"),
        Slip("counts one token", lambda i: _more_than_one(i.tokens, 1 / i.tokens),
             "That is the size for each token.", "tokens"),
        Slip("takes a K of tokens for 1000", lambda i: 1000 / 1024 if i.tokens % 1024 == 0 else None,
             "How many tokens are a K here, 1000 or 1024?", "tokens"),
        Slip("takes a K of tokens for 1024",
             lambda i: 1.024 if i.tokens % 1000 == 0 and i.tokens % 1024 else None,
             "How many tokens are a K here, 1000 or 1024?", "tokens"),
        Slip("counts one sequence", lambda i: _more_than_one(i.batch, 1 / (i.batch or 1)),
             "That is one sequence's cache. How many sequences are there?", "batch"),
        Slip("mixes units of 1000 and of 1024", _unit_twin,
             "The number fits the other family of units: GiB counts 1024s, GB counts 1000s.", "unit"),
        Slip("counts K and V twice", lambda i: 2.0,
             "Twice too much. Is the factor for K and V in there twice?", "K and V"),
    ),
)  # fmt: skip

QUANTITIES = {known.name: known for known in (ROWS, PAIRS, LENGTH, CHAT, FLOPS, CROSSOVER, BYTES)}
