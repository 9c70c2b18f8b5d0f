"""Drawn `config.json` files: the measured tensors against the planner's layers, and against its reader."""

import random

import pytest

from kvcourse import registry
from kvcourse.checks import CheckFailed, check, hidden
from kvcourse.checks.config_files import draw_file, hybrid, servable, source_of
from kvcourse.memory import from_config

KINDS = ["grouped", "plain", "null", "multi_query", "nested", "renamed", "value", "listed", "windowed",
         "pattern", "off", "latent", "linear", "states"]  # fmt: skip
# What the planner calls files whose type it must know; the others name theirs or are of no published type.
READ_AS = {
    "grouped": "llama",
    "plain": "llama",
    "null": "llama",
    "windowed": "mistral",
    "latent": "deepseek_v3",
}


@pytest.mark.parametrize("kind", KINDS)
def test_measured_tensors_are_those_of_the_layers(kind):
    for seed in range(30):
        file = draw_file(random.Random(seed), kind)
        for tokens in (1, 99, 100, 101, 3000, 70_000):
            assert file.nbytes(tokens) == file.model.bytes(tokens)


@pytest.mark.parametrize("kind", READ_AS)
def test_the_planner_reads_the_same(kind):
    for seed in range(30):
        file = draw_file(random.Random(seed), kind)
        read = from_config({"model_type": READ_AS[kind]} | file.config)
        assert read.layers == file.model.layers


def test_patterns_of_classes_are_those_of_the_classes():
    drawn = [draw_file(random.Random(seed), "pattern") for seed in range(60)]
    named = [file for file in drawn if "model_type" in file.config]
    assert {file.config["model_type"] for file in named} == {"gemma2", "gemma3_text", "gpt_oss"}
    for file in named:
        assert from_config(file.config).layers == file.model.layers


def test_kinds_differ_from_the_formula_of_full_layers():
    """A file of another kind whose cache came out as Llama's would test nothing."""
    for kind in ("value", "listed", "windowed", "pattern", "latent", "linear", "states"):
        for seed in range(30):
            file, tokens = draw_file(random.Random(seed), kind), 50_000
            heads, dim = file.config["num_key_value_heads"], file.config.get("head_dim", 64)
            assert file.nbytes(tokens) != 4 * file.config["num_hidden_layers"] * heads * dim * tokens


def test_servable_models_are_of_the_four_kinds():
    names = set(servable())
    assert {"Llama-3.1-8B", "Gemma-3-27B", "gpt-oss-120b", "DeepSeek-V3", "Kimi-K2", "Qwen3.5-27B"} <= names
    others = {
        "DeepSeek-V3.2",
        "DeepSeek-V4-Pro",
        "GLM-5.2",
        "Llama-4-Scout",
        "Nemotron-H-56B",
        "Whisper-base",
    }
    assert not names & others and len(names) >= 60
    assert all(model.max_tokens >= 1000 for model in servable().values())


def test_sources_are_the_registrys_or_the_models_own_page():
    known = registry.find("Qwen3-8B")
    for source in (known.source, "https://huggingface.co/Qwen/Qwen3-8B", "https://huggingface.co/x/qwen3_8b"):
        assert source_of(known.name, source)
    for source in ("https://huggingface.co/openai-community/gpt2", "http://example.org/Qwen3-8B", "", "http"):
        assert not source_of(known.name, source)


def test_a_wrong_cache_of_layers_earns_its_hint():
    model = hybrid([100, None], 24)
    right = 24 * (100 + 5000)
    check.integer(right, right, "f()", quantity="cache_of_layers", model=model, tokens=5000)
    with pytest.raises(CheckFailed, match="ignores the window"):
        check.integer(48 * 5000, right, "f()", quantity="cache_of_layers", model=model, tokens=5000)
    with pytest.raises(CheckFailed, match="applies the window to every layer") as failed:
        hidden.integer(4800, right, "f()", quantity="cache_of_layers", model=model, tokens=5000)
    assert "4,800" not in str(failed.value) and f"{right:,}" not in str(failed.value)


def test_values_as_wide_as_keys_are_known():
    file = draw_file(random.Random(1), "value")
    full = file.model.layers[0]
    wrong = 4 * len(file.model.layers) * full.kv_heads * full.head_dim
    with pytest.raises(CheckFailed, match="takes values for as wide as keys"):
        check.integer(wrong, file.nbytes(1), "f()", quantity="cache_of_layers", model=file.model, tokens=1)
