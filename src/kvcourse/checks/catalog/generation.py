"""Known mistakes in counting a generation: rows projected, query-key pairs, tokens in the cache."""

from types import SimpleNamespace

from kvcourse.checks.catalog.kinds import Quantity, Value, Way


def triangle(n: int) -> int:
    """1 + 2 + ... + n."""
    return n * (n + 1) // 2


def tetrahedron(n: int) -> int:
    """triangle(1) + ... + triangle(n)."""
    return n * (n + 1) * (n + 2) // 6


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
