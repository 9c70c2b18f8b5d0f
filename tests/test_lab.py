"""The helpers around a page's measurements: they must count, record and restore exactly."""

import sys
from types import SimpleNamespace

import pytest
import torch

from kvcourse import lab
from kvcourse.caches import GrowingCache, PagedCache, PreallocatedCache
from kvcourse.decoder import tiny_model
from kvcourse.errors import UserError


@pytest.fixture
def model():
    return tiny_model(seed=1)


def test_without_the_file_a_tiny_model_comes_and_one_sentence_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KVCOURSE_CACHE", str(tmp_path))
    model, tokenizer = lab.smollm2_or_tiny(dtype=torch.bfloat16)
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "kvcourse model" in said and f"{model.config.num_layers} layers" in said
    assert model.dtype == torch.bfloat16
    text = "naïve: 3 €"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode([65, 7, 255, 10]) == "A\ufffd\ufffd\n"  # what a random model says can be printed
    assert max(tokenizer.chat(text)) < model.config.vocab_size
    assert len(model.generate(ids, 3)) == 3


def test_each_forward_splits_the_total_and_restores_the_model(model):
    model.generate([1, 2, 3], 2)  # counted before: not part of what follows
    before = model.counters.rows_projected
    with lab.each_forward(model) as passes:
        model.generate([5, 6, 7, 8], 3, cache=GrowingCache(model.config))
    assert [one.rows_projected for one in passes] == [4, 1, 1]
    assert [one.score_pairs for one in passes] == [4 * 5 // 2, 5, 6]
    assert [one.forwards for one in passes] == [1, 1, 1]
    assert model.counters.rows_projected - before == 6
    model.generate([1], 1)
    assert len(passes) == 3


def test_each_forward_restores_the_model_after_an_error(model):
    with pytest.raises(UserError), lab.each_forward(model) as passes:
        model.forward([[model.config.vocab_size]])
    assert passes == []
    model.generate([1], 1)
    assert passes == []


def test_keys_and_values_are_those_a_cache_hands_out(model):
    ids = [3, 1, 4, 1, 5]
    keys, values = lab.keys_and_values(model, ids)
    c = model.config
    assert keys.shape == values.shape == (c.num_layers, c.num_kv_heads, len(ids), c.head_dim)
    cache = GrowingCache(c)
    model.forward([ids], cache)
    model.forward([[9]], cache)
    more_keys, more_values = lab.keys_and_values(model, [*ids, 9])
    # One row more, and what stood before is what it was: the cache's whole point.
    torch.testing.assert_close(more_keys[:, :, :5], keys)
    torch.testing.assert_close(more_values[:, :, :5], values)
    # Layer 0's value is one projection of the normed embedding; computed here by hand.
    layer = model.layers[0]
    row = model.embedding[4]
    normed = row / (row.pow(2).mean() + c.rms_norm_eps).sqrt() * layer.attention_norm
    by_hand = layer.qkv.weight[-c.num_kv_heads * c.head_dim :] @ normed
    torch.testing.assert_close(values[0, :, 2].flatten(), by_hand)


@pytest.mark.parametrize("make", [GrowingCache, lambda c: PreallocatedCache(c, 7)])
@pytest.mark.parametrize("tokens", [0, 1, 7])
def test_fill_stores_exactly_that_many_tokens(model, make, tokens):
    cache = lab.fill(make(model.config), tokens)
    assert cache.length == tokens


def test_median_seconds_is_the_middle_run_and_skips_the_warm_up(monkeypatch):
    clock = iter([0, 100, 101, 110, 119, 200, 202])  # warm-up starts at 0; then runs of 1, 9 and 2 seconds
    monkeypatch.setattr(lab, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    calls = []
    assert lab.median_seconds(lambda: calls.append(1), repeats=3, warmup=1) == 2
    assert len(calls) == 4
    with pytest.raises(UserError, match="repeats is 0"):
        lab.median_seconds(lambda: None, repeats=0)


def test_the_twin_shares_the_weights_and_computes_the_same_logits():
    pytest.importorskip("transformers", reason="install: transformers")
    from kvcourse import hf

    model = tiny_model(seed=3, num_layers=3, num_heads=6, num_kv_heads=2, head_dim=10, hidden_size=48)
    twin = lab.transformers_twin(model)
    ids = [7, 3, 3, 90, 12, 5]
    torch.testing.assert_close(hf.forward(twin, ids), model.forward(ids))
    assert twin.lm_head.weight.data_ptr() == model.embedding.data_ptr()


def test_the_twin_refuses_what_it_would_compute_wrongly():
    pytest.importorskip("transformers", reason="install: transformers")
    with pytest.raises(UserError, match="tied embedding"):
        lab.transformers_twin(tiny_model(tie_word_embeddings=False))


def test_glue_does_nothing_without_the_book_tools(monkeypatch):
    monkeypatch.setitem(sys.modules, "myst_nb", None)
    lab.glue("rows", 79)


def test_a_disordered_pool_hands_out_all_its_blocks_in_another_order(model):
    cache = lab.disorder(PagedCache(model.config, num_blocks=16, block_size=4, batch=0))
    assert cache.keys.isnan().all() and cache.values.isnan().all()
    order = list(cache.manager.pool.free_list)
    assert order != list(range(16)) and sorted(order) == list(range(16))
    again = lab.disorder(PagedCache(model.config, num_blocks=16, block_size=4, batch=0))
    assert list(again.manager.pool.free_list) == order, "one seed, one order"
    tokens = [3, 1, 4, 1, 5, 9]
    cache.start("row", tokens)
    logits = model.forward([tokens], cache)
    assert cache.manager.table("row").block_ids == order[:2]
    assert torch.allclose(logits, model.forward([tokens]), atol=1e-5)
