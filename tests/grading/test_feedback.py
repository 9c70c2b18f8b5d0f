# ruff: noqa: E501  (attacks as one-line entries)
"""Feedback pages: what a learner sees, what they never see, and that nothing in them runs or asks a host."""

import sys
from html import unescape
from pathlib import Path

import pytest
from nbformat.notebooknode import from_dict

from kvcourse.grading import clean_html, feedback, shell
from kvcourse.grading.autograded import build_notebook
from kvcourse.grading.clean_html import MAX_PAGE, clean, markdown, plain
from kvcourse.grading.feedback import HIDDEN_FAILED, render
from kvcourse.grading.outcome import read_outcome
from kvcourse.grading.plan import make_plan
from kvcourse.grading.submission import cells_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hostile_class import live_html

TEST = "assert f(1) == 2, 'visible message'\n### BEGIN HIDDEN TESTS\nassert f(42) == 43  # secret\n### END HIDDEN TESTS"


@pytest.fixture
def page(run_cells):
    """The page of an answer to TEST (or another test)."""

    def page(answer, test=TEST):
        from made_masters import make_master

        outcomes = run_cells(answer, test)
        master = make_master({"test": test}, "def f(n): return n + 1")
        plan = make_plan(master, cells_of(make_master({"test": test}, answer)))
        notebook = build_notebook(master, plan, outcomes)
        got = 2.0 if outcomes["test"].passed else 0.0
        return render(notebook, "a1", {"test": (got, 2.0, False)})

    return page


def test_right_work_shows_its_points_and_its_code(page):
    text = page("def f(n):\n    return n + 1\nprint('hello')")
    assert "2 of 2 points" in text and "hello" in text and "secret" not in text and not live_html(text)


def test_a_visible_failure_shows_its_message_and_the_line(page):
    text = page("def f(n): return 0")
    assert "visible message" in text and "secret" not in text and HIDDEN_FAILED not in text
    assert "HIDDEN TESTS" not in text


RAISES = "import sys\ndef g(): {}\ndef f(n):\n    return g()"
WRITES = "sys.stdout.write(3)"  # sys.stdout is the grader's, and refuses
CRASHES = {
    "in a function": (RAISES.format("return 1 / 0"), ["return 1 / 0", "in g", "in f"]),
    "in a library": (f"import json\n{RAISES.format('json.loads(str())')}", ["json.loads(str())", "decoder.py"]),
    "in an odd call": ("def f(): return 1", ["f() takes 0 positional arguments but 1 was given"]),
    "in the grader's stream": (RAISES.format(WRITES), [WRITES, "must be str, not int"]),
    "in a chain": (
        RAISES.format(f"\n    try:\n        {WRITES}\n    except TypeError as e:\n        raise ValueError('so') from e"),
        [WRITES, "so", "direct cause"],
    ),
    "in a group": (RAISES.format("raise ExceptionGroup('both', [ValueError('one')])"), ["both", "one", "in g"]),
    "without end": ("def f(n): return f(n)", ["def f(n): return f(n)", "more times", "RecursionError"]),
}  # fmt: skip


def quotes_the_grader(text):
    """Lines of the page that name, or stand in, the files that run what was handed in."""
    place = Path(shell.__file__).parent
    own = {
        line.strip() for name in ("connection", "student", "shell") for line in (place / f"{name}.py").open()
    }
    lines = [line.strip(" |") for line in text.splitlines()]
    return [line for line in lines if str(place) in line or (len(line) > 12 and line in own)]


@pytest.mark.parametrize("where", CRASHES)
def test_a_crash_in_a_call_shows_frames_of_the_answer_and_of_libraries_only(page, where):
    answer, shown = CRASHES[where]
    text = unescape(page(answer))
    assert quotes_the_grader(text) == [] and [part for part in shown if part not in text] == []
    assert ("In the code handed in:" in text) == (where != "in an odd call")  # none of it was running


@pytest.mark.parametrize("where", [where for where in CRASHES if where != "without end"])  # 4 s in IPython
def test_a_crash_of_a_cell_shows_frames_of_the_answer_and_of_libraries_only(page, where):
    answer, shown = CRASHES[where]
    text = unescape(page(f"{answer}\nf(1)"))
    assert quotes_the_grader(text) == [] and text.count(shown[0]) > 1  # in the cell, and in its traceback


@pytest.mark.parametrize("field", ["__traceback__", "__class__"])
def test_an_error_that_lies_about_itself_is_told_all_the_same(page, field):
    lie = f"class E(ExceptionGroup):\n    {field} = property(lambda self: 1 / 0)\nraise E('odd', [ValueError(1)])"
    text = page(f"def f(n): return n + 1\n{lie}")
    assert "2 of 2" in text and "E: odd" in text


def test_a_visible_failure_below_a_hidden_part_shows_nothing_of_it(page):
    below = "### BEGIN HIDDEN TESTS\nassert f(42)  # secret\n### END HIDDEN TESTS\nassert f(1) == 2, 'visible message'"
    text = page("def f(n): return 7", below)
    assert "visible message" in text and not any(word in text for word in ("secret", "HIDDEN TESTS", "f(42)"))


def test_a_hidden_failure_shows_neither_source_nor_values_nor_text_of_the_student_s_errors(page):
    text = page("def f(n):\n    if n > 1: raise ValueError(f'got {n + 1000}')\n    return n + 1")
    assert HIDDEN_FAILED in text and not any(word in text for word in ("secret", "1042", "f(42)"))


def test_a_hidden_check_of_the_course_shows_its_hint(page):
    test = (
        "from kvcourse.checks import hidden\n### BEGIN HIDDEN TESTS\n"
        "hidden.integer(f(64), 79, 'rows', quantity='rows_projected', prompt=64, new=16, cached=True)\n"
        "### END HIDDEN TESTS"
    )
    text = page("def f(n): return 80", test)
    assert "is it ever fed to the model" in text.lower() and "79" not in text and HIDDEN_FAILED not in text


def test_a_check_that_shows_values_is_not_shown_from_a_hidden_line(page):
    test = "from kvcourse.checks import check\n### BEGIN HIDDEN TESTS\ncheck.integer(f(64), 79, 'rows')\n### END HIDDEN TESTS"
    text = page("def f(n): return 80", test)
    assert HIDDEN_FAILED in text and "79" not in text


def test_a_student_s_own_check_error_in_a_hidden_line_is_not_shown(page):
    answer = "from kvcourse.checks import CheckFailed\ndef f(n):\n    if n > 1: raise CheckFailed(f'n is {n + 1000}')\n    return n + 1"
    text = page(answer)
    assert HIDDEN_FAILED in text and "1042" not in text


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "<a href='//evil'>x</a>",
     "<iframe src=x></iframe>", "<style>*{}</style>", "<svg onload=alert(1)>", "<b onclick=alert(1)>x</b>",
     "<scr<script>ipt>alert(1)</scr</script>ipt>", "![p](https://evil/p.png)", "<form action=x><input></form>",
     "<!--><script>alert(1)</script>-->", "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
     "<details open ontoggle=alert(1)>x</details>", "```html\n<script>alert(1)</script>\n```", "<p style='x'>y</p>"],
)  # fmt: skip
def test_what_somebody_wrote_is_sanitized(text):
    for html in (clean(text), markdown(text)):
        assert not live_html(html) and "style=" not in html


def test_ordinary_markdown_stays():
    html = markdown("**b** `c`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n\n$x^2$")
    assert all(
        part in html for part in ("<strong>b</strong>", "<code>c</code>", "<td>1</td>", "<li>x</li>", "x^2")
    )


def test_terminal_colours_and_controls_go():
    assert plain("\x1b[31mred\x1b[0m\x1b]0;t\x07\x00ok\n") == "redok\n"


@pytest.mark.parametrize(
    "media", ["image/png", "image/jpeg", "image/svg+xml", "text/html", "text/markdown", "text/latex"]
)
def test_a_shown_object_cannot_leave_its_place(media):
    evil = "'\"><script>alert(1)</script><img src=x onerror=alert(1)>"
    output = {"output_type": "display_data", "data": {media: evil, "text/plain": "x"}, "metadata": {}}
    cell = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [output], "execution_count": 1}
    assert not live_html(render(from_dict({"cells": [cell]}), "<script>", {}))


def test_comments_of_a_person_are_shown_and_sanitized():
    cell = {
        "cell_type": "markdown",
        "source": "mine",
        "metadata": {"nbgrader": {"grade_id": "q6", "solution": True}},
    }
    notebook = from_dict({"cells": [cell]})
    text = render(
        notebook, "a1", {"q6": (1.0, 2.0, False)}, {"q6": "**well** <script>x</script>"}, penalty=0.5
    )
    assert "<strong>well</strong>" in text and "0.5 of 2 points" in text and not live_html(text)


def test_long_outputs_are_cut():
    outcome = read_outcome(
        "t", "student", {"outputs": [{"output_type": "stream", "text": "x\n" * 90_000}], "hidden": [False]}
    )
    cell = {
        "cell_type": "code",
        "metadata": {},
        "source": "1",
        "outputs": outcome.outputs,
        "execution_count": 1,
    }
    text = render(from_dict({"cells": [cell]}), "a1", {})
    assert len(text) < 60_000 and "cut here" in text


@pytest.mark.parametrize(
    "text",
    ["a" + " " * 50_000 + "b", "<div>" * 36_000, "\\begin{a}" * 20_000, "<style>" * 28_000, "> " * 9000],
)
def test_no_parser_sees_a_long_text(text, monkeypatch):
    for parser in ("markdown2html_mistune", "bleach"):
        monkeypatch.setattr(clean_html, parser, None)
    for html in (clean(text), markdown(text)):
        assert html.startswith("<pre>") and html.endswith("</pre>") and not live_html(html)
        assert (len(html) < 100_000 and "cut here" in html) or len(text) < 20_000


def test_a_page_has_only_so_much_of_a_student_s_text_parsed(monkeypatch):
    parsed = []
    for name in ("markdown", "clean", "_code"):
        monkeypatch.setattr(feedback, name, lambda text: parsed.append(len(text)) or "parsed")
    shown = {"text/html": "<i>" * 1000, "text/plain": "in plain text"}
    output = {"output_type": "display_data", "data": shown, "metadata": {}}
    code = {
        "cell_type": "code",
        "metadata": {},
        "source": "f(x) " * 500,
        "outputs": [output] * 5,
        "execution_count": 1,
    }
    text = {"cell_type": "markdown", "metadata": {}, "source": "<b>mine</b>" * 300}
    page = render(from_dict({"cells": [text, code] * 100}), "a1", {})
    assert 0 < sum(parsed) <= MAX_PAGE + feedback.MAX_CODE
    assert "parsed" in page and "in plain text" in page and "&lt;b&gt;mine" in page and not live_html(page)


def test_elements_that_are_dropped_go_with_their_content_and_unclosed_ones_leave_theirs():
    assert clean("a<STYLE>x</style >b<style>c<title>t</title>d<style>") == "abcd"


def test_markup_too_deep_for_its_parser_is_shown_as_typed(monkeypatch):
    def deep(*args, **more):
        raise RecursionError

    monkeypatch.setattr(clean_html.bleach, "clean", deep)
    assert markdown("*a*").startswith("<pre>")


def test_a_whole_page_is_bounded_and_keeps_scores_and_what_fits():
    def cell(n, text):
        output = {"output_type": "display_data", "data": {"image/png": text}, "metadata": {}}
        meta = {"nbgrader": {"grade_id": f"t{n}", "grade": True, "solution": False}}
        return {
            "cell_type": "code",
            "metadata": meta,
            "source": "1",
            "outputs": [output],
            "execution_count": 1,
        }

    cells = [cell(n, "A" * 1_400_000) for n in range(40)] + [cell(40, "BBBB")]
    raw = [{"cell_type": "raw", "metadata": {}, "source": "&" * 20_000}] * 300
    text = render(from_dict({"cells": [*cells, *raw]}), "a1", {f"t{n}": (1.0, 2.0, False) for n in range(41)})
    assert 2_000_000 < len(text) < feedback.MAX_PAGE_SIZE + 100_000
    assert text.count("1 of 2") == 41 and text.count(feedback.FULL) == 1 and "BBBB" in text


# ---- what comes after a hidden test has called -----------------------------------------------------------

COLLECTS = "seen = []\ndef f(n):\n    seen.append(n)\n    return n + 1"


@pytest.fixture
def late_page(zygote):
    """The page of an answer with two functions, f and g, whose tests are TEST and `later`."""

    def late_page(answer, later, own="", known=None, hidden=42):
        from made_masters import cell, make_master
        from nbformat.v4 import new_code_cell

        from kvcourse.grading.runner import Job
        from kvcourse.grading.shown import run_for_feedback

        reference = "def f(n): return n + 1\ndef g(n): return n"
        test = TEST.replace("42", str(hidden)).replace("43", str(hidden + 1))
        master = make_master({"test": test}, reference)
        master.cells.append(cell("later", later, grade=True, locked=True, points=2))
        submitted = make_master({"test": test}, answer)
        submitted.cells += [new_code_cell(own), cell("later", later, grade=True, locked=True, points=2)]
        plan = make_plan(master, cells_of(submitted))
        job = Job(plan.jobs(), plan.exports, cell_seconds=2.0, known=known or {})
        outcomes = {outcome.key: outcome for outcome in run_for_feedback(zygote, job)[0]}
        notebook = build_notebook(master, plan, outcomes)
        grades = {key: (2.0 * outcomes[key].passed, 2.0, False) for key in ("test", "later")}
        return render(notebook, "a1", grades), notebook, outcomes

    return late_page


@pytest.mark.parametrize(
    ("answer", "later", "own"),
    [
        ("def g(n): return n", "pass", "print(seen)"),
        ("def g(n): return n", "pass", "seen"),
        ("def g(n): return n", "pass", "raise ValueError(seen)"),
        ("def g(n): return n", "pass", "from IPython.display import HTML, display\ndisplay(HTML(f'<b>{seen}</b>'))"),
        ("def g(n):\n    print(seen)\n    return n", "g(1)", ""),
        ("def g(n): raise ValueError(seen)", "g(1)", ""),
        ("def g(n): return 1000 + seen[-1]", "from kvcourse.checks import check\ncheck.integer(g(1), 1, 'g(1)')", ""),
        ("def g(n): return str(seen)", "assert g(1) == 1, g(1)", ""),
    ],
)  # fmt: skip
def test_nothing_that_came_after_a_hidden_call_is_shown(late_page, answer, later, own):
    page, notebook, outcomes = late_page(f"{COLLECTS}\n{answer}", later, own)
    assert outcomes["test"].passed and "42" not in page, page
    assert "42" in str([cell.get("outputs") for cell in notebook.cells])  # the instructor sees it


def test_what_the_cells_put_out_without_hidden_lines_is_shown_instead(late_page):
    later = "from kvcourse.checks import check\ncheck.integer(g(1), 1, 'g(1)')"
    page, notebook, outcomes = late_page(f"{COLLECTS}\ndef g(n): return 7", later, "print('own', len(seen))")
    assert "expected: 1 (int)" in page and "got:      7 (int)" in page and "own 0" in page
    assert "own 2" in str(notebook) and not outcomes["later"].passed


def test_a_cell_that_ended_the_process_says_so_whatever_else_is_shown(late_page):
    answer = f"{COLLECTS}\ndef g(n):\n    if len(seen) > 1:\n        import os; os._exit(1)"
    page, _, outcomes = late_page(answer, "g(1)")
    assert "The process that ran the code ended here" in page and outcomes["later"].fault_kind == "PeerDied"


ODD = "seen and seen[-1] % 2"  # of the run with hidden lines, and of its number


@pytest.mark.parametrize(
    "own",
    [
        f"if not seen or {ODD}: print('a bit')",
        f"if not seen or {ODD}: raise ValueError('a bit')",
        f"if {ODD}:\n    import os\n    os._exit(1)",
        f"while {ODD}: pass",
        f"import warnings\nif not seen or {ODD}: warnings.warn('a bit')",
    ],
)
@pytest.mark.parametrize("later", ["g(1)", "print(g(1))"])
def test_whether_a_cell_puts_out_anything_tells_nothing_of_a_hidden_number(late_page, own, later):
    answer = f"{COLLECTS}\ndef g(n):\n    return n"
    known = {"later": [{"output_type": "stream", "name": "stdout", "text": "1\n"}]}
    pages = [late_page(answer, later, f"print('own')\n{own}", known, hidden)[0] for hidden in (70, 71)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("where", ["own", "test"])
def test_what_hung_is_not_waited_for_again(late_page, monkeypatch, where):
    from kvcourse.grading import runner

    jobs = []
    run = runner.Runner.run
    monkeypatch.setattr(runner.Runner, "run", lambda self, job: jobs.append(job) or run(self, job))
    loop = "while True: pass"
    answer = f"{loop}\n" if where == "own" else f"{COLLECTS}\ndef g(n):\n    {loop}"
    page, _, outcomes = late_page(answer, "g(1)", "print('own')")
    assert "longer than 2 seconds and was stopped" in page
    hung = {key for key, outcome in outcomes.items() if outcome.fault_kind == "CellTimeout"}
    assert len(hung) == 1 and not any(cell["key"] in hung for job in jobs[1:] for cell in job.cells)


def test_right_work_needs_no_second_run(late_page, monkeypatch):
    from kvcourse.grading import shown

    later = "g(1)\nprint('the checks pass')"
    known = {"later": [{"output_type": "stream", "name": "stdout", "text": "the checks pass\n"}]}
    monkeypatch.setattr(shown, "without_hidden", None)
    page, _, _ = late_page("def f(n): return n + 1\ndef g(n): return n", later, known=known)
    assert "the checks pass" in page
    with pytest.raises(TypeError):
        late_page("def f(n): return n + 1\ndef g(n): return n", later)


def test_a_notebook_that_another_grader_made_shows_no_output_from_the_first_hidden_test_on():
    def code(source, text):
        out = [{"output_type": "stream", "name": "stdout", "text": text}]
        return {"cell_type": "code", "metadata": {}, "source": source, "outputs": out, "execution_count": 1}

    cells = [code("1", "before"), code(TEST, "during"), code("2", "after")]
    page = render(from_dict({"cells": cells}), "a1", {})
    assert "before" in page and "during" not in page and "after" not in page


def test_a_heading_has_no_sign_of_a_link_behind_it():
    assert "\u00b6" not in markdown("## Problem 2: the formula\n\ntext") and "&#182;" not in markdown("# A")
    assert "Problem 2: the formula</h2>" in markdown("## Problem 2: the formula")
