"""What a reader does on the pages: widgets and quizzes by mouse and keyboard, folds, theme, search."""

import json

import pytest
import torch
from site_harness import ROOT, Visitor, module_url, served

from kvcourse.caches import GrowingCache
from kvcourse.course.work import chapters
from kvcourse.decoder import tiny_model

pytestmark = pytest.mark.browser
CHAPTER = "book/ch01.html"
CASES = [(1, 1), (1, 6), (2, 2), (7, 9), (64, 16)]  # prompt, new tokens


def counters(widget) -> dict[str, int]:
    cells = widget.locator("[data-counter]").all()
    return {cell.get_attribute("data-counter"): int(cell.inner_text().replace(",", "")) for cell in cells}


def counted_work(prompt: int, new: int) -> dict[bool, list[tuple[int, int]]]:
    """Return a real decoder's counters after 1, 2, ... `new` tokens, without a cache (False) and with one."""
    model = tiny_model()
    ids = [i % model.config.vocab_size for i in range(prompt)]
    work = {False: [], True: []}
    for cached, counts in work.items():
        for steps in range(1, new + 1):
            model.counters.reset()
            model.generate(ids, steps, cache=GrowingCache(model.config) if cached else None)
            counts.append((model.counters.rows_projected, model.counters.score_pairs))
    return work


def test_the_widget_counts_what_a_decoder_counts(visit):
    """The module's formulas, run in the browser, against the package's counters of real generations."""
    page = visit(CHAPTER)
    ask = f"""async cases => {{
        const {{ totalWork }} = await import("{module_url("cache_work")}");
        return cases.map(([p, n]) => [false, true].map(cached => Array.from({{length: n}}, (_, i) => {{
            const work = totalWork(p, i + 1, cached);
            return [work.rows, work.pairs];
        }})));
    }}"""
    with torch.no_grad():
        for (prompt, new), shown in zip(CASES, page.evaluate(ask, CASES), strict=True):
            work = counted_work(prompt, new)
            assert shown == [[list(step) for step in work[cached]] for cached in (False, True)], (prompt, new)


@pytest.mark.parametrize("width", [1280, 390])
def test_cache_work_by_mouse_and_keyboard(visit, width):
    page = visit(CHAPTER, width=width)
    widget = page.locator(".kv-cache-work").first
    status = widget.locator(".kv-status")
    state = json.loads(widget.get_attribute("data-state"))
    prompt, new = state["prompt"], state["new"]
    assert counters(widget)["rows-total-with"] == prompt

    widget.get_by_role("button", name="Next").click()
    after_one = counters(widget)
    assert after_one["rows-step-without"] == prompt + 1 and after_one["rows-step-with"] == 1
    assert widget.locator(".kv-row-again").count() > prompt  # the legend holds one more
    assert "Step 2" in status.inner_text() and status.get_attribute("aria-live") == "polite"

    widget.get_by_role("button", name="Last step").focus()
    page.keyboard.press("Enter")
    assert counters(widget)["rows-total-with"] == prompt + new - 1

    slider = widget.get_by_label("Prompt length")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert counters(widget)["rows-total-with"] == prompt + new
    page.keyboard.press("Home")
    assert counters(widget)["rows-total-with"] == new
    assert slider.get_attribute("aria-valuetext") == "1 token"

    steps = widget.get_by_label("Step", exact=True)
    steps.focus()
    page.keyboard.press("Home")
    assert "Step 1 of" in status.inner_text()
    page.keyboard.press("ArrowRight")
    assert "Step 2 of" in status.inner_text()

    widget.get_by_label("New tokens").focus()
    page.keyboard.press("Home")  # fewer steps than the one shown: back to the last there is
    assert "Step 1 of 1" in status.inner_text()
    assert page.visitor.problems == []


def test_play_runs_to_the_end_and_pause_stops_it(visit):
    page = visit(CHAPTER)
    page.clock.install()
    page.reload()
    widget = page.locator(".kv-cache-work").first
    new = json.loads(widget.get_attribute("data-state"))["new"]
    play = widget.get_by_role("button", name="Play")
    play.click()
    page.clock.run_for(1500)
    assert "Step 3 of" in widget.locator(".kv-status").inner_text()
    widget.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert "Step 3 of" in widget.locator(".kv-status").inner_text()
    play.click()
    page.clock.run_for(700 * (new + 2))
    assert f"Step {new} of {new}" in widget.locator(".kv-status").inner_text()
    assert widget.get_by_role("button", name="Play").is_visible()


@pytest.mark.parametrize("chapter", [path.stem for path in chapters(ROOT)])
def test_quizzes_answer_every_option(visit, chapter):
    """Each option gives its own feedback and says right or wrong in words; quizzes do not mix."""
    page = visit(f"book/{chapter}.html", width=390)
    quizzes = page.locator(".kv-quiz").all()
    assert len(quizzes) >= 4
    positions = set()
    for quiz in quizzes:
        spec = json.loads(quiz.get_attribute("data-state"))["spec"]
        assert len({answer["text"] for answer in spec["answers"]}) == len(spec["answers"])
        feedback, check = quiz.get_by_role("status"), quiz.get_by_role("button", name="Check")
        check.click()
        assert feedback.inner_text().startswith("Choose an answer first.")
        for i, answer in enumerate(spec["answers"]):
            quiz.get_by_role("radio").nth(i).check()
            assert feedback.inner_text() == ""
            check.click()
            verdict = "✓ Correct." if answer["correct"] else "✗ Not yet."
            assert feedback.inner_text() == f"{verdict} {answer['feedback'].replace('`', '')}"
            if answer["correct"]:
                positions.add(i)
    assert len(positions) > 1, "the right answer stands at the same place in every quiz"
    assert page.visitor.problems == []


def test_quiz_by_keyboard(visit):
    page = visit(CHAPTER)
    quiz = page.locator(".kv-quiz").first
    quiz.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert quiz.get_by_role("radio").nth(1).is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert quiz.get_by_role("status").inner_text() != ""


def test_a_page_from_disk_works_too(chrome, site):
    """A reader who unpacked the site and opens a file: no server, so no module may be loaded."""
    visitor = Visitor(chrome, "file://")
    page = visitor.open((site / CHAPTER).as_uri())
    widget = page.locator(".kv-cache-work").first
    widget.get_by_role("button", name="Next").click()
    assert "Step 2" in widget.locator(".kv-status").inner_text()
    assert page.locator(".kv-quiz form").count() >= 1
    assert visitor.problems == []
    visitor.close()


@pytest.mark.full
def test_boxes_to_tick_have_a_label_and_stay_ticked(chrome, tiny_book):
    folder, write, build = tiny_book
    write("# Page\n\n- [ ] pick a model\n- [ ] compute {math}`2L` of it\n")
    status, output = build()
    assert status == 0, output
    with served(folder / "build/_build/html") as base:
        visitor = Visitor(chrome, base)
        page = visitor.open("book/page.html")
        page.get_by_label("pick a model").check()
        page.reload()
        boxes = page.locator("input.task-list-item-checkbox")
        assert [box.is_checked() for box in boxes.all()] == [True, False]
        assert visitor.problems == []
        visitor.close()


def test_without_a_script_the_page_still_says_it(chrome, base):
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base + CHAPTER)
    seen = "paragraphs => paragraphs.filter(p => p.offsetHeight > 0).map(p => p.textContent)"
    told = " ".join(page.locator("noscript p").evaluate_all(seen))
    assert "1,144 token rows are projected" in told and "Checking an answer needs JavaScript." in told
    context.close()


def test_on_paper_there_are_no_controls(visit):
    page = visit(CHAPTER)
    page.emulate_media(media="print")
    for control in (".kv-sliders", ".kv-quiz button", ".bd-sidebar-primary", ".kv-report"):
        assert not page.locator(control).first.is_visible(), control
    for content in (".kv-rows", ".kv-counters", ".kv-quiz legend", ".kv-fig svg"):
        assert page.locator(content).first.is_visible(), content


def test_theme_switch(visit):
    page = visit(CHAPTER)
    background = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(background)
    switch = page.locator("button.theme-switch-button:visible").first
    for _ in range(2):  # light, then as the system says (light here), then dark
        switch.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(background) != before


def test_search_finds_a_word_of_the_chapter(visit):
    page = visit("book/index.html")
    page.locator("button.search-button:visible, button.search-button__button:visible").first.click()
    page.keyboard.type("prefill")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    found = page.locator("#search-results li a").evaluate_all("links => links.map(link => link.href)")
    assert any(CHAPTER in link for link in found)
    assert page.visitor.problems == []


def test_solutions_open_only_by_choice(visit):
    page = visit("book/solutions-a1.html")
    folds = page.locator("details.kv-solution")
    assert folds.count() >= 6
    assert not any(folds.evaluate_all("folds => folds.map(fold => fold.open)"))
    code = folds.first.locator("pre, p").first
    assert not code.is_visible()
    folds.first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert code.is_visible()


def test_the_report_link_holds_the_page_and_the_questions(visit):
    from urllib.parse import parse_qs, urlsplit

    page = visit(CHAPTER)
    link = page.locator(".kv-report a").get_attribute("href")
    parts = urlsplit(link)
    fields = {key: values[0] for key, values in parse_qs(parts.query).items()}
    title = page.locator("h1").first.inner_text().rstrip("#").split(". ", 1)[-1].strip()
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == "https://github.com/kvcourse/kvcourse/issues/new"
    assert fields["title"] == f"Not landing: {title}"
    assert "where it lost me" in fields["body"] and "book/ch01.html" in fields["body"]
