import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.caches import CacheCounters, GrowingCache, KVCache, PreallocatedCache
from kvcourse.configs import ModelConfig
from kvcourse.errors import CacheError

CONFIG = ModelConfig(
    model_type="llama", num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8, hidden_size=32
)
TOKEN_BYTES = 2 * 2 * 2 * 8 * 4  # K and V, layers, KV heads, head_dim, fp32


def preallocated(config=CONFIG, **options):
    return PreallocatedCache(config, 16, **options)


KINDS = pytest.mark.parametrize("kind", [GrowingCache, preallocated])


def new_kv(tokens, batch=1, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, batch, 2, tokens, 8, generator=generator).to(dtype).unbind()


def fill(cache, tokens, seed=0):
    """Append `tokens` random tokens to every layer; return what each layer was given."""
    given_kv = [new_kv(tokens, cache.batch, seed + layer, cache.dtype) for layer in range(2)]
    for layer, (k, v) in enumerate(given_kv):
        cache.update(layer, k, v)
    return given_kv


def stored(cache):
    """All that can be seen of a cache, copied."""
    kv = [(k[:, :, : cache._lengths[i]].clone(), v[:, :, : cache._lengths[i]].clone())
          for i, (k, v) in enumerate(zip(cache._keys, cache._values, strict=True))]  # fmt: skip
    return list(cache._lengths), kv, copy.copy(cache.counters), cache.nbytes


def assert_same(before, after):
    assert before[0] == after[0] and before[2:] == after[2:]
    for pair, other in zip(before[1], after[1], strict=True):
        assert torch.equal(pair[0], other[0]) and torch.equal(pair[1], other[1])


@KINDS
def test_update_returns_everything_stored_so_far(kind):
    cache = kind(CONFIG, batch=3)
    k1, v1 = new_kv(4, 3, seed=1)
    k2, v2 = new_kv(1, 3, seed=2)
    cache.update(0, k1, v1)
    k, v = cache.update(0, k2, v2)
    assert torch.equal(k, torch.cat([k1, k2], 2)) and torch.equal(v, torch.cat([v1, v2], 2))


@KINDS
def test_the_cache_owns_its_memory(kind):
    """What the caller does with k and v afterwards is no business of the cache's."""
    cache = kind(CONFIG)
    k, v = new_kv(3)
    want = k.clone()
    cache.update(0, k, v)
    k.zero_()
    got, _ = cache.update(0, *new_kv(1))
    assert torch.equal(got[:, :, :3], want)


@KINDS
def test_length_counts_tokens_that_every_layer_holds(kind):
    cache = kind(CONFIG)
    assert cache.length == 0
    cache.update(0, *new_kv(5))
    assert cache.length == 0
    cache.update(1, *new_kv(5))
    assert cache.length == 5


@KINDS
def test_positions_follow_what_is_stored_for_each_row(kind):
    cache = kind(CONFIG, batch=2)
    assert cache.positions(3).tolist() == [[0, 1, 2]] * 2
    fill(cache, 5)
    assert cache.positions(2).tolist() == [[5, 6]] * 2


@KINDS
def test_crop_and_reset(kind):
    cache = kind(CONFIG)
    (k, v), _ = fill(cache, 6)
    cache.crop(6)
    assert cache.length == 6
    cache.crop(4)
    k2, v2 = new_kv(1, seed=9)
    got_k, got_v = cache.update(0, k2, v2)
    assert torch.equal(got_k, torch.cat([k[:, :, :4], k2], 2)) and torch.equal(
        got_v, torch.cat([v[:, :, :4], v2], 2)
    )
    cache.crop(0)
    assert cache.length == 0 and cache.used_bytes == 0
    fill(cache, 2)
    cache.reset()
    assert cache.length == 0 and cache.counters.tokens_written > 0
    cache.counters.reset()
    assert cache.counters == CacheCounters()


@KINDS
def test_crop_mends_layers_that_ran_ahead(kind):
    cache = kind(CONFIG)
    fill(cache, 3)
    cache.update(0, *new_kv(2))  # a forward pass that stopped after layer 0
    cache.crop(cache.length)
    assert cache._lengths == [3, 3]


# ---- bytes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("batch", [1, 3])
def test_growing_bytes_are_the_formula_and_the_tensors(dtype, batch):
    cache = GrowingCache(CONFIG, batch=batch, dtype=dtype)
    assert cache.nbytes == cache.used_bytes == 0
    for tokens in (1, 4, 1):
        fill(cache, tokens)
        formula = 2 * 2 * 2 * 8 * dtype.itemsize * batch * cache.length
        assert cache.nbytes == cache.used_bytes == formula
        assert formula == sum(t.nbytes for t in cache._keys + cache._values)


def test_growing_holds_the_old_tensor_after_a_crop_until_the_next_append():
    cache = GrowingCache(CONFIG)
    fill(cache, 8)
    cache.crop(2)
    assert (cache.used_bytes, cache.nbytes) == (2 * TOKEN_BYTES, 8 * TOKEN_BYTES)
    fill(cache, 1)
    assert cache.used_bytes == cache.nbytes == 3 * TOKEN_BYTES


def test_a_view_of_a_larger_tensor_is_not_kept():
    """k and v arrive as slices of one fused product; the cache must not keep all of it alive."""
    fused = torch.randn(1, 8, 3, 8)
    cache = GrowingCache(CONFIG)
    for layer in range(2):
        cache.update(layer, fused[:, 4:6], fused[:, 6:])
    assert cache.nbytes == 3 * TOKEN_BYTES


def test_preallocated_bytes_are_the_maximum_from_the_start():
    cache = PreallocatedCache(CONFIG, 16, batch=2)
    for used in (0, 1, 16):
        if used:
            fill(cache, used - cache.length)
        assert cache.nbytes == 16 * 2 * TOKEN_BYTES
        assert cache.used_bytes == used * 2 * TOKEN_BYTES


def test_counters():
    growing, fixed = GrowingCache(CONFIG), PreallocatedCache(CONFIG, 16)
    for tokens in (5, 1, 1):
        fill(growing, tokens)
        fill(fixed, tokens)
    assert fixed.counters == CacheCounters(tokens_written=7, bytes_written=7 * TOKEN_BYTES, bytes_copied=0)
    # The first append finds nothing to copy, the second copies 5 tokens, the third 6.
    assert growing.counters == CacheCounters(7, 7 * TOKEN_BYTES, (5 + 6) * TOKEN_BYTES)


@given(st.lists(st.integers(1, 5), max_size=8))
def test_growing_copies_all_that_was_there_at_each_step(steps):
    cache = GrowingCache(CONFIG)
    for tokens in steps:
        fill(cache, tokens)
    copied = sum(sum(steps[:i]) for i in range(len(steps)))
    assert cache.counters.bytes_copied == copied * TOKEN_BYTES


# ---- one behavior for both ---------------------------------------------------------------------------

step = st.tuples(st.just("update"), st.integers(1, 6)) | st.tuples(st.just("crop"), st.integers(0, 16))


@settings(deadline=None)
@given(st.lists(step, max_size=12))
def test_growing_and_preallocated_hold_the_same_as_a_plain_list(steps):
    caches = [GrowingCache(CONFIG), PreallocatedCache(CONFIG, 16)]
    want = [torch.zeros(2, 1, 2, 0, 8), torch.zeros(2, 1, 2, 0, 8)]  # the oracle: K and V of each layer
    for i, (action, n) in enumerate(steps):
        length = want[0].shape[3]
        if action == "crop":
            for cache in caches:
                if n > length:
                    with pytest.raises(CacheError):
                        cache.crop(n)
                else:
                    cache.crop(n)
            want = [kv[:, :, :, :n] for kv in want]
        elif length + n <= 16:
            want = [torch.cat([want[j], torch.stack(new_kv(n, seed=10 * i + j))], 3) for j in range(2)]
            for cache in caches:
                for j in range(2):
                    k, v = cache.update(j, *new_kv(n, seed=10 * i + j))
                    assert torch.equal(k, want[j][0]) and torch.equal(v, want[j][1])
        for cache in caches:
            assert cache.length == want[0].shape[3] and cache.used_bytes == cache.length * TOKEN_BYTES


# ---- refusals: one sentence, nothing changed -----------------------------------------------------------


def bad_updates(batch=2):
    k, v = new_kv(1, batch)
    yield "layer below", (-1, k, v), "layer is -1; expected a whole number from 0 to 1"
    yield "layer above", (2, k, v), "layer is 2"
    yield "layer of another type", ("0", k, v), "layer is '0'"
    yield "a flag for a layer", (True, k, v), "layer is True"
    yield "no tensor", (0, None, v), "k is a NoneType"
    yield "a list", (0, k, v.tolist()), "v is a list"
    yield (
        "query heads for KV heads",
        (0, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)),
        "k has shape (2, 4, 1, 8)",
    )
    yield "another batch", (0, k[:1], v[:1]), "k has shape (1, 2, 1, 8)"
    yield "another width", (0, k[..., :4], v[..., :4]), "k has shape (2, 2, 1, 4)"
    yield "(B, T, H, D)", (0, k.transpose(1, 2), v.transpose(1, 2)), "k has shape (2, 1, 2, 8)"
    yield "three axes", (0, k[:, 0], v[:, 0]), "k has shape (2, 1, 8)"
    yield "no tokens", (0, k[:, :, :0], v[:, :, :0]), "T_new > 0"
    yield "k longer than v", (0, k.repeat(1, 1, 2, 1), v), "v has shape (2, 2, 1, 8)"
    yield (
        "half precision",
        (0, k.half(), v),
        "k is torch.float16 on cpu; this cache stores torch.float32 on cpu",
    )
    yield "v in double", (0, k, v.double()), "v is torch.float64"
    yield "another device", (0, k.to("meta"), v.to("meta")), "k is torch.float32 on meta"


@KINDS
@pytest.mark.parametrize("case", [pytest.param(c, id=c[0]) for c in bad_updates()])
def test_a_refused_update_changes_nothing(kind, case):
    _, arguments, says = case
    cache = kind(CONFIG, batch=2)
    fill(cache, 3)
    before = stored(cache)
    with pytest.raises(CacheError) as error:
        cache.update(*arguments)
    assert says in str(error.value)
    assert_same(before, stored(cache))


@KINDS
@pytest.mark.parametrize("length", [-1, 4, 100, 1.0, "2", None, True])
def test_a_refused_crop_changes_nothing(kind, length):
    cache = kind(CONFIG)
    fill(cache, 3)
    before = stored(cache)
    with pytest.raises(CacheError, match="the cache stores 3"):
        cache.crop(length)
    assert_same(before, stored(cache))


def test_a_full_cache_refuses_and_keeps_what_it_has():
    cache = PreallocatedCache(CONFIG, 8)
    fill(cache, 7)
    before = stored(cache)
    for call in (
        lambda: cache.update(0, *new_kv(2)),
        lambda: cache.positions(2),
        lambda: cache.check_room(2),
    ):
        with pytest.raises(CacheError, match="no room for 2 more tokens: 7 of 8 slots are taken"):
            call()
    assert_same(before, stored(cache))
    assert cache.positions(1).tolist() == [[7]]  # the last slot
    fill(cache, 1)  # exactly full
    assert cache.length == 8
    with pytest.raises(CacheError, match="8 of 8"):
        cache.positions(1)


@KINDS
@pytest.mark.parametrize("tokens", [0, -1, 1.5, "1", True, None])
def test_positions_of_no_tokens(kind, tokens):
    with pytest.raises(CacheError, match="new_tokens"):
        kind(CONFIG).positions(tokens)


@pytest.mark.parametrize("batch", [0, -1, 1.5, "2", None, True])
def test_bad_batch(batch):
    with pytest.raises(CacheError, match="batch is"):
        GrowingCache(CONFIG, batch=batch)


@pytest.mark.parametrize("max_tokens", [0, -1, 16.0, "16", None, True])
def test_bad_max_tokens(max_tokens):
    with pytest.raises(CacheError, match="max_tokens is"):
        PreallocatedCache(CONFIG, max_tokens)


@pytest.mark.parametrize("dtype", ["float32", torch.int8, None, 32])
def test_bad_dtype(dtype):
    with pytest.raises(CacheError, match="dtype is"):
        GrowingCache(CONFIG, dtype=dtype)


def test_more_than_the_machine_has():
    with pytest.raises(CacheError, match="cannot reserve"):
        PreallocatedCache(CONFIG, 10**15)


# ---- a cache of another kind --------------------------------------------------------------------------


def test_a_new_kind_of_cache_is_one_small_class():
    """Rows of unequal length: positions per row, attention of its own. The decoder needs nothing more."""
    from kvcourse.attention import causal_attention
    from kvcourse.decoder import tiny_model

    class RaggedCache(KVCache):
        def __init__(self, config, lengths):
            super().__init__(config, batch=len(lengths))
            self.rows = [GrowingCache(config) for _ in lengths]

        length = property(lambda self: max(row.length for row in self.rows))
        nbytes = property(lambda self: sum(row.nbytes for row in self.rows))

        def positions(self, new_tokens):
            return torch.cat([row.positions(new_tokens) for row in self.rows])

        def update(self, layer, k, v):
            raise NotImplementedError

        def crop(self, length):
            for row in self.rows:
                row.crop(min(length, row.length))

        def attend(self, layer, q, k, v):
            out = [causal_attention(q[i : i + 1], *row.update(layer, k[i : i + 1], v[i : i + 1]))
                   for i, row in enumerate(self.rows)]  # fmt: skip
            return torch.cat(out)

    model = tiny_model(1)
    prompts = [[1, 2, 3, 4, 5], [9, 8]]
    cache = RaggedCache(model.config, prompts)
    for row, prompt in zip(cache.rows, prompts, strict=True):
        model.forward(prompt, row)
    together = model.forward([[7], [7]], cache)
    for i, prompt in enumerate(prompts):
        torch.testing.assert_close(together[i], model.forward([*prompt, 7])[0, -1:], atol=1e-4, rtol=1e-4)
