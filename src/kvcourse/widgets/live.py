"""The widgets as anywidget classes, for JupyterLab: the same ES modules, their state as synced traits."""

import anywidget
import traitlets

from kvcourse.widgets import cache_work
from kvcourse.widgets.host import HERE


def _css(module: str) -> str:
    return "".join((HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("common", module))


class Quiz(anywidget.AnyWidget):
    """A multiple-choice question; `spec` holds the question and the answers as `viz.quiz` takes them."""

    _esm = HERE / "quiz.js"
    _css = _css("quiz")
    spec = traitlets.Dict().tag(sync=True)


class CacheWork(anywidget.AnyWidget):
    """Decoding with and without a cache, step by step; `step` 1 is the prefill."""

    _esm = HERE / "cache_work.js"
    _css = _css("cache_work")
    prompt = traitlets.Int(64, min=1, max=cache_work.MAX_PROMPT).tag(sync=True)
    new = traitlets.Int(16, min=1, max=cache_work.MAX_NEW).tag(sync=True)
    step = traitlets.Int(1, min=1, max=cache_work.MAX_NEW).tag(sync=True)


CLASSES = {"quiz": Quiz, "cache_work": CacheWork}
