"""The widgets as anywidget classes, for JupyterLab: the same ES modules, their state as synced traits."""

import anywidget
import traitlets

from kvcourse.widgets import allocator, block_table, cache_work, kv_calc
from kvcourse.widgets.host import HERE, module_source


def _css(module: str) -> str:
    return "".join((HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("common", module))


class Quiz(anywidget.AnyWidget):
    """A multiple-choice question; `spec` holds the question and the answers as `viz.quiz` takes them."""

    _esm = module_source("quiz")
    _css = _css("quiz")
    spec = traitlets.Dict().tag(sync=True)


class CacheWork(anywidget.AnyWidget):
    """Decoding with and without a cache, step by step; `step` 1 is the prefill."""

    _esm = module_source("cache_work")
    _css = _css("cache_work")
    prompt = traitlets.Int(64, min=1, max=cache_work.MAX_PROMPT).tag(sync=True)
    new = traitlets.Int(16, min=1, max=cache_work.MAX_NEW).tag(sync=True)
    step = traitlets.Int(1, min=1, max=cache_work.MAX_NEW).tag(sync=True)


class KvCalc(anywidget.AnyWidget):
    """What a cache costs, beside `parameters` weights stored in the dtype `weights`.

    `groups` are the kinds of layers of a model whose layers differ, and then stand for the three numbers.
    """

    _esm = module_source("kv_calc")
    _css = _css("kv_calc")
    models = traitlets.List().tag(sync=True)
    model = traitlets.Unicode().tag(sync=True)
    groups = traitlets.List().tag(sync=True)
    keeps = traitlets.Enum(kv_calc.KEEPS, "used").tag(sync=True)
    layers = traitlets.Int(1, min=1, max=kv_calc.MOST["layers"]).tag(sync=True)
    kv_heads = traitlets.Int(1, min=1, max=kv_calc.MOST["kv_heads"]).tag(sync=True)
    head_dim = traitlets.Int(1, min=1, max=kv_calc.MOST["head_dim"]).tag(sync=True)
    dtype = traitlets.Enum(kv_calc.CACHE_DTYPES, "fp16").tag(sync=True)
    parameters = traitlets.Int(1, min=1, max=kv_calc.MOST["parameters"]).tag(sync=True)
    weights = traitlets.Enum(kv_calc.WEIGHT_DTYPES, "fp16").tag(sync=True)
    tokens = traitlets.Int(1, min=1, max=kv_calc.MOST["tokens"]).tag(sync=True)
    sequences = traitlets.Int(1, min=1, max=kv_calc.MOST["sequences"]).tag(sync=True)


class BlockTable(anywidget.AnyWidget):
    """Block tables over one pool; `operations` is all that was done, in the form of `block_table.replay`."""

    _esm = module_source("block_table")
    _css = _css("block_table")
    block_size = traitlets.Enum(block_table.BLOCK_SIZES, 4).tag(sync=True)
    operations = traitlets.List().tag(sync=True)
    sequence = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0, min=0).tag(sync=True)


class Allocator(anywidget.AnyWidget):
    """A pool under four policies; `requests` are [prompt, output], `added` [step, prompt, output]."""

    _esm = module_source("allocator")
    _css = _css("allocator")
    policy = traitlets.Enum(tuple(allocator.POLICIES), "max").tag(sync=True)
    step = traitlets.Int(1, min=1, max=allocator.STEPS).tag(sync=True)
    requests = traitlets.List().tag(sync=True)
    added = traitlets.List().tag(sync=True)


CLASSES = {
    "quiz": Quiz,
    "cache_work": CacheWork,
    "kv_calc": KvCalc,
    "allocator": Allocator,
    "block_table": BlockTable,
}
