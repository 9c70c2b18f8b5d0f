"""The calculator's figures, its first state, and that the page's module knows the same bounds."""

import json
import re

import pytest
import traitlets
from hypothesis import given
from hypothesis import strategies as st

from kvcourse import registry, viz
from kvcourse.errors import UserError
from kvcourse.memory import (
    CacheModel,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    RecurrentState,
    SlidingAttention,
    from_config,
)
from kvcourse.widgets import STATIC_ENV, StaticWidget, kv_calc
from kvcourse.widgets.host import HERE
from kvcourse.widgets.live import KvCalc

SCRIPT = (HERE / "kv_calc.js").read_text(encoding="utf-8")


def test_the_lessons_example():
    """Llama-2-7B in fp16: 512 KiB a token, 2 GiB a sequence, 32 GiB for sixteen, passed by the seventh."""
    llama = kv_calc.models()[0]
    found = kv_calc.figures(llama, "fp16", 4096, 16, "fp16")
    assert found == kv_calc.Figures(512 * 2**10, 2 * 2**30, 32 * 2**30, 13_476_831_232, 7)


@given(
    layers=st.integers(1, 200),
    heads=st.integers(1, 128),
    width=st.integers(1, 512),
    tokens=st.integers(1, 10**6),
    sequences=st.integers(1, 500),
    parameters=st.integers(1, 10**12),
)
def test_the_caches_pass_the_weights_just_there(layers, heads, width, tokens, sequences, parameters):
    shape = kv_calc.Shape("any", layers, heads, width, parameters)
    found = kv_calc.figures(shape, "fp16", tokens, sequences, "fp8")
    assert found.total == 2 * layers * heads * width * 2 * tokens * sequences
    assert found.weights == parameters
    assert (found.passes - 1) * found.per_sequence <= found.weights < found.passes * found.per_sequence


def test_named_models_are_of_all_three_kinds():
    heads = {shape.name: shape.kv_heads for shape in kv_calc.models()}
    assert heads["Llama-2-7B"] == 32 and heads["Llama-3.1-8B"] == 8 and heads["Falcon-7B"] == 1
    assert list(heads) == list(kv_calc.NAMES)


@pytest.mark.parametrize("model", registry.models(), ids=lambda model: model.name)
@pytest.mark.parametrize("dtype", kv_calc.CACHE_DTYPES)
def test_terms_are_the_layers_of_the_package(model, dtype):
    """The terms that the page computes with, evaluated here, against the kinds of layers themselves."""
    plain = {"fp32": 4, "fp16": 2, "fp8": 1}[dtype]
    for layer, _ in from_config(model.config).groups():
        if isinstance(layer, CompressedAttention):
            continue  # its rows are neither a token's nor constant, and no named model has it
        for tokens in (1, 7, 128, 1024, 1025, 300_000):
            ours = sum(
                (limit if rows == "always" or 0 < limit < tokens else tokens)
                * numbers
                * (stored if stored > 0 else max(plain, 2) if stored < 0 else plain)
                for rows, limit, numbers, stored in kv_calc.terms(layer)
            )
            assert ours == CacheModel((layer,)).bytes(tokens, dtype=dtype), (layer, tokens)


def test_named_models_are_of_every_kind_of_layer():
    kinds = {
        type(layer) for name in kv_calc.NAMES for layer in from_config(registry.find(name).config).layers
    }
    assert kinds >= {FullAttention, SlidingAttention, LatentAttention, RecurrentState, CrossAttention}


def test_the_module_has_the_same_bounds_and_dtypes():
    bounds = re.search(r"const MOST = \{ (.+?) \};", SCRIPT)[1]
    assert {name: int(most) for name, most in re.findall(r"(\w+): (\d+)", bounds)} == kv_calc.MOST
    for constant, known in (
        ("CACHE", kv_calc.CACHE_DTYPES),
        ("WEIGHTS", kv_calc.WEIGHT_DTYPES),
        ("KEEPS", kv_calc.KEEPS),
    ):
        written = re.search(rf"const {constant} = \{{ (.+?) \}};", SCRIPT)[1]
        assert tuple(re.findall(r"(\w+): ", written)) == known


def test_in_a_notebook_and_on_the_site(monkeypatch):
    monkeypatch.delenv(STATIC_ENV, raising=False)
    live = viz.kv_calc("Llama-3.1-8B", tokens=131_072, sequences=1, dtype="fp8", weights="q4_0")
    assert isinstance(live, KvCalc) and (live.kv_heads, live.tokens, live.dtype) == (8, 131_072, "fp8")
    with pytest.raises(traitlets.TraitError):
        live.layers = kv_calc.MOST["layers"] + 1
    monkeypatch.setenv(STATIC_ENV, "1")
    static = viz.kv_calc("Llama-3.1-8B", tokens=131_072, sequences=1, dtype="fp8", weights="q4_0")
    assert isinstance(static, StaticWidget)
    assert static.state == {name: getattr(live, name) for name in static.state}
    assert json.loads(json.dumps(static.state)) == static.state


def test_without_a_script_the_figures_stand_in_words(monkeypatch):
    monkeypatch.setenv(STATIC_ENV, "1")
    page = viz.kv_calc()._repr_html_()
    for figure in ("512.00 KiB (524.29 kB)", "2.00 GiB (2.15 GB)", "32.00 GiB (34.36 GB)", "sequence 7"):
        assert figure in page


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "Llama-9"}, "expected a model among Llama-2-7B"),
        ({"dtype": "int3"}, "expected dtype among fp32, fp16, fp8"),
        ({"weights": None}, "expected weights among"),
        ({"keeps": "all"}, "expected keeps among used, reserved"),
        ({"tokens": 0}, "expected tokens from 1 to 2,000,000"),
        ({"tokens": True}, "expected tokens from 1"),
        ({"sequences": 10_001}, "expected sequences from 1 to 10,000"),
        ({"sequences": 1.5}, "expected sequences from 1"),
    ],
)
def test_what_the_calculator_cannot_show_is_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        viz.kv_calc(**wrong)
