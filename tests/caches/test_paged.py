"""The paged cache against the contiguous one, and what only it can do: unequal rows, forks, prefixes."""

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.blocks import BlockError, OutOfBlocks, SequenceError, SequenceTooLong, check
from kvcourse.caches import PagedCache, PreallocatedCache
from kvcourse.caches.paged import METHODS
from kvcourse.decoder import tiny_model
from kvcourse.errors import CacheError

MODEL = tiny_model(3)
CONFIG = MODEL.config
TOKEN_BYTES = 2 * CONFIG.num_layers * CONFIG.num_kv_heads * CONFIG.head_dim * 4
BOTH = pytest.mark.parametrize("attention", METHODS)
PROMPT = [5, 3, 8, 1, 9, 2, 7]


def paged(num_blocks=16, block_size=4, batch=1, shuffled=True, garbage=math.nan, **options):
    """A cache whose free blocks come in no order and whose pool is full of garbage."""
    cache = PagedCache(CONFIG, num_blocks, block_size, batch, **options)
    cache.keys.fill_(garbage), cache.values.fill_(garbage)
    if shuffled:
        pool = cache.manager.pool
        order = pool.allocate(pool.num_free)
        random.Random(0).shuffle(order)
        pool.free(order)
    return cache


def alone(tokens, new=1):
    """Logits `(new, V)` of the last tokens, without any cache."""
    return MODEL.forward(tokens)[0, -new:]


def near(got, want):
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


def seen(cache):
    """All of a paged cache that its user can observe."""
    manager = cache.manager
    tables = {row: (manager.table(row), manager.tokens(row)) for row in manager.sequences}
    return cache.rows, cache.lengths, tables, list(manager.pool.free_list), dict(manager.index._key_of)


# ---- as the other caches ------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("prompt", [1, 3, 4, 5, 8])
def test_the_contiguous_cache_s_tokens(attention, prompt):
    prompt = PROMPT[:prompt] + [4] * (prompt - 7)
    want = MODEL.generate(prompt, 12, PreallocatedCache(CONFIG, 32))
    cache = paged(6, attention=attention)
    assert MODEL.generate(prompt, 12, cache) == want
    assert cache.length == len(prompt) + 11
    check(cache.manager)


@BOTH
def test_a_pool_filled_to_its_last_slot(attention):
    """16 slots, 4 + 13 - 1 tokens; one token more is refused before anything is computed."""
    want = MODEL.generate([1, 2, 3, 4], 13, PreallocatedCache(CONFIG, 16))
    cache = paged(4, attention=attention)
    with pytest.raises(
        SequenceTooLong, match="row 0 of 17 tokens takes 5 blocks of 4 tokens; the pool has 4"
    ):
        MODEL.generate([1, 2, 3, 4], 14, cache)
    assert cache.length == 0
    assert MODEL.generate([1, 2, 3, 4], 13, cache) == want
    assert cache.manager.pool.num_free == 0


@BOTH
@settings(max_examples=20, deadline=None)
@given(chunks=st.lists(st.integers(1, 6), min_size=1, max_size=5), size=st.integers(1, 5))
def test_chunked_prefill(attention, chunks, size):
    tokens = [(7 * i + 3) % CONFIG.vocab_size for i in range(sum(chunks))]
    cache, want = paged(30, size, attention=attention), PreallocatedCache(CONFIG, 30)
    for n in chunks:
        new, tokens = tokens[:n], tokens[n:]
        near(MODEL.forward(new, cache), MODEL.forward(new, want))


@BOTH
def test_a_started_prompt_in_chunks(attention):
    """`start` takes all its blocks at once; each chunk sees only what is computed, not the slots ahead."""
    cache, tokens = paged(batch=0, attention=attention), PROMPT + PROMPT
    cache.start("a", tokens)
    for begin, end in ((0, 3), (3, 4), (4, 9), (9, 14)):
        near(MODEL.forward([tokens[begin:end]], cache)[0], alone(tokens[:end], end - begin))
        assert cache.lengths == [end] and cache.manager.num_tokens("a") == 14


def test_update_returns_what_is_stored():
    cache, want = paged(), PreallocatedCache(CONFIG, 32)
    for seed, tokens in enumerate((3, 1, 5)):
        for layer in range(CONFIG.num_layers):
            torch.manual_seed(seed)
            kv = torch.randn(2, 1, CONFIG.num_kv_heads, tokens, CONFIG.head_dim)
            got = cache.update(layer, *kv)
            for part, dense in zip(got, want.update(layer, *kv), strict=True):
                assert torch.equal(part, dense)
    assert cache.length == want.length == 9
    assert cache.positions(2).tolist() == [[9, 10]]


@BOTH
def test_crop_and_reset(attention):
    cache, want = paged(attention=attention), PreallocatedCache(CONFIG, 32)
    for length in (7, 6, 4, 1, 0):
        for each in (cache, want):
            each.reset()
            MODEL.forward(PROMPT, each)
            each.crop(length)
        near(MODEL.forward([6, 6], cache), MODEL.forward([6, 6], want))
        check(cache.manager)
    cache.reset()
    assert cache.length == 0 and cache.manager.pool.num_used == 0 and cache.used_bytes == 0
    with pytest.raises(CacheError, match="cannot keep 1 tokens; the cache stores 0"):
        cache.crop(1)


def test_bytes_and_counters():
    cache = paged(8, attention="gather")
    assert cache.nbytes == 8 * 4 * TOKEN_BYTES and cache.used_bytes == 0
    MODEL.forward(PROMPT, cache)
    MODEL.forward([1], cache)
    assert cache.used_bytes == 8 * TOKEN_BYTES
    assert cache.counters.tokens_written == 8 and cache.counters.bytes_written == 8 * TOKEN_BYTES
    assert cache.counters.bytes_gathered == (7 + 8) * TOKEN_BYTES
    assert cache.counters.bytes_copied == 0
    cache.attention = "in place"
    MODEL.forward([1], cache)
    assert cache.counters.bytes_gathered == 15 * TOKEN_BYTES


def test_smollm2_says_the_same(smollm2):
    model, tokenizer = smollm2
    prompt = tokenizer.encode("The KV cache stores")
    want = model.generate(prompt, 24, PreallocatedCache(model.config, 64))
    for attention in METHODS:
        cache = PagedCache(model.config, 4, 16, attention=attention)
        cache.keys.fill_(math.nan), cache.values.fill_(math.nan)
        assert model.generate(prompt, 24, cache) == want


@pytest.mark.gpu
def test_on_a_gpu():
    cache = PagedCache(CONFIG, 8, 4, device="cuda")
    cache.keys.fill_(math.nan), cache.values.fill_(math.nan)
    q = torch.randn(1, CONFIG.num_heads, 5, CONFIG.head_dim)
    k, v = torch.randn(2, 1, CONFIG.num_kv_heads, 5, CONFIG.head_dim)
    want = PreallocatedCache(CONFIG, 8).attend(0, q, k, v)
    near(cache.attend(0, q.cuda(), k.cuda(), v.cuda()).cpu(), want)


# ---- rows of unequal length ---------------------------------------------------------------------------


def prefill(cache, row, tokens, **options):
    """A row joins, and what was not found is computed; its last logits `(V,)`."""
    others = cache.rows
    found = cache.start(row, tokens, **options)
    cache.select(row)
    logits = MODEL.forward([tokens[found:]], cache, last_only=True)[0, 0]
    cache.select(*others, row)
    return logits


@BOTH
@pytest.mark.parametrize("garbage", [math.nan, 1e4])
def test_rows_join_grow_and_leave(attention, garbage):
    cache = paged(16, batch=0, attention=attention, garbage=garbage)
    texts = {"a": [1, 2, 3], "b": [9], "c": PROMPT + PROMPT}
    for row, tokens in texts.items():
        near(prefill(cache, row, tokens), alone(tokens)[0])
    for step in range(9):
        if step == 3:
            cache.free("c")  # leaves; its blocks are taken by a and b as they grow
            del texts["c"]
        if step == 5:
            texts["d"] = [4] * 5
            prefill(cache, "d", texts["d"])
        assert cache.rows == list(texts) and cache.lengths == [len(t) for t in texts.values()]
        new = {row: (step * 7 + i) % 11 for i, row in enumerate(texts)}
        logits = MODEL.forward([[token] for token in new.values()], cache)
        for i, row in enumerate(texts):
            texts[row].append(new[row])
            near(logits[i], alone(texts[row]))
        check(cache.manager)
    cache.select("d", "a")  # a part of the batch, in another order
    logits = MODEL.forward([[1, 2], [3, 4]], cache)
    near(logits[0], alone([*texts["d"], 1, 2], 2))
    near(logits[1], alone([*texts["a"], 3, 4], 2))
    assert cache.manager.num_tokens("b") == len(texts["b"])


def test_own_rows_of_a_batch():
    cache = paged(batch=2)
    near(MODEL.forward([PROMPT, PROMPT[::-1]], cache)[:, -1], torch.cat([alone(PROMPT), alone(PROMPT[::-1])]))
    cache.free(0)
    near(MODEL.forward([[4]], cache)[0], alone([*PROMPT[::-1], 4]))


def test_own_rows_share_nothing():
    cache = paged(batch=1)
    MODEL.forward(PROMPT, cache)
    assert cache.start("a", PROMPT) == 0


def test_unequal_rows_gathered_for_update():
    cache = paged(batch=0)
    for row, tokens in (("a", [1, 2, 3, 4, 5]), ("b", [6])):
        prefill(cache, row, tokens)
    cache.begin(torch.tensor([[1], [2]]))
    k, v = torch.randn(2, 2, CONFIG.num_kv_heads, 1, CONFIG.head_dim)
    keys, values = cache.update(0, k, v)
    assert keys.shape[2] == values.shape[2] == 6
    assert torch.equal(keys[0, :, 5], k[0, :, 0]) and torch.equal(values[1, :, 1], v[1, :, 0])
    assert not keys[1, :, 2:].any() and not values[1, :, 2:].any()


# ---- sharing ------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("length", [4, 5, 7, 8])
def test_forks_share_until_they_write(attention, length):
    cache = paged(batch=0, attention=attention)
    tokens = (PROMPT + PROMPT)[:length]
    prefill(cache, "a", tokens)
    used = cache.manager.pool.num_used
    cache.fork("a", "b")
    cache.fork("a", "c")
    assert cache.manager.pool.num_used == used and cache.used_bytes == length * TOKEN_BYTES
    texts = {row: list(tokens) for row in "abc"}
    for step in range(3):
        logits = MODEL.forward([[1 + step], [4 + step], [8]], cache)
        for i, (row, token) in enumerate(zip("abc", (1 + step, 4 + step, 8), strict=True)):
            texts[row].append(token)
            near(logits[i], alone(texts[row]))
        check(cache.manager)
    # Two of three copied the part-filled block, the last one kept it; a full block needs no copy.
    assert cache.manager.counters.blocks_copied == (2 if length % 4 else 0)
    assert cache.counters.bytes_copied == cache.manager.counters.tokens_copied * TOKEN_BYTES
    cache.free("a")  # the others keep their prefix
    near(MODEL.forward([[2], [2]], cache)[1], alone([*texts["c"], 2]))


def test_a_fork_outside_the_pass_is_left_alone():
    cache = paged(batch=0)
    prefill(cache, "a", PROMPT)
    cache.fork("a", "b")
    cache.select("b")
    MODEL.forward([[1]], cache)
    cache.select("a")
    near(MODEL.forward([[2]], cache)[0], alone([*PROMPT, 2]))


@BOTH
@pytest.mark.parametrize("length, found", [(8, 4), (9, 8), (12, 8), (13, 8)])
def test_a_prefix_that_is_found_is_not_computed(attention, length, found):
    """The first prompt stores 3 full blocks. Whole blocks are found, and never the last token of a prompt."""
    text = [*PROMPT, *PROMPT][:12]
    cache = paged(batch=0, attention=attention)
    prefill(cache, "a", [*text, 1])
    MODEL.counters.reset()
    second = [*text[:11], 3, 3][:length] if length > 11 else text[:length]
    near(prefill(cache, "b", second), alone_uncounted(second))
    assert cache.manager.counters.hit_tokens == found
    assert MODEL.counters.rows_projected == len(second) - found


def alone_uncounted(tokens):
    counted = MODEL.counters.rows_projected
    logits = alone(tokens)[0]
    MODEL.counters.rows_projected = counted
    return logits


def test_a_prefix_is_found_after_its_row_has_left():
    cache = paged(batch=0)
    prefill(cache, "a", [*PROMPT, *PROMPT])
    cache.free("a")
    near(prefill(cache, "b", [*PROMPT, 1, 1]), alone([*PROMPT, 1, 1])[0])
    assert cache.manager.counters.hit_tokens == 4
    assert cache.start("c", [*PROMPT, 1], extras=("adapter",)) == 0


def test_a_block_is_shared_only_once_it_is_computed():
    cache = paged(batch=0)
    cache.start("a", PROMPT)
    before = seen(cache)
    with pytest.raises(CacheError, match="row 'b' would share blocks that row 'a' has yet to compute"):
        cache.start("b", PROMPT)
    assert seen(cache) == before
    assert cache.start("c", [4, 4, 4, 4, 4]) == 0  # another prompt may start
    cache.select("a")
    MODEL.forward([PROMPT[:5]], cache)  # in chunks: the first block is computed, the second is not
    assert cache.start("b", PROMPT) == 4


def test_blocks_of_a_row_that_left_uncomputed_are_not_found():
    cache = paged(batch=0)
    cache.start("a", PROMPT)
    cache.free("a")
    assert cache.start("b", PROMPT) == 0


def test_what_start_was_told_must_come():
    cache = paged(batch=0)
    cache.start("a", PROMPT)
    before = seen(cache)
    with pytest.raises(CacheError, match="row 'a' was started with other tokens"):
        MODEL.forward([[*PROMPT[:-1], 0]], cache)
    assert seen(cache) == before
    near(MODEL.forward([[*PROMPT, 6]], cache)[0, -1:], alone([*PROMPT, 6]))  # and more may follow at once


# ---- failures: one sentence, nothing changed ------------------------------------------------------------


class Broken:
    """A layer that fails: the decoder then gives back what the pass took."""

    def __init__(self, cache, layer):
        self.cache, self.layer, self.attend = cache, layer, cache.attend
        cache.attend = self

    def __call__(self, layer, *tensors):
        if layer == self.layer:
            raise KeyboardInterrupt
        out = self.attend(layer, *tensors)
        if self.layer == "after the last" and layer == CONFIG.num_layers - 1:
            raise KeyboardInterrupt
        return out


@pytest.mark.parametrize("layer", [0, 1, "after the last"])
def test_a_pass_that_fails_is_undone_in_every_row(layer):
    cache = paged(batch=0)
    texts = {"a": [1, 2, 3], "b": PROMPT}  # the next token fills a block of each
    for row, tokens in texts.items():
        prefill(cache, row, tokens)
    cache.start("c", [7, 7, 7, 7, 7])
    cache.select("a", "b")
    tokens = {row: cache.manager.tokens(row) for row in cache.manager.sequences}
    Broken(cache, layer)
    with pytest.raises(KeyboardInterrupt):
        MODEL.forward([[4], [5]], cache)
    del cache.attend
    assert cache.lengths == [3, 7]
    assert {row: cache.manager.tokens(row) for row in cache.manager.sequences} == tokens
    check(cache.manager)
    if layer != "after the last":  # nothing that was not stored can be found
        assert cache.manager.hit_tokens([1, 2, 3, 4, 0]) == 0
    logits = MODEL.forward([[8], [9]], cache)
    near(logits[0], alone([1, 2, 3, 8]))
    near(logits[1], alone([*PROMPT, 9]))


@pytest.mark.parametrize("layer", [0, 1, "after the last"])
def test_a_first_pass_that_fails(layer):
    own, told = paged(), paged(batch=0)
    told.start("a", PROMPT)
    for cache in (own, told):
        free = cache.manager.pool.num_free
        Broken(cache, layer)
        with pytest.raises(KeyboardInterrupt):
            MODEL.forward([PROMPT], cache)
        del cache.attend
        assert cache.length == 0 and cache.manager.pool.num_free == free
        near(MODEL.forward([PROMPT], cache)[0, -1:], alone(PROMPT))


def test_out_of_blocks_before_any_row_has_grown():
    """The first row fits, the second does not: neither takes a block, and no shared block is copied."""
    cache = paged(3, batch=0, shuffled=False)
    prefill(cache, "a", [1, 2, 3, 4])
    prefill(cache, "b", [5, 6, 7, 8])
    before = seen(cache)
    with pytest.raises(OutOfBlocks, match="needs 2 free blocks, got 1"):
        MODEL.forward([[1], [2]], cache)
    assert seen(cache) == before
    cache.select("a")
    near(MODEL.forward([[1]], cache)[0], alone([1, 2, 3, 4, 1]))


@pytest.mark.parametrize("rows, needed", [("abc", 2), ("ab", 2), ("a", 1)])
def test_room_for_copies_is_counted(rows, needed):
    """Three rows share a part-filled block: two copies if all write; one for each if one stays outside."""
    for spare in (needed - 1, needed):
        cache = paged(1 + spare, batch=0)
        prefill(cache, "a", [1, 2, 3])
        cache.fork("a", "b")
        cache.fork("a", "c")
        cache.select(*rows)
        before = seen(cache)
        if spare < needed:
            with pytest.raises(OutOfBlocks, match=f"needs {needed} free blocks, got {spare}"):
                MODEL.forward([[4]] * len(rows), cache)
            assert seen(cache) == before
        else:
            MODEL.forward([[4]] * len(rows), cache)
            assert cache.manager.pool.num_free == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("sfFpc"), st.integers(0, 3), st.integers(0, 12)), max_size=14))
def test_any_order_of_calls(calls):
    """Starts, forks, frees, passes and crops; each row always computes as if it were alone, or is refused."""
    cache = paged(7, batch=0)
    texts = {}
    for call, row, n in calls:
        before = seen(cache)
        try:
            if call == "s":
                tokens = [n % 3] * (n + 1)
                found = cache.start(row, tokens)
                cache.select(row)
                try:
                    MODEL.forward([tokens[found:]], cache)
                finally:
                    cache.select(*texts, row)
                texts[row] = tokens
            elif call == "f":
                cache.fork(n % 4, row)
                texts[row] = list(texts[n % 4])
            elif call == "F":
                cache.free(row)
                del texts[row]
            elif call == "c":
                cache.crop(n)
                texts = {row: tokens[:n] for row, tokens in texts.items()}
            elif texts:
                new = [[n % 5, i] for i in range(len(texts))]
                logits = MODEL.forward(new, cache)
                for i, row in enumerate(texts):
                    texts[row] = texts[row] + new[i]
                    near(logits[i], alone(texts[row], 2))
        except (BlockError, CacheError):
            assert seen(cache) == before
        assert dict(zip(cache.rows, cache.lengths, strict=True)) == {r: len(t) for r, t in texts.items()}
        check(cache.manager)


def refusals():
    yield lambda c: c.start("a", [1]), SequenceError, "'a' is already here"
    yield lambda c: c.start("b", []), BlockError, "the prompt must be"
    yield lambda c: c.start("b", [1] * 99), SequenceTooLong, "takes 25 blocks"
    yield lambda c: c.start([], [1]), SequenceError, "must be hashable"
    yield lambda c: c.start("b", None), BlockError, "the prompt must be"
    yield lambda c: c.fork("x", "b"), SequenceError, "no sequence 'x'"
    yield lambda c: c.fork("a", "a"), SequenceError, "'a'"
    yield lambda c: c.fork("w", "b"), CacheError, "some of its tokens are not computed yet"
    yield lambda c: c.free("x"), SequenceError, "no sequence 'x'"
    yield lambda c: c.free([]), SequenceError, "must be hashable"
    yield lambda c: c.select("a", "x"), SequenceError, "no sequence 'x'"
    yield lambda c: c.select("a", "a"), CacheError, "selected twice"
    yield lambda c: c.select([]), SequenceError, "must be hashable"
    yield lambda c: c.check_room(0), CacheError, "new_tokens is 0"
    yield lambda c: c.check_room(1000), SequenceTooLong, "the pool has 16 in all"
    yield lambda c: c.update(0, *torch.zeros(2, 1, 2, 1, 8)), CacheError, "expected (batch, KV heads"
    yield lambda c: c.crop(8), CacheError, "cannot keep 8 tokens; the cache stores 7"


@pytest.mark.parametrize("case", range(len(list(refusals()))))
def test_refusals_change_nothing(case):
    call, error, says = list(refusals())[case]
    cache = paged(batch=0)
    prefill(cache, "a", PROMPT)
    cache.start("w", [2, 2])
    before = seen(cache)
    with pytest.raises(error) as caught:
        call(cache)
    assert says in str(caught.value)
    assert seen(cache) == before


def test_a_freed_row_is_unknown():
    cache = paged(batch=0)
    prefill(cache, "a", PROMPT)
    cache.free("a")
    for call in (lambda: cache.free("a"), lambda: cache.fork("a", "b"), lambda: cache.select("a")):
        with pytest.raises(SequenceError, match="no sequence 'a'"):
            call()
    with pytest.raises(CacheError, match="0 sequences"):
        MODEL.forward([1], cache)
    with pytest.raises(CacheError, match="no row is selected"):
        cache.positions(1)


def test_layers_come_in_order():
    cache = paged()
    kv = torch.randn(2, 1, CONFIG.num_kv_heads, 1, CONFIG.head_dim)
    with pytest.raises(CacheError, match="got layer 1; a pass begins with layer 0"):
        cache.update(1, *kv)
    cache.update(0, *kv)
    with pytest.raises(CacheError, match="comes to layer 1"):
        cache.update(0, *kv)
    cache.crop(cache.length)  # mends it, as for other caches
    cache.update(0, *kv)
    cache.update(1, *kv)
    assert cache.length == 1


def test_a_started_row_grows_by_known_tokens_only():
    cache = paged(batch=0)
    prefill(cache, "a", PROMPT)
    with pytest.raises(CacheError, match="tokens that row 'a' grows by are not known; call begin"):
        cache.update(0, *torch.randn(2, 1, CONFIG.num_kv_heads, 1, CONFIG.head_dim))


@pytest.mark.parametrize(
    "options, error",
    [
        ({"num_blocks": 0}, BlockError), ({"num_blocks": "8"}, BlockError), ({"block_size": 0}, BlockError),
        ({"block_size": -4}, BlockError), ({"batch": -1}, CacheError), ({"batch": False}, CacheError),
        ({"attention": "fast"}, CacheError), ({"attention": None}, CacheError),
        ({"watermark_blocks": 99}, BlockError), ({"num_blocks": 10**14}, CacheError),
    ],
)  # fmt: skip
def test_bad_arguments(options, error):
    with pytest.raises(error):
        PagedCache(CONFIG, **{"num_blocks": 8, **options})
