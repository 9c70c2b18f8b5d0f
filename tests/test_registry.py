"""Published models as facts: every entry readable, sourced and counted; names found as people write them."""

import re

import pytest

from kvcourse import registry
from kvcourse.errors import ConfigError, UserError
from kvcourse.memory import count_parameters, from_config
from kvcourse.memory.parameters import RECIPES

MODELS = registry.models()
NOT_COVERED = set()


def test_there_are_enough_and_no_name_means_two():
    assert len(MODELS) >= 30
    names = [registry._key(name) for model in MODELS for name in {model.name, *model.aliases}]
    spellings = {}
    for model in MODELS:
        for name in (model.name, *model.aliases):
            assert spellings.setdefault(registry._key(name), model.name) == model.name
    assert len(set(names)) == len(spellings)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_entry_is_sourced_and_sizes_a_cache(model):
    assert model.source.startswith("https://")
    assert model.source_kind in ("configuration", "library", "model card", "paper")
    try:
        cache = from_config(model.config)
    except ConfigError:
        assert model.name in NOT_COVERED
    else:
        assert cache.bytes(1) > 0 and cache.max_tokens
        assert model.name not in NOT_COVERED


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_name_tells_the_count(model):
    """ "7B" in a name and the parameters counted agree roughly: Gemma's "2B" have 2.5 and 2.6."""
    told = re.search(r"(?<![a-z\d.])(\d+(?:\.\d+)?)([bm])\b", model.name.lower())
    if told and model.parameters:
        claimed = float(told.group(1)) * {"b": 1e9, "m": 1e6}[told.group(2)]
        assert 0.7 * claimed < model.parameters < 1.35 * claimed


@pytest.mark.parametrize(
    "model", [m for m in MODELS if m.config.get("model_type") in RECIPES], ids=lambda m: m.name
)
def test_our_count_is_that_of_the_built_class(model):
    assert count_parameters(model.config).total == model.parameters


@pytest.mark.full
@pytest.mark.parametrize("model", [m for m in MODELS if m.parameters], ids=lambda m: m.name)
def test_counts_are_those_of_transformers(model):
    transformers = pytest.importorskip("transformers", reason="install: transformers")
    torch = pytest.importorskip("torch")
    raw = dict(model.config)
    raw["model_type"] = {"kimi_k2": "deepseek_v3"}.get(raw["model_type"], raw["model_type"])
    kind = "SpeechSeq2Seq" if raw["model_type"] == "whisper" else "CausalLM"
    with torch.device("meta"):
        build = getattr(transformers, f"AutoModelFor{kind}").from_config
        built = build(transformers.AutoConfig.for_model(**raw))
    assert built.num_parameters() == model.parameters


@pytest.mark.parametrize(
    ("name", "found"),
    [("Llama-2-7B", "Llama-2-7B"), ("llama-2-7b", "Llama-2-7B"), ("meta-llama/Llama-2-7b-hf", "Llama-2-7B"),
     ("Llama-2-7b-chat-hf", "Llama-2-7B"), (" llama 2 7b ", "Llama-2-7B"), ("llama2-7b", "Llama-2-7B"),
     ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B"), ("LLAMA_3.1_8B", "Llama-3.1-8B"),
     ("gpt2", "GPT-2"), ("GPT2-XL", "GPT-2-XL"), ("opt-13b", "OPT-13B"), ("Qwen2.5-7B-Instruct",
     "Qwen2.5-7B"),
     ("qwen-2.5-7b", "Qwen2.5-7B"), ("HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-135M"),
     ("tiiuae/falcon-7b-instruct", "Falcon-7B"), ("Mistral-7B-Instruct-v0.1", None), ("google/gemma-2b-it",
     "Gemma-2B"),
     ("google/gemma-2-2b-it", "Gemma-2-2B")],
)  # fmt: skip
def test_names_are_found_as_people_write_them(name, found):
    if found is None:
        with pytest.raises(registry.UnknownModelError):
            registry.find(name)
    else:
        assert registry.find(name).name == found


def test_an_unknown_name_lists_near_ones_in_one_sentence():
    with pytest.raises(UserError) as caught:
        registry.find("meta-llama/Llama-2-8B")
    assert re.fullmatch(r"no published model 'meta-llama/Llama-2-8B' .*Llama-2-7B.*\.", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "   ", None, 7, "zzzz", "\x00", "a" * 10_000, "/", "-"])
def test_names_that_are_none_are_refused(name):
    with pytest.raises(registry.UnknownModelError) as caught:
        registry.find(name)
    assert len(str(caught.value)) < 300


def test_published_sizes():
    """KiB a token; OPT-13B's is in arXiv:2309.06180, Falcon-7B's one KV head makes the smallest."""
    for name, kib in (("Llama-2-7B", 512), ("Falcon-7B", 8), ("OPT-13B", 800), ("Qwen3-32B", 256)):
        assert from_config(registry.find(name).config).bytes_per_token("fp16") == kib * 1024


def test_gemma_3_1b_has_the_shorter_context_of_its_model_card():
    lengths = {
        size: registry.find(f"Gemma-3-{size}").config["max_position_embeddings"] for size in ("1B", "4B")
    }
    assert lengths == {"1B": 32_768, "4B": 131_072}
