"""Chapter 2's page: the calculator against the package, by mouse and keyboard, and its boxes."""

import itertools
from dataclasses import asdict

import pytest
from site_harness import module_url

from kvcourse.units import format_size
from kvcourse.widgets import kv_calc

pytestmark = pytest.mark.browser
CHAPTER = "book/ch02.html"
SHAPES = [*kv_calc.models(), kv_calc.Shape("least", 1, 1, 1, 1), kv_calc.Shape("odd", 3, 5, 7, 33)]
SHAPES += [
    kv_calc.Shape("most", *(kv_calc.MOST[key] for key in ("layers", "kv_heads", "head_dim", "parameters")))
]


def size(widget, name: str) -> str:
    return widget.locator(f'[data-size="{name}"]').inner_text()


def test_the_module_computes_what_the_package_computes(visit):
    """Golden values from kvcourse.memory and kvcourse.units; the module runs in the browser."""
    asked, wanted = [], []
    amounts = [(1, 1), (4096, 16), (131_071, 3), (kv_calc.MOST["tokens"], kv_calc.MOST["sequences"])]
    amounts += [(128, 1), (1025, 2)]  # where windows are not yet full, and just are
    for shape, dtype, stored, keeps, (tokens, sequences) in itertools.product(
        SHAPES, kv_calc.CACHE_DTYPES, kv_calc.WEIGHT_DTYPES, kv_calc.KEEPS, amounts
    ):
        found = kv_calc.figures(shape, dtype, tokens, sequences, stored, keeps)
        numbers = {key: getattr(shape, key) for key in ("layers", "kv_heads", "head_dim", "parameters")}
        amount = {"tokens": tokens, "sequences": sequences}
        layers = [asdict(group) for group in shape.groups]
        asked.append(numbers | amount | {"dtype": dtype, "weights": stored, "keeps": keeps, "groups": layers})
        exact = (found.per_token, found.per_sequence, found.total, found.weights, found.passes)
        wanted.append([*map(str, exact), format_size(found.total), format_size(found.total, base=10)])
    shown = visit(CHAPTER).evaluate(
        f"""async asked => {{
            const {{ figures, formatSize }} = await import("{module_url("kv_calc")}");
            return asked.map(input => {{
                const found = figures(input);
                const exact = [found.perToken, found.perSequence, found.total, found.weights, found.passes];
                return [...exact.map(String), formatSize(found.total, true), formatSize(found.total, false)];
            }});
        }}""",
        asked,
    )
    assert shown == wanted


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_calculator_by_mouse_and_keyboard(visit, theme, width):
    page = visit(CHAPTER, theme, width)
    widget = page.locator(".kv-kv-calc")
    status = widget.locator(".kv-status")
    assert "sequence 7." in status.inner_text() and status.get_attribute("aria-live") == "polite"
    assert size(widget, "total-binary") == "32.00 GiB" and size(widget, "total-decimal") == "34.36 GB"
    assert widget.locator(".kv-bar-caches > span").count() == 16
    assert widget.locator(".kv-bar-caches > .kv-over").count() == 10, "sequences 7 to 16 lie beyond"

    widget.get_by_label("Model").select_option("Llama-3.1-8B")
    assert size(widget, "perToken-binary") == "128.00 KiB"
    assert "8 KV heads" in widget.locator(".kv-product").inner_text()

    sequences = widget.get_by_label("Sequences", exact=True)
    sequences.focus()
    page.keyboard.press("ArrowUp")
    assert "17 caches" in status.inner_text()
    slider = widget.get_by_label("Sequences, 1 to 64")
    slider.focus()
    page.keyboard.press("Home")
    assert "1 cache of" in status.inner_text() and sequences.input_value() == "1"
    assert slider.get_attribute("aria-valuetext") == "1 sequence"

    powers = widget.get_by_label("Tokens a sequence, in powers of two")
    powers.focus()
    page.keyboard.press("ArrowRight")
    assert widget.get_by_label("Tokens a sequence", exact=True).input_value() == "8192"

    widget.get_by_label("Cache stored in").select_option("fp8")
    assert size(widget, "perToken-binary") == "64.00 KiB"
    weights = size(widget, "weights-decimal")
    widget.get_by_label("Weights stored in").select_option("fp8")
    assert size(widget, "weights-decimal") != weights and size(widget, "perToken-binary") == "64.00 KiB"
    assert page.visitor.problems == []


def test_a_model_whose_layers_differ(visit):
    page = visit(CHAPTER)
    widget = page.locator(".kv-kv-calc")
    layers, keeps = widget.get_by_label("Layers", exact=True), widget.get_by_label("Layers with a window")
    assert layers.is_visible() and not keeps.is_visible()
    widget.get_by_label("Model").select_option("Gemma-3-27B")
    tokens = widget.get_by_label("Tokens a sequence", exact=True)
    tokens.fill("131072")
    assert size(widget, "perSequence-binary") == "10.41 GiB" and not layers.is_visible()
    assert "52 × sliding window of 1024 tokens" in widget.locator(".kv-kinds").inner_text()
    keeps.select_option("reserved")
    assert size(widget, "perSequence-binary") == "62.00 GiB"

    widget.get_by_label("Model").select_option("Nemotron-H-56B")
    assert not keeps.is_visible()
    tokens.fill("1")
    state = size(widget, "perSequence-binary")
    widget.get_by_label("Parameters, billions").fill("7")
    assert widget.get_by_label("Model").input_value() == "Your own numbers"
    assert size(widget, "perSequence-binary") == state, "another size of the weights keeps the layers"

    widget.get_by_label("Model").select_option("Your own numbers")
    assert layers.is_visible() and not widget.locator(".kv-kinds").is_visible()
    widget.get_by_label("Model").select_option("Llama-2-7B")
    assert size(widget, "perToken-binary") == "512.00 KiB"
    assert page.visitor.problems == []


def test_own_numbers_and_numbers_that_cannot_be(visit):
    page = visit(CHAPTER)
    widget = page.locator(".kv-kv-calc")
    status, layers = widget.locator(".kv-status"), widget.get_by_label("Layers", exact=True)
    layers.fill("40")
    assert widget.get_by_label("Model").input_value() == "Your own numbers"
    assert size(widget, "perToken-binary") == "640.00 KiB"
    for wrong in ("", "0", "-3", "1.5", "1000000"):
        layers.fill(wrong)
        assert status.inner_text() == "Layers: expected a whole number from 1 to 256."
        assert layers.get_attribute("aria-invalid") == "true"
        assert not widget.locator(".kv-sizes").is_visible(), "sizes of other numbers than those typed"
    widget.get_by_label("Model").select_option("Llama-2-7B")  # a model brings good numbers back
    assert layers.input_value() == "32" and layers.get_attribute("aria-invalid") == "false"
    assert size(widget, "perToken-binary") == "512.00 KiB"

    parameters = widget.get_by_label("Parameters, billions")
    parameters.fill("0.5")
    assert size(widget, "weights-decimal") == "1.00 GB"
    assert page.visitor.problems == []


def test_the_three_boxes_stay_ticked(visit):
    page = visit(CHAPTER)
    boxes = page.locator("input.task-list-item-checkbox")
    assert boxes.count() == 3
    page.get_by_label("In the documentation of one server").check()
    page.reload()
    assert [box.is_checked() for box in boxes.all()] == [False, False, True]


def test_without_scripts_the_page_still_says_it(chrome, base):
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base}{CHAPTER}")
    assert "32.00 GiB (34.36 GB)" in page.locator("[data-module=kv_calc]").inner_text()
    box = page.locator("input.task-list-item-checkbox").first
    box.check()
    assert box.is_checked()
    context.close()
