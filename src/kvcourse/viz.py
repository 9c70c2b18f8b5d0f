"""What pages and notebooks show: figures, tables, quizzes and interactive parts, in light and dark mode."""

import html
import io
import re
from collections.abc import Sequence
from typing import Any

from kvcourse.errors import UserError
from kvcourse.units import both
from kvcourse.widgets import allocator as _allocator
from kvcourse.widgets import block_table as _block_table
from kvcourse.widgets import cache_work as _cache_work
from kvcourse.widgets import kv_calc as _kv_calc
from kvcourse.widgets import widget

FOREGROUND = "#010203"  # a color no figure uses: shown as the page's own text color
COLORS = ["#1f83d6", "#d9730d", "#2a9d63", "#b455c4", "#d0465a"]  # readable on white and on near-black
PHONE_TEXT_PX = 10  # no figure text may come out smaller than this


def style() -> None:
    """Set matplotlib for `show`: transparent, text in the page's color, small enough for a phone."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "figure.figsize": (4.5, 2.8),
            "font.size": 10,
            "axes.titlesize": 10,
            "legend.fontsize": 10,
            "legend.framealpha": 0,
            "svg.fonttype": "none",
            "axes.prop_cycle": mpl.cycler(color=COLORS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "lines.linewidth": 2,
        }
        | dict.fromkeys(
            ["figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"], "none"
        )
        | dict.fromkeys(
            [
                "text.color",
                "axes.labelcolor",
                "axes.edgecolor",
                "xtick.color",
                "ytick.color",
                "legend.edgecolor",
            ],
            FOREGROUND,
        )
    )


def show(fig, alt: str) -> None:
    """Display a matplotlib figure as inline SVG that takes the page's colors; `alt` says what it shows.

    Where a screen is too narrow for its text, the figure scrolls sideways instead of shrinking below 10 px.
    """
    import matplotlib.pyplot as plt
    from IPython.display import HTML, display

    if not alt.strip():
        raise UserError(
            "viz.show: expected a sentence that says what the figure shows as `alt`, got an empty one."
        )
    svg = _svg(fig, alt)
    plt.close(fig)
    label = html.escape(alt)
    width = _smallest_width(svg)
    attributes = f'role="img" aria-label="{label}" style="min-width:{width}px;max-width:100%;height:auto"'
    svg = svg.replace("<svg ", f"<svg {attributes} ", 1)
    display(HTML(f'<div class="kv-fig"><div class="kv-scroll">{svg}</div></div>'))


def _svg(fig, alt: str) -> str:
    """Return the figure as SVG text: the same bytes on every run, no id that a second figure would repeat."""
    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    with plt.rc_context({"svg.hashsalt": alt}):  # ids of clip paths and markers come from it
        fig.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", svg)  # figure_1, axes_1, text_3 ...
    return svg.replace(FOREGROUND, "currentColor")


def _smallest_width(svg: str) -> int:
    """Return the width in px at which the figure's smallest text is still PHONE_TEXT_PX high."""
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    sizes = [float(size) for size in re.findall(r"<text [^>]*font-size: ([\d.]+)px", svg)]
    return round(width * PHONE_TEXT_PX / min(sizes)) if sizes else 0


class _Table:
    """An HTML table that scrolls by itself where a screen is narrower than it."""

    def __init__(self, header: Sequence[Any], rows: Sequence[Sequence[Any]], caption: str | None):
        self.header, self.rows, self.caption = header, rows, caption

    def __repr__(self) -> str:
        return "\n".join(" | ".join(_text(cell) for cell in row) for row in [self.header, *self.rows])

    def _repr_html_(self) -> str:
        numeric = [all(_is_number(row[i]) for row in self.rows) for i in range(len(self.header))]

        def cells(row, heads):
            pieces = []
            for cell, is_numeric in zip(row, numeric, strict=True):
                text = html.escape(_text(cell))
                tag, scope = (
                    ("th", ' scope="col"') if heads and text else ("td", "")
                )  # a corner heads nothing
                side = ' class="kv-num"' if is_numeric else ""
                pieces.append(f"<{tag}{scope}{side}>{text}</{tag}>")
            return "".join(pieces)

        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        body = "".join(f"<tr>{cells(row, heads=False)}</tr>" for row in self.rows)
        return (
            f'<div class="kv-scroll kv-table"><table>{caption}'
            f"<thead><tr>{cells(self.header, heads=True)}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def table(header: Sequence[Any], rows: Sequence[Sequence[Any]], caption: str | None = None) -> _Table:
    """Return a table for the end of a cell: numbers to the right with thousands separators, text as it is."""
    rows = [list(row) for row in rows]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise UserError(
                f"viz.table: row {number}: expected {len(header)} cells as in the header, got {len(row)}."
            )
    return _Table(list(header), rows, caption)


def _text(cell: Any) -> str:
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"


def _is_number(cell: Any) -> bool:
    """Numbers, text that begins with one ("2.00 GiB", "46,080", "1.9x"), and a dash for none."""
    return bool(re.match(r"[-+−]?\d|–$", _text(cell)))


def quiz(question: str, answers: Sequence[dict[str, Any]]):
    """Return a multiple-choice question.

    Each answer is {"text": ..., "feedback": ...}; the one that is right also has "correct": True. Text
    between backticks is shown as code. The order of the answers is the author's.
    """
    answers = [dict(answer) for answer in answers]
    where = f"viz.quiz {question!r}"
    for number, answer in enumerate(answers, start=1):
        missing = [key for key in ("text", "feedback") if not str(answer.get(key, "")).strip()]
        unknown = sorted(set(answer) - {"text", "feedback", "correct"})
        if missing or unknown:
            raise UserError(
                f'{where}: answer {number}: expected "text", "feedback" and perhaps "correct", '
                + (f"got no {missing[0]!r}." if missing else f"got {unknown[0]!r}.")
            )
        answer["correct"] = bool(answer.get("correct"))
    right = sum(answer["correct"] for answer in answers)
    if len(answers) < 2 or right != 1:
        raise UserError(
            f"{where}: expected two or more answers, one of them correct, "
            f"got {len(answers)}, {right} of them correct."
        )
    items = "".join(f"<li>{html.escape(answer['text'])}</li>" for answer in answers)
    fallback = f"<p>{html.escape(question)}</p><ol>{items}</ol><p>Checking an answer needs JavaScript.</p>"
    return widget("quiz", {"spec": {"question": question, "answers": answers}}, fallback)


def cache_work(prompt: int = 64, new: int = 16):
    """Return the interactive "with and without a cache": `prompt` tokens, then `new` written one by one."""
    for name, value, most in (("prompt", prompt, _cache_work.MAX_PROMPT), ("new", new, _cache_work.MAX_NEW)):
        if not 1 <= value <= most:
            raise UserError(f"viz.cache_work: expected {name} from 1 to {most}, got {value}.")
    without, cached = (_cache_work.totals(prompt, new, cached) for cached in (False, True))
    fallback = (
        f"<p>A prompt of {prompt} tokens and {new} new ones: without a cache {without.rows:,} token rows are "
        f"projected and {without.score_pairs:,} score pairs computed, with a cache {cached.rows:,} and "
        f"{cached.score_pairs:,}. "
        "Stepping through it needs JavaScript.</p>"
    )
    return widget("cache_work", {"prompt": prompt, "new": new, "step": 1}, fallback)


def kv_calc(
    model: str = "Llama-2-7B",
    tokens: int = 4096,
    sequences: int = 16,
    dtype: str = "fp16",
    weights: str = "fp16",
    keeps: str = "used",
):
    """Return the calculator: a cache's bytes beside the weights, from a named model or one's own numbers.

    `keeps` says whether layers with a window count at what is "used" or at what a server may have "reserved".
    """
    state = _kv_calc.state(model, tokens, sequences, dtype, weights, keeps)
    shape = next(known for known in _kv_calc.models() if known.name == model)
    found = _kv_calc.figures(shape, dtype, tokens, sequences, weights, keeps)
    fallback = (
        f"<p>{model}, cache in {dtype}: {both(found.per_token)} a token, {both(found.per_sequence)} for a "
        f"sequence of {tokens:,} tokens, {both(found.total)} for {sequences:,} of them. The weights take "
        f"{both(found.weights)}; sequence {found.passes:,} passes them. "
        "Other numbers need JavaScript; <code>kvcourse size</code> computes them in a terminal.</p>"
    )
    return widget("kv_calc", state, fallback)


def block_table(
    operations: Sequence[Sequence[Any]] = (("start", "A", 6),),
    block_size: int = 4,
    sequence: str = "A",
    position: int = 0,
):
    """Return the explorer of block tables: sequences and their pool, after `operations`.

    An operation is ["start" or "append", name, tokens], ["fork", parent, child] or ["free", name], with the
    names A to E. `position` is the token of `sequence` whose slot is shown.
    """
    state = _block_table.state(operations, block_size, sequence, position)
    manager = _block_table.replay(operations, block_size)
    tables = "; ".join(
        f"{name}, {manager.num_tokens(name)} tokens: {', '.join(map(str, manager.table(name).block_ids))}"
        for name in manager.sequences
    )
    fallback = (
        f"<p>A pool of {manager.pool.num_blocks} blocks of {block_size} tokens, {manager.pool.num_used} of "
        f"them in use. The block tables: {tables}. Position {position} of {sequence} is in slot "
        f"{manager.table(sequence).slot(position)}. Appending, forking and freeing need JavaScript.</p>"
    )
    return widget("block_table", state, fallback)


def allocator(policy: str = "max", step: int = 12):
    """Return the playground: a small pool that one of four policies hands out, after `step` steps."""
    state = _allocator.state(policy, step)
    runs = {name: _allocator.outcome(name) for name in _allocator.POLICIES}
    told = "; ".join(
        f"{_allocator.POLICIES[name].lower()}, {run.shares()['tokens']:.1f} % of the slots hold a token, "
        f"{run.batch:.1f} requests run at once, {run.finished} finish"
        for name, run in runs.items()
    )
    fallback = (
        f"<p>A pool of {_allocator.SLOTS} slots, over {_allocator.STEPS} steps: {told}. "
        "Seeing the slots, and adding requests, needs JavaScript.</p>"
    )
    return widget("allocator", state, fallback)
