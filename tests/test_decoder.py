import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from kvcourse.caches import GrowingCache, PreallocatedCache
from kvcourse.configs import RopeScaling
from kvcourse.decoder import (
    TINY,
    Decoder,
    DecoderCounters,
    forward_flops,
    random_weights,
    rms_norm,
    rope_angles,
    rotate,
    tiny_model,
    weight_shapes,
)
from kvcourse.errors import CacheError, ConfigError, ModelFileError, UserError

MODEL = tiny_model(seed=5)


def caches(model, batch=1):
    return [GrowingCache(model.config, batch), PreallocatedCache(model.config, 64, batch)]


def some_ids(tokens, batch=1, seed=0):
    return torch.randint(0, 128, (batch, tokens), generator=torch.Generator().manual_seed(seed))


def close(got, want):
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


# ---- the cache changes the work and not the result ---------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    chunks=st.lists(st.integers(1, 9), min_size=1, max_size=7),
    batch=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_in_any_chunks_as_at_once(chunks, batch, seed):
    """Chunked prefill, decode token by token, and all at once give the same logits with every cache."""
    ids = some_ids(sum(chunks), batch, seed)
    want = MODEL.forward(ids)
    for cache in caches(MODEL, batch):
        parts = [MODEL.forward(part, cache) for part in ids.split(chunks, dim=1)]
        close(torch.cat(parts, dim=1), want)
        assert cache.length == sum(chunks)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_cached_generation_is_uncached_generation(kv_heads):
    model = tiny_model(seed=kv_heads, num_kv_heads=kv_heads)
    want = model.generate([3, 1, 4], 48)
    assert len(set(want)) > 10  # a model that repeats one token would prove nothing
    for cache in caches(model):
        assert model.generate([3, 1, 4], 48, cache) == want


def test_one_step_of_decode_is_the_last_row_of_the_whole():
    ids = some_ids(20)
    for cache in caches(MODEL):
        MODEL.forward(ids[:, :-1], cache)
        close(MODEL.forward(ids[:, -1:], cache), MODEL.forward(ids)[:, -1:])


def test_later_tokens_change_nothing_before_them():
    ids = some_ids(12)
    other = ids.clone()
    other[0, 7] = (other[0, 7] + 1) % 128
    first, second = GrowingCache(TINY), GrowingCache(TINY)
    a, b = MODEL.forward(ids, first), MODEL.forward(other, second)
    assert torch.equal(a[:, :7], b[:, :7])
    assert (a[:, 7:] - b[:, 7:]).abs().amax(dim=-1).min() > 1e-3
    for layer in range(2):
        assert torch.equal(first._keys[layer][:, :, :7], second._keys[layer][:, :, :7])


def test_rows_of_a_batch_do_not_see_each_other():
    ids = some_ids(9, batch=3)
    together = MODEL.forward(ids)
    for row in range(3):
        close(together[row], MODEL.forward(ids[row])[0])


def test_last_only_is_the_last_row():
    ids = some_ids(6, batch=2)
    close(MODEL.forward(ids, last_only=True), MODEL.forward(ids)[:, -1:])


def test_a_cropped_cache_continues_as_if_the_rest_had_never_been():
    """Rollback, as speculative decoding needs it."""
    for cache in caches(MODEL):
        MODEL.forward([1, 2, 3], cache)
        MODEL.forward([90, 91, 92], cache)
        cache.crop(3)
        close(MODEL.forward([4, 5], cache), MODEL.forward([1, 2, 3, 4, 5])[:, 3:])


# ---- generate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", [0, 1, 2, 10])
def test_the_cache_holds_all_tokens_but_the_last(new):
    for cache in caches(MODEL):
        assert len(MODEL.generate([5, 6, 7, 8], new, cache)) == new
        assert cache.length == (4 + new - 1 if new else 0)


def test_generation_goes_on_where_the_cache_stands():
    want = MODEL.generate([5, 6, 7], 12)
    for cache in caches(MODEL):
        first = MODEL.generate([5, 6, 7], 5, cache)
        assert first + MODEL.generate(first[-1:], 7, cache) == want


def test_it_stops_at_the_end_token():
    tokens = MODEL.generate([1, 2], 12)
    stop = tokens[4]
    first = tokens.index(stop)
    for cache in [None, *caches(MODEL)]:
        assert MODEL.generate([1, 2], 12, cache, eos_id=stop) == tokens[: first + 1]


def test_a_request_too_long_for_the_cache_is_refused_at_once():
    cache = PreallocatedCache(TINY, 8)
    with pytest.raises(CacheError, match="no room for 9 more tokens"):
        MODEL.generate([1, 2, 3, 4], 6, cache)
    assert cache.length == 0 and cache.counters.tokens_written == 0
    assert len(MODEL.generate([1, 2, 3, 4], 5, cache)) == 5  # the last token needs no slot
    assert cache.length == 8


# ---- counters ----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(prompt=st.integers(1, 12), new=st.integers(1, 12))
def test_what_the_cache_saves(prompt, new):
    """Rows and score pairs against a count by loops."""
    fed_without = [prompt + step for step in range(new)]
    model = tiny_model()
    model.generate(list(range(prompt)), new)
    assert model.counters.forwards == new
    assert model.counters.rows_projected == sum(fed_without)
    assert model.counters.score_pairs == sum(row + 1 for fed in fed_without for row in range(fed))
    model.counters.reset()
    assert model.counters == DecoderCounters()
    model.generate(list(range(prompt)), new, GrowingCache(TINY))
    assert model.counters.forwards == new
    assert model.counters.rows_projected == prompt + new - 1
    assert model.counters.score_pairs == sum(position + 1 for position in range(prompt + new - 1))


def test_the_numbers_of_the_lesson():
    model = tiny_model()
    model.generate(list(range(64)), 16)
    assert model.counters.rows_projected == 1144
    model.counters.reset()
    model.generate(list(range(64)), 16, GrowingCache(TINY))
    assert model.counters.rows_projected == 79


def _mv_flops(matrix, vector, *_, out_shape=None, **__):
    return 2 * matrix[0] * matrix[1]


def _attention_flops(q, k, v, *_, out_shape=None, **__):
    (b, h, t_new, d), t = q, k[2]
    return 2 * 2 * b * h * t_new * t * d


@pytest.mark.parametrize(
    "overrides", [{}, {"num_kv_heads": 4, "tie_word_embeddings": False}, {"num_layers": 3}]
)
@pytest.mark.parametrize("last_only", [False, True])
def test_flops_against_the_counter_of_torch(overrides, last_only):
    """torch's counter sees every product it runs; it knows no `mv` and not the CPU's attention kernel."""
    model = tiny_model(**overrides)
    also = {
        torch.ops.aten.mv: _mv_flops,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops,
    }
    cache = PreallocatedCache(model.config, 64, batch=2)
    single = PreallocatedCache(model.config, 64)
    for tokens, batch, store in ((7, 2, cache), (3, 2, cache), (1, 2, cache), (5, 1, single), (1, 1, single)):
        model.counters.reset()
        with FlopCounterMode(display=False, custom_mapping=also) as counter:
            model.forward(some_ids(tokens, batch), store, last_only=last_only)
        assert counter.get_total_flops() == model.counters.flops
    with FlopCounterMode(display=False, custom_mapping=also) as counter:
        model.counters.reset()
        model.generate([1, 2, 3], 4)
    assert counter.get_total_flops() == model.counters.flops


def test_flops_of_a_decode_step_are_two_a_weight_plus_the_scores():
    """2P + 4 L H D T, P without the norms: 0.269 GFLOP for SmolLM2 before any score."""
    smollm2 = dataclasses.replace(
        TINY, num_layers=30, num_heads=9, num_kv_heads=3, head_dim=64, hidden_size=576,
        intermediate_size=1536, vocab_size=49152,
    )  # fmt: skip
    weights = 134_515_008 - 61 * 576
    assert forward_flops(smollm2, 1, 1000, 1) == 2 * weights + 4 * 30 * 9 * 64 * 1000


def test_num_parameters():
    assert tiny_model().num_parameters == sum(w.numel() for w in random_weights(TINY).values())
    assert tiny_model(tie_word_embeddings=False).num_parameters == tiny_model().num_parameters + 128 * 48


# ---- the parts ---------------------------------------------------------------------------------------


def test_rms_norm_is_its_formula():
    x, weight = torch.randn(2, 3, 16), torch.randn(16)
    want = x / (x.pow(2).mean(-1, keepdim=True) + 1e-3).sqrt() * weight
    torch.testing.assert_close(rms_norm(x, weight, 1e-3), want)


def test_rope_is_multiplication_by_a_unit_complex_number():
    x = torch.randn(1, 2, 5, 8)
    positions, frequencies = torch.tensor([[0, 1, 2, 50, 1000]]), torch.tensor([1.0, 0.1, 0.01, 0.001])
    got = rotate(x, *rope_angles(positions, frequencies))
    turn = torch.polar(torch.ones(5, 4), positions[0, :, None] * frequencies)
    want = torch.complex(x[..., :4], x[..., 4:]) * turn
    torch.testing.assert_close(got, torch.cat([want.real, want.imag], -1), atol=1e-5, rtol=1e-5)
    assert torch.equal(got[:, :, 0], x[:, :, 0])  # position 0 is not turned


def test_scores_depend_on_distance_only():
    """A uniform shift of all positions leaves RoPE attention as it was."""
    q, k = torch.randn(2, 1, 1, 6, 8)
    frequencies = torch.tensor([1.0, 0.3, 0.1, 0.01])
    near, far = (
        rotate(q, *rope_angles(p, frequencies)) @ rotate(k, *rope_angles(p, frequencies)).transpose(-1, -2)
        for p in (torch.arange(6)[None], torch.arange(100, 106)[None])
    )
    torch.testing.assert_close(near, far, atol=1e-4, rtol=1e-4)


def test_tiny_models_are_seeded():
    assert torch.equal(tiny_model(3).forward([1, 2]), tiny_model(3).forward([1, 2]))
    assert not torch.equal(tiny_model(3).forward([1, 2]), tiny_model(4).forward([1, 2]))


# ---- against Transformers, with the same random weights ------------------------------------------------

SCALED = RopeScaling("llama3", 8.0, 1.0, 4.0, 64)


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({}, id="GQA, head_dim 16 where hidden / heads is 12"),
        pytest.param({"num_kv_heads": 4}, id="MHA"),
        pytest.param({"num_kv_heads": 1}, id="MQA"),
        pytest.param({"tie_word_embeddings": False}, id="own output projection"),
        pytest.param({"rope_scaling": SCALED, "rope_theta": 500000.0}, id="RoPE as in Llama 3.1"),
        pytest.param({"rope_scaling": RopeScaling("linear", 4.0)}, id="linear RoPE scaling"),
    ],
)
def test_logits_and_cache_are_those_of_transformers(overrides):
    transformers = pytest.importorskip("transformers", reason="install: transformers")
    from kvcourse import hf

    model = tiny_model(seed=7, **overrides)
    c = model.config
    rope = {"rope_theta": c.rope_theta, "rope_type": "default"}
    if c.rope_scaling:
        rope |= {k: v for k, v in dataclasses.asdict(c.rope_scaling).items() if v is not None and k != "kind"}
        rope["rope_type"] = c.rope_scaling.kind
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            num_hidden_layers=c.num_layers, num_attention_heads=c.num_heads,
            num_key_value_heads=c.num_kv_heads,
            head_dim=c.head_dim, hidden_size=c.hidden_size, intermediate_size=c.intermediate_size,
            vocab_size=c.vocab_size, max_position_embeddings=c.max_position_embeddings,
            rms_norm_eps=c.rms_norm_eps, tie_word_embeddings=c.tie_word_embeddings, rope_parameters=rope,
        )
    ).eval()  # fmt: skip
    missing, unexpected = theirs.load_state_dict(random_weights(c, 7), strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    theirs.tie_weights()
    ids = some_ids(100, batch=2)
    cache, their_cache = GrowingCache(c, batch=2), hf.new_cache(theirs)
    close(model.forward(ids, cache), hf.forward(theirs, ids, their_cache))
    close(model.forward(ids[:, :1], cache), hf.forward(theirs, ids[:, :1], their_cache))
    assert cache.length == hf.length(their_cache) == 101
    assert cache.nbytes == hf.nbytes(their_cache)
    for layer, (k, v) in enumerate(hf.layers(their_cache)):
        close(cache._keys[layer], k)
        close(cache._values[layer], v)


# ---- refusals: one sentence, nothing changed ----------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [[]],
        [[[1]]],
        3,
        "text",
        None,
        [1.5],
        [True],
        [[1, 2], [3]],
        [-1],
        [128],
        [2**70],
        ["1"],
        [None],
        {"a": 1},
    ],
)
def test_bad_token_ids(ids):
    for cache in [None, *caches(MODEL)]:
        with pytest.raises(UserError, match="token id"):
            MODEL.forward(ids, cache)
        assert cache is None or cache.length == 0


@pytest.mark.parametrize("new", [-1, 1.5, "3", None, True])
def test_bad_max_new_tokens(new):
    with pytest.raises(UserError, match="max_new_tokens is"):
        MODEL.generate([1], new)


def test_generate_takes_one_sequence():
    with pytest.raises(UserError, match="one sequence"):
        MODEL.generate([[1, 2], [3, 4]], 2)


def test_a_cache_of_another_model_or_batch():
    other = GrowingCache(dataclasses.replace(TINY, num_layers=3))
    with pytest.raises(CacheError, match=r"head_dim. = \(3, 2, 16\); the model has \(2, 2, 16\)"):
        MODEL.forward([1], other)
    with pytest.raises(CacheError, match="holds 1 sequences; got 2 rows"):
        MODEL.forward([[1], [2]], GrowingCache(TINY))
    with pytest.raises(CacheError, match="this cache stores"):
        MODEL.forward([1], GrowingCache(TINY, dtype=torch.bfloat16))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_forward_pass_that_fails_half_way_leaves_the_cache_as_it_was(stop, layer, monkeypatch):
    for cache in caches(MODEL):
        MODEL.forward([1, 2, 3], cache)
        update = cache.update

        def failing(i, k, v, update=update):
            result = update(i, k, v)
            if i == layer:
                raise stop
            return result

        monkeypatch.setattr(cache, "update", failing)
        counters = dataclasses.replace(MODEL.counters)
        with pytest.raises(stop):
            MODEL.forward([4, 5], cache)
        assert MODEL.counters == counters
        monkeypatch.undo()
        assert cache._lengths == [3, 3]
        close(MODEL.forward([6], cache), MODEL.forward([1, 2, 3, 6])[:, -1:])


@pytest.mark.parametrize("field", ["intermediate_size", "vocab_size", "rope_theta", "rms_norm_eps"])
def test_a_config_that_says_too_little(field):
    with pytest.raises(ConfigError, match=f"field '{field}' is missing"):
        tiny_model(**{field: None})


def test_configs_that_cannot_run():
    with pytest.raises(ConfigError, match="head_dim = 15 is odd"):
        tiny_model(head_dim=15)
    with pytest.raises(ConfigError, match="rope scaling of kind 'yarn'"):
        tiny_model(rope_scaling=RopeScaling("yarn", 4.0))
    with pytest.raises(ConfigError, match="unknown field 'layers'"):
        tiny_model(layers=3)
    with pytest.raises(ConfigError, match="experts"):
        tiny_model(num_experts=8)


def test_weights_that_do_not_fit():
    weights = random_weights(TINY)
    name = "model.layers.1.self_attn.k_proj.weight"
    with pytest.raises(ModelFileError, match=f"weight {name} is missing"):
        Decoder(TINY, {key: w for key, w in weights.items() if key != name})
    with pytest.raises(ModelFileError, match=r"has shape \(64, 48\); expected \(32, 48\)"):
        Decoder(TINY, weights | {name: torch.zeros(64, 48)})
    with pytest.raises(ModelFileError, match=r"'model.layers.0.self_attn.q_proj.bias' has no place"):
        Decoder(TINY, weights | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(64)})


def test_weight_shapes_are_hugging_faces_names():
    assert len(weight_shapes(TINY)) == 2 * 9 + 2
    assert weight_shapes(TINY)["model.layers.0.self_attn.o_proj.weight"] == (48, 64)


# ---- other dtypes and devices -------------------------------------------------------------------------


def in_dtype(dtype, device="cpu"):
    return Decoder(TINY, {name: w.to(device, dtype) for name, w in random_weights(TINY, 5).items()})


def test_half_precision_runs_and_stays_near():
    model = in_dtype(torch.bfloat16)
    cache = PreallocatedCache(TINY, 16, dtype=torch.bfloat16)
    ids = some_ids(9)
    logits = torch.cat([model.forward(ids[:, :8], cache), model.forward(ids[:, 8:], cache)], 1)
    assert logits.dtype == torch.bfloat16
    want = MODEL.forward(ids)
    assert (logits.float() - want).abs().mean() < 0.1 * want.abs().mean()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["growing", "preallocated"])
def test_the_gpu_agrees_with_the_cpu(kind):
    model = in_dtype(torch.float32, "cuda")
    cache = (
        GrowingCache(TINY, device="cuda") if kind == "growing" else PreallocatedCache(TINY, 64, device="cuda")
    )
    ids = some_ids(30)
    parts = [model.forward(part.cuda(), cache) for part in ids.split([20, 9, 1], dim=1)]
    close(torch.cat(parts, 1).cpu(), MODEL.forward(ids))


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"model_type": "gemma"}, "model_type"), ({"model_type": "qwen2"}, "model_type"),
     ({"model_type": "qwen3"}, "model_type"), ({"model_type": "unknown"}, "model_type"),
     ({"hidden_act": "gelu"}, "hidden_act"), ({"hidden_act": "gelu_pytorch_tanh"}, "hidden_act")],
)  # fmt: skip
def test_what_the_decoder_does_not_compute_is_refused(changes, field):
    """Such weights have Llama's names and shapes: nothing else would stop them."""
    with pytest.raises(ConfigError, match=f"field '{field}'"):
        Decoder(dataclasses.replace(TINY, **changes), random_weights(TINY))


@pytest.mark.parametrize("changes", [{}, {"model_type": "mistral"}, {"hidden_act": "silu"}])
def test_what_is_llama_under_another_name_runs(changes):
    ids = [[1, 2, 3]]
    torch.testing.assert_close(tiny_model(**changes).forward(ids), tiny_model().forward(ids))
