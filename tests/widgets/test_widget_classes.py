"""The widgets' Python side: live classes, static form, and the counts they promise."""

import re

import anywidget
import pytest
import traitlets

from kvcourse import viz
from kvcourse.caches import GrowingCache, PreallocatedCache
from kvcourse.decoder import tiny_model
from kvcourse.widgets import STATIC_ENV, StaticWidget, cache_work
from kvcourse.widgets.host import HERE, MODULES, module_source
from kvcourse.widgets.live import CLASSES, CacheWork, Quiz

ANSWERS = [
    {"text": "no", "feedback": "It is not."},
    {"text": "yes", "feedback": "It is.", "correct": True},
]


def synced(widget) -> set[str]:
    own = set(widget.traits(sync=True)) - set(anywidget.AnyWidget.class_traits(sync=True))
    return {name for name in own if not name.startswith("_")}


def test_every_module_has_its_style_and_its_class():
    assert MODULES == sorted(CLASSES) == sorted({path.stem for path in HERE.glob("*.css")} - {"common"})


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_live_widgets_carry_the_module_of_the_page(name):
    widget = CLASSES[name]()
    assert str(widget._esm) == module_source(name)
    assert ".kv-box" in widget._css and f".kv-{name.replace('_', '-')}" in widget._css
    used = set(re.findall(r'model\.[gs]et\("(\w+)"', str(widget._esm)))
    assert used <= synced(widget), "the module reads a trait that the class does not have"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_stands_alone_with_what_it_takes_from_the_shared_one(name):
    written = (HERE / f"{name}.js").read_text(encoding="utf-8")
    line, names = re.search(r'^(import \{ (.+) \} from "\./common\.js";\n)', written, re.MULTILINE).groups()
    head, body = written.split(line)
    for taken in names.split(", "):
        assert taken in exported(), f"common.js does not export {taken}"
        assert re.search(rf"\b{taken}\b", body), f"{name}.js imports {taken} and does not use it"
    alone = module_source(name)
    assert alone.startswith(f"{head}const {{ {names} }} = (() => {{\n") and alone.endswith(f"}})();\n{body}")
    assert not re.search(r"^\s*import\b", alone, re.MULTILINE)
    assert alone.count("export ") == written.count("export "), "the shared module's exports stay inside"


def test_the_shared_module_has_what_two_widgets_need_and_no_more():
    takers = [(HERE / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    for name in exported():
        assert sum(bool(re.search(rf"^import .*\b{name}\b", text, re.MULTILINE)) for text in takers) > 1, name


def exported() -> list[str]:
    common = (HERE / "common.js").read_text(encoding="utf-8")
    return re.findall(r"^export (?:const|function) (\w+)", common, re.MULTILINE)


def test_quiz_in_a_notebook(monkeypatch):
    monkeypatch.delenv(STATIC_ENV, raising=False)
    quiz = viz.quiz("Is it?", ANSWERS)
    assert isinstance(quiz, Quiz)
    assert quiz.spec["question"] == "Is it?"
    assert [answer["correct"] for answer in quiz.spec["answers"]] == [False, True]
    assert "correct" not in ANSWERS[0], "the author's list was changed"


def test_cache_work_in_a_notebook_and_on_the_site(monkeypatch):
    monkeypatch.delenv(STATIC_ENV, raising=False)
    live = viz.cache_work(prompt=8, new=3)
    assert isinstance(live, CacheWork) and (live.prompt, live.new, live.step) == (8, 3, 1)
    with pytest.raises(traitlets.TraitError):
        live.prompt = cache_work.MAX_PROMPT + 1
    monkeypatch.setenv(STATIC_ENV, "1")
    static = viz.cache_work(prompt=8, new=3)
    assert isinstance(static, StaticWidget)
    assert static.state == {name: getattr(live, name) for name in synced(live)}


def test_the_module_and_the_classes_have_the_same_bounds():
    script = (HERE / "cache_work.js").read_text(encoding="utf-8")
    bounds = dict(re.findall(r"const (MAX_\w+) = (\d+);", script))
    assert bounds == {"MAX_PROMPT": str(cache_work.MAX_PROMPT), "MAX_NEW": str(cache_work.MAX_NEW)}


def test_the_lessons_example():
    assert cache_work.totals(64, 16, cached=False) == cache_work.Work(1144, 41640)
    assert cache_work.totals(64, 16, cached=True) == cache_work.Work(79, 3160)


@pytest.mark.parametrize(("prompt", "new"), [(1, 1), (1, 5), (2, 2), (7, 9), (40, 3)])
def test_totals_are_what_a_decoder_counts(prompt, new):
    model = tiny_model()
    ids = [i % model.config.vocab_size for i in range(prompt)]
    caches = [None, GrowingCache(model.config), PreallocatedCache(model.config, prompt + new)]
    for cache in caches:
        model.counters.reset()
        model.generate(ids, new, cache=cache)
        counted = cache_work.Work(model.counters.rows_projected, model.counters.score_pairs)
        assert cache_work.totals(prompt, new, cached=cache is not None) == counted
