"""SmolLM2 by our decoder and by Transformers, which read the same GGUF file on two separate paths."""

import pytest
import torch

pytest.importorskip("transformers", reason="install: transformers")

from kvcourse import hf
from kvcourse.caches import GrowingCache, PreallocatedCache
from kvcourse.decoder import tiny_model
from kvcourse.errors import CacheError

# Chosen because the best and the second best next token are never near a tie along the greedy path: float32
# rounding differs between two programs by about 1e-4, and where it could decide, equal tokens prove nothing.
PROMPTS = [
    "In 1969, the first people",
    "To bake bread you need",
    "The three primary colors are",
    "Water boils at",
    "A prime number is",
]


def compare(ours, theirs, ids, new):
    """Assert agreement over `new` greedy tokens; return (largest logit difference, smallest top-2 margin)."""
    their_cache = hf.new_cache(theirs)
    want = hf.generate(theirs, ids, new, their_cache)
    growing = GrowingCache(ours.config)
    assert ours.generate(ids, new, growing) == want
    assert growing.length == hf.length(their_cache) == len(ids) + new - 1
    formula = 2 * 30 * 3 * 64 * 4 * growing.length
    assert growing.nbytes == growing.used_bytes == hf.nbytes(their_cache) == formula
    for layer, (k, v) in enumerate(hf.layers(their_cache)):
        torch.testing.assert_close(growing._keys[layer], k, atol=1e-3, rtol=1e-3)
        torch.testing.assert_close(growing._values[layer], v, atol=1e-3, rtol=1e-3)
    # The other cache, step by step, against one pass of theirs without any cache.
    reserved = PreallocatedCache(ours.config, len(ids) + new)
    steps = [ours.forward(part, reserved)[0] for part in [ids, *([token] for token in want)]]
    a, b = torch.cat(steps), hf.forward(theirs, [*ids, *want])[0]  # (T, V)
    chosen = slice(len(ids) - 1, -1)  # the rows that decide a new token
    assert a[chosen].argmax(-1).tolist() == b[chosen].argmax(-1).tolist() == want
    top = b[chosen].topk(2).values  # (new, 2)
    return float((a - b).abs().max()), float((top[:, 0] - top[:, 1]).min())


def run(smollm2, hf_smollm2, prompts, new, capsys):
    model, tok = smollm2
    worst, closest = 0.0, float("inf")
    for prompt in prompts:
        difference, margin = compare(model, hf_smollm2, tok.encode(prompt), new)
        worst, closest = max(worst, difference), min(closest, margin)
    with capsys.disabled():
        print(f"\n{len(prompts)} prompts x {new} tokens equal to Transformers'; largest logit difference "
              f"{worst:.1e}, smallest top-2 margin {closest:.1e}")  # fmt: skip
    assert worst < 1e-3
    assert closest > 10 * worst  # no token was decided by rounding


def test_one_prompt_as_transformers(smollm2, hf_smollm2, capsys):
    run(smollm2, hf_smollm2, PROMPTS[:1], 32, capsys)


@pytest.mark.full
def test_all_prompts_as_transformers(smollm2, hf_smollm2, capsys):
    assert len(PROMPTS) >= 5
    run(smollm2, hf_smollm2, PROMPTS, 256, capsys)


@pytest.mark.full
def test_cached_and_uncached_smollm2(smollm2):
    """The first 64 tokens with no cache at all, and the prompt in chunks of 7."""
    model, tok = smollm2
    ids = tok.encode("In 1969, the first people walked on the Moon. Since then, space agencies have")
    cache = GrowingCache(model.config)
    assert model.generate(ids, 64) == model.generate(ids, 64, cache)
    chunked = PreallocatedCache(model.config, len(ids))
    parts = [model.forward(ids[i : i + 7], chunked) for i in range(0, len(ids), 7)]
    torch.testing.assert_close(torch.cat(parts, 1), model.forward(ids), atol=1e-3, rtol=1e-3)


# ---- the adapter itself, on a tiny model ---------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    import transformers

    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=128, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, max_position_embeddings=512, eos_token_id=None,
        )
    ).eval()  # fmt: skip


def test_the_adapter_counts_what_the_tensors_hold(tiny):
    cache = hf.new_cache(tiny)
    assert hf.length(cache) == 0
    hf.forward(tiny, [[1, 2, 3]] * 2, cache)
    assert hf.length(cache) == 3
    assert [tuple(t.shape) for kv in hf.layers(cache) for t in kv] == [(2, 2, 3, 16)] * 4
    assert hf.nbytes(cache) == 4 * 2 * 2 * 3 * 16 * 4
    assert hf.nbytes(cache) == sum(t.untyped_storage().nbytes() for kv in hf.layers(cache) for t in kv)


def test_forward_with_and_without_a_cache(tiny):
    cache = hf.new_cache(tiny)
    whole = hf.forward(tiny, [1, 2, 3, 4, 5])
    hf.forward(tiny, torch.tensor([1, 2, 3]), cache)
    torch.testing.assert_close(hf.forward(tiny, [4, 5], cache), whole[:, 3:], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(hf.forward(tiny, [1, 2, 3, 4, 5], last_only=True), whole[:, -1:])


def test_generate_returns_the_new_tokens_and_fills_the_cache(tiny):
    cache = hf.new_cache(tiny)
    new = hf.generate(tiny, [1, 2, 3], 6, cache)
    assert len(new) == 6 and hf.length(cache) == 3 + 6 - 1
    assert hf.generate(tiny, [1, 2, 3], 6) == new


def test_it_does_not_stop_at_an_end_token(tiny):
    """An end token in the model's own settings would cut the comparison short."""
    new = hf.generate(tiny, [1, 2, 3], 8)
    tiny.generation_config.eos_token_id = new[2]
    try:
        assert hf.generate(tiny, [1, 2, 3], 8) == new
    finally:
        tiny.generation_config.eos_token_id = None


def test_no_transformers(monkeypatch, tmp_path):
    import sys

    from kvcourse.errors import ModelFileError

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelFileError, match="transformers is not installed"):
        hf.load_model(tmp_path / "m.gguf")


def test_our_decoder_takes_no_transformers_cache(tiny):
    for call in (tiny_model().forward, lambda ids, cache: tiny_model().generate(ids, 3, cache)):
        with pytest.raises(CacheError, match="the cache is a DynamicCache"):
            call([1], hf.new_cache(tiny))
