"""Servers for test cells, against the package's own engines and its reader of logs."""

import random

import pytest

from kvcourse.checks.servers import (
    COUNTS,
    SETTINGS,
    beside,
    counts,
    draw_device,
    draw_log,
    room_tokens,
    setting,
)
from kvcourse.engines import Device, find_engine, read_log

ENGINES = ["vLLM", "SGLang", "TensorRT-LLM"]


@pytest.mark.parametrize(
    ("server", "name", "letter"),
    [("vLLM", "--gpu-memory-utilization", "a"), ("vLLM", " gpu_memory_utilization=0.9 ", "a"),
     ("vLLM", "--kv-cache-memory-bytes 4000000000", "d"), ("SGLang", "--mem-fraction-static", "a"),
     ("TensorRT-LLM", "KvCacheConfig.free_gpu_memory_fraction", "b"), ("TensorRT-LLM", "max_tokens", "c"),
     ("llama.cpp", "-c", "c"), ("llama.cpp", "LLAMA_ARG_CTX_SIZE", "c"), ("Ollama", "num_ctx", "c"),
     ("Ollama", "OLLAMA_CONTEXT_LENGTH=8192", "c"), ("Transformers", "--cb-max-memory-percent", "b"),
     ("vLLM", "--max-model-len", ""), ("vLLM", "--ctx-size", ""), ("SGLang", "", ""), ("Ollama", "--", "")],
)  # fmt: skip
def test_names_of_settings(server, name, letter):
    assert counts(server, name) == letter


def test_every_setting_counts_something_and_none_is_beside_the_point():
    assert len(SETTINGS) == 6
    for names in SETTINGS.values():
        for name, letter in names.items():
            assert letter in COUNTS and setting(name) == name and beside(name) == ""


@pytest.mark.parametrize(
    "name", ["--max-model-len", "--max_num_seqs", "-ngl", "--cache-type-k", "--block-size=16"]
)
def test_well_known_settings_that_are_not_it(name):
    assert beside(name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tight", [False, True])
def test_tokens_are_those_of_the_engines_own_rule(engine, tight):
    for seed in range(40):
        device = draw_device(random.Random(seed), engine, tight and engine == "SGLang")
        found = Device(device["total"], device["weights"], device["other"])
        room = find_engine(engine).pool_bytes(found, device["fraction"])
        block = device["block"] * device["token_bytes"]
        assert room_tokens(engine, device) == room // block * device["block"]
        assert 0.03 < room / block % 1 < 0.97  # a float's rounding cannot move a block


def test_a_tight_device_has_no_room_for_activations_in_sglangs_rest():
    for seed in range(40):
        device = draw_device(random.Random(seed), "SGLang", tight=True)
        assert device["other"] > (1 - device["fraction"]) * device["total"]


@pytest.mark.parametrize("wrong", ["agree", "tokens", "concurrency"])
def test_logs_disagree_where_they_say(wrong):
    for seed in range(40):
        text, facts = draw_log(random.Random(seed), wrong)
        reading = read_log(text)
        assert reading.engine == "vLLM" and reading.tokens == facts["printed"]
        size = facts["token_bytes"]
        agrees = reading.pool.meets(reading.tokens * size, (reading.tokens + 16) * size)
        assert agrees == (wrong != "tokens")
        assert all(check.agrees for check in reading.checks) == (wrong != "concurrency")
        assert abs(facts["gib"] * 2**30 / size / facts["tokens"] - 1) < 0.002
        if wrong == "tokens":
            assert abs(facts["printed"] / facts["tokens"] - 1) > 0.05
