"""The work of greedy decoding, counted: rows projected and score pairs, with and without a cache.

Step s (1 is the prefill) feeds the tokens known by then and yields one new token, so the model sees
T_s = prompt + s - 1 tokens. Without a cache all T_s rows are projected again; with one, only new ones.
`cache_work.js` holds the same arithmetic for the page; a test compares both with a decoder's own counters.
"""

from dataclasses import dataclass

MAX_PROMPT = 192  # more rows than that no longer fit a phone's screen as squares
MAX_NEW = 64


@dataclass(frozen=True)
class Work:
    """Token rows projected to K and V (each layer) and score pairs (each query head of each layer)."""

    rows: int
    score_pairs: int


def totals(prompt: int, new: int, cached: bool) -> Work:
    """Return the work of a prefill of `prompt` tokens and `new - 1` decode steps."""
    lengths = range(prompt, prompt + new)  # T_s
    if cached:
        longest = prompt + new - 1
        return Work(longest, longest * (longest + 1) // 2)
    return Work(sum(lengths), sum(length * (length + 1) // 2 for length in lengths))
