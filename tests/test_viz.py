"""What viz leaves on a page and in a notebook, without a browser (tests/site has the browser)."""

import html
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse import viz
from kvcourse.errors import UserError
from kvcourse.widgets import STATIC_ENV


@pytest.fixture
def shown(monkeypatch):
    """Return the HTML of what is displayed, call by call."""
    pieces = []
    monkeypatch.setattr("IPython.display.display", lambda piece: pieces.append(piece.data))
    return pieces


@pytest.fixture
def figure():
    """Return a function that makes a small figure in the pages' style."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    def make(figsize=None):
        fig, ax = plt.subplots(figsize=figsize)
        ax.plot([1, 2, 4], "o-", label="a line")
        ax.set(xlabel="step", ylabel="rows")
        ax.legend()
        return fig

    with mpl.rc_context():
        viz.style()
        yield make
    plt.close("all")


def svg_of(piece: str) -> ElementTree.Element:
    return ElementTree.fromstring(piece[piece.index("<svg") : piece.index("</svg>") + len("</svg>")])


def test_a_figure_speaks_and_takes_the_pages_colors(shown, figure):
    viz.show(figure(), 'Rows "projected" <each> step')
    svg = svg_of(shown[0])
    assert svg.get("role") == "img" and svg.get("aria-label") == 'Rows "projected" <each> step'
    assert "currentColor" in shown[0] and viz.FOREGROUND not in shown[0]
    assert not re.search(r"fill: #(?:ffffff|000000)", shown[0])  # no card, no black text


def test_a_figure_is_the_same_at_every_build_and_ids_do_not_repeat_on_a_page(shown, figure):
    viz.show(figure(), "one")
    viz.show(figure(), "one")
    viz.show(figure(), "two")
    assert shown[0] == shown[1]
    ids = [set(re.findall(r' id="([^"]+)"', piece)) for piece in shown]
    assert ids[0] and not ids[0] & ids[2]
    for used in re.findall(r'(?:href="|url\()#([^")]+)', shown[0]):
        assert used in ids[0], f"{used} is used and was removed"


def test_a_wide_figure_scrolls_rather_than_shrink_its_text(shown, figure):
    """At the width that is asked for, the smallest text is PHONE_TEXT_PX high."""
    for size in (None, (9, 3)):
        viz.show(figure(size), f"size {size}")
    widths = [int(re.search(r"min-width:(\d+)px", piece)[1]) for piece in shown]
    for piece, width in zip(shown, widths, strict=True):
        units = float(svg_of(piece).get("viewBox").split()[2])
        smallest = min(float(size) for size in re.findall(r"font-size: ([\d.]+)px", piece))
        assert smallest * width / units == pytest.approx(viz.PHONE_TEXT_PX, rel=0.01)
    assert widths[0] <= 350 < widths[1]  # the usual figure fits a phone of 390 px


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_a_figure_without_words_is_refused(figure, alt):
    with pytest.raises(UserError, match="alt"):
        viz.show(figure(), alt)


def test_a_table_aligns_numbers_and_escapes_text():
    page = viz.table(["Model", "Bytes"], [["<7B>", 524288], ["x", "2.00 GiB"]], caption="A & B")._repr_html_()
    rows = ElementTree.fromstring(page)
    cells = [(cell.tag, cell.get("class"), cell.text) for cell in rows.iter() if cell.tag in ("td", "th")]
    assert cells == [
        ("th", None, "Model"),
        ("th", "kv-num", "Bytes"),
        ("td", None, "<7B>"),
        ("td", "kv-num", "524,288"),
        ("td", None, "x"),
        ("td", "kv-num", "2.00 GiB"),
    ]
    assert rows.find(".//caption").text == "A & B"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1144, "1,144"),
        (14.481, "14.48"),
        (0.00012, "0.00012"),
        (1234567.8, "1,234,568"),
        (True, "True"),
    ],
)
def test_numbers_in_a_table(value, text):
    assert f">{text}<" in viz.table(["n"], [[value]])._repr_html_()
    assert repr(viz.table(["n"], [[value]])) == f"n\n{text}"


def test_a_dash_for_none_leaves_a_column_of_numbers_aligned():
    page = viz.table(["ours", "theirs"], [["97.2 ± 0.1", "–"], [3, "none – yet"]])._repr_html_()
    assert '<td class="kv-num">97.2 ± 0.1</td><td>–</td>' in page
    assert '<td class="kv-num">–</td>' in viz.table(["a"], [[1], ["–"]])._repr_html_()


def test_a_corner_cell_is_no_heading():
    page = viz.table(["", "rows"], [["with a cache", 79]])._repr_html_()
    assert '<tr><td></td><th scope="col" class="kv-num">rows</th></tr>' in page


def test_an_empty_table_and_a_short_row():
    assert "<tbody></tbody>" in viz.table(["a"], [])._repr_html_()
    with pytest.raises(UserError, match="row 2: expected 2 cells as in the header, got 1"):
        viz.table(["a", "b"], [[1, 2], [3]])


RIGHT = {"text": "yes", "feedback": "It is.", "correct": True}
WRONG = {"text": "no", "feedback": "It is not."}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([RIGHT], "two or more answers"),
        ([WRONG, WRONG], "0 of them correct"),
        ([RIGHT, WRONG, RIGHT], "2 of them correct"),
        ([RIGHT, {"text": "no"}], "answer 2: .*got no 'feedback'"),
        ([RIGHT, {**WRONG, "feedback": " "}], "got no 'feedback'"),
        ([RIGHT, {**WRONG, "corect": True}], "got 'corect'"),
    ],
)
def test_a_quiz_that_cannot_be_answered_is_refused(answers, message):
    with pytest.raises(UserError, match=message):
        viz.quiz("Is it?", answers)


@given(st.text(), st.text(min_size=1).filter(str.strip))
def test_on_the_site_a_quiz_carries_its_state_unchanged(question, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATIC_ENV, "1")
        page = viz.quiz(question, [{**WRONG, "text": text}, RIGHT])._repr_html_()
    state = json.loads(html.unescape(re.search(r'data-state="([^"]*)"', page)[1]))
    assert state["spec"]["question"] == question
    assert [answer["text"] for answer in state["spec"]["answers"]] == [text, "yes"]
    assert [answer["correct"] for answer in state["spec"]["answers"]] == [False, True]


@pytest.mark.parametrize(("prompt", "new"), [(0, 1), (1, 0), (193, 1), (1, 65)])
def test_sizes_that_the_widget_cannot_show_are_refused(prompt, new):
    with pytest.raises(UserError, match=r"expected .* from 1 to"):
        viz.cache_work(prompt, new)


def test_without_a_script_the_totals_stand_in_words(monkeypatch):
    monkeypatch.setenv(STATIC_ENV, "1")
    page = viz.cache_work(prompt=64, new=16)._repr_html_()
    fallback = page[page.index("<noscript>") : page.index("</noscript>")]
    for number in ("1,144", "41,640", "79", "3,160"):
        assert number in fallback
