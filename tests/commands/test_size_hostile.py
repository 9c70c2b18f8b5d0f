"""`kvcourse size` on files from strangers: an answer, or one sentence and status 2; never a traceback."""

import contextlib
import copy
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse import cli, registry
from kvcourse.memory.families import FAMILIES

PUBLISHED = [model.config for model in registry.models()]
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
KINDS = ["full_attention", "sliding_attention", "linear_attention", "mamba", "conv", "hybrid", "odd", 3, None]

plain = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 300), st.integers(), st.floats(), st.text(max_size=6),
    st.sampled_from(["4096", "auto", "float32", "M*-E", "LLLG", "null", "\x00", "\u202e", ""]),
)  # fmt: skip
values = st.recursive(
    plain | st.lists(st.sampled_from(KINDS), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from(
    sorted({name for config in PUBLISHED for name in config} | {
        "layer_types", "sliding_window", "text_config", "thinker_config", "linear_attn_config", "block_types",
        "sparse_attention_config", "attn_config", "block_configs", "loop_config", "compress_rates",
        "hybrid_layer_pattern", "kv_source_layers", "attention_types", "num_nextn_predict_layers",
        "architecture", "value_length", "dtype", "indexer_types", "index_topk_pattern", "quantization_config",
        "sliding_window_pattern", "attn_type_list", "layers_block_type", "vision_config",
    })
)  # fmt: skip


def run(content: bytes | dict, *args: str) -> tuple[int, str, str]:
    """Status, output and errors of the command on one file."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_bytes(data)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(["size", str(path), "--tokens", "33", *args])
    return status, out.getvalue(), err.getvalue()


def answers_or_refuses(content: bytes | dict, *args: str) -> None:
    status, out, err = run(content, *args)
    assert status in (0, 2) and bool(out) == (status == 0)
    if status == 2:
        assert len(err.splitlines()) == 1 and err.startswith("kvcourse size: ") and len(err) < 1200
        assert err.isascii() and err.isprintable() is False  # printable but for the line's end
        assert err[:-1].isprintable()


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PUBLISHED), st.dictionaries(fields, values, max_size=4), st.lists(fields, max_size=3))
def test_a_published_configuration_with_odd_fields(config, odd, missing):
    changed = copy.deepcopy(config)
    for part in (changed, changed.get("text_config")):
        if isinstance(part, dict):
            part.update(odd)
            for name in missing:
                part.pop(name, None)
    answers_or_refuses(changed, "--json")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), st.dictionaries(fields, values, max_size=6), st.booleans())
def test_any_type_with_any_fields(model_type, odd, nested):
    config = LLAMA | odd | {"model_type": model_type}
    answers_or_refuses({"model_type": "llava", "text_config": config} if nested else config, "--explain")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(content):
    answers_or_refuses(content)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), fields, values)
def test_any_assumption(model_type, field, value):
    text = f"{field}={json.dumps(value)}"
    answers_or_refuses(LLAMA | {"model_type": model_type}, "--assume", text, "--source", "5")


@pytest.mark.parametrize("depth", [50, 900, 30_000])
@pytest.mark.parametrize("field", ["text_config", "num_hidden_layers", "quantization_config", "attn_config"])
@pytest.mark.parametrize("shape", [("[", "]"), ('{"text_config":', "}")])
def test_deep_nesting(depth, field, shape):
    first, last = shape
    deep = first * depth + ("0" if first == "[" else "{}") + last * depth
    content = json.dumps(LLAMA)[:-1] + f', "{field}": {deep}}}'
    answers_or_refuses(content.encode())


@pytest.mark.parametrize(
    "field", ["quantization_config", "layer_types", "kv_odd", "num_hidden_layers", "no_rope_layers"]
)
def test_ten_megabytes_of_one_list(field):
    listed = [f"model.layers.{i}.self_attn.q_proj" for i in range(250_000)]
    answers_or_refuses(LLAMA | {field: listed})
    answers_or_refuses(LLAMA | {field: {"ignored_layers": listed}})


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_a_list_of_layers_whose_length_disagrees(depth):
    for model_type, name, kind in (
        ("qwen3", "layer_types", "full_attention"),
        ("zamba2", "layers_block_type", "mamba"),
        ("gpt_neo", "attention_layers", "global"),
    ):
        raw = LLAMA | {"num_key_value_heads": 2, "num_layers": 2, "num_heads": 4}
        raw |= {"model_type": model_type, name: [kind] * depth}
        status, _, err = run(raw)
        assert status == 2 and (name in err or "attention_types" in err)
