"""FlexAttention over block tables against dense attention: uncompiled, compiled, and on a GPU."""

import math
import shutil
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.caches import PagedCache, PreallocatedCache, paged_attention, paged_flex
from kvcourse.caches.paged_attention import InPlaceAttention
from kvcourse.caches.paged_flex import FlexAttention, fits
from kvcourse.decoder import tiny_model
from kvcourse.lab import disorder

from .test_paged_attention import dense_attention, paged_case

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def flex(q, keys, values, tables, width=0):
    """`width`: blocks that the tables are filled up to."""
    plan = InPlaceAttention(tables, q.shape[2], len(keys))
    filled = torch.cat([plan._tables, plan._tables[:, :1].expand(-1, width)], 1)
    mask = FlexAttention(filled, plan._lengths, q.shape[2], plan.block_size, len(keys))
    return mask(q, keys, values)


def spoil_unused(keys, values, tables):
    """NaN in the unused slots of blocks that are read."""
    for table in tables:
        used = table.num_tokens % table.block_size
        if used:
            keys[table.block_ids[-1], :, :, used:] = math.nan
            values[table.block_ids[-1], :, used:] = math.nan


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 17),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    new=st.sampled_from([1, 2, 5, 17, 40]),
    heads=st.sampled_from([(1, 1), (4, 4), (4, 2), (6, 2), (3, 1)]),
    seed=st.integers(0, 1000),
)
def test_it_is_dense_attention(size, lengths, new, heads, seed):
    lengths = [max(n, new) for n in lengths]
    q, keys, values, tables, dense = paged_case(lengths, size, new, heads, garbage=1e4, seed=seed)
    spoil_unused(keys, values, tables)
    got = flex(q, keys, values, tables)
    torch.testing.assert_close(got, dense_attention(q, dense), atol=1e-5, rtol=1e-5)


def test_what_another_row_stores_in_a_shared_block_stays():
    """After a crop two rows share a part-filled block: what is unused by one holds a token of the other."""
    q, keys, values, tables, dense = paged_case([8, 8], 8, garbage=1e4)
    tables[1].block_ids, tables[1].num_tokens = list(tables[0].block_ids), 5
    stored = values.clone()
    dense[1] = tuple(part[:, :, :5] for part in dense[0])
    torch.testing.assert_close(flex(q, keys, values, tables), dense_attention(q, dense), atol=1e-5, rtol=1e-5)
    assert torch.equal(values, stored)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_pools_are_views_in_the_order_that_is_read(device):
    flat = torch.arange(2 * 3 * 5 * 2 * 4 * 8.0)  # 3 layers, 5 blocks of 4 tokens, 2 KV heads, D = 8
    pretended = SimpleNamespace(device=SimpleNamespace(type=device), view=flat.view)
    keys, values = paged_attention.pools(pretended, 3, 5, 2, 4)
    assert keys.shape == (3, 5, 2, 8, 4) and values.shape == (3, 5, 2, 4, 8)
    assert {t.untyped_storage().data_ptr() for t in (keys, values)} == {flat.untyped_storage().data_ptr()}
    assert torch.cat([keys.flatten(), values.flatten()]).sort().values.equal(flat)
    if device == "cuda":  # neither is copied on the way to the kernel
        for pool, order in ((keys[1], (1, 0, 3, 2)), (values[1], (1, 0, 2, 3))):
            assert pool.permute(order).is_contiguous()
    else:
        assert keys.is_contiguous() and values.is_contiguous()


@pytest.mark.parametrize(
    "change, takes",
    [
        ({}, True), ({"block_size": 64}, True), ({"dtype": torch.bfloat16}, True), ({"device": "cpu"}, False),
        ({"device": "mps"}, False), ({"block_size": 8}, False), ({"block_size": 48}, False),
        ({"dtype": torch.float64}, False), ({"width": 8}, False),
    ],
)  # fmt: skip
def test_what_the_kernel_takes(change, takes):
    case = {"device": "cuda", "dtype": torch.float32, "width": 64, "block_size": 16, **change}
    q = SimpleNamespace(
        device=SimpleNamespace(type=case["device"]), dtype=case["dtype"], shape=(2, 4, 1, case["width"])
    )
    assert fits(q, case["block_size"]) == takes


def test_the_cache_reaches_it_by_the_same_call(monkeypatch):
    """Forced on the CPU: the tokens of the contiguous cache, and one plan a pass for all layers."""
    plans = []
    monkeypatch.setattr(paged_attention, "fits", lambda q, block_size: True)
    monkeypatch.setattr(
        paged_attention, "FlexAttention", lambda *args: plans.append(args) or FlexAttention(*args)
    )
    model = tiny_model(3)
    cache = disorder(PagedCache(model.config, 6, 4))
    cache.keys.nan_to_num_(), cache.values.nan_to_num_()  # uncompiled it reads the blocks of others too
    prompt = [5, 3, 8, 1, 9, 2, 7]
    assert model.generate(prompt, 9, cache) == model.generate(prompt, 9, PreallocatedCache(model.config, 16))
    assert len(plans) == 9


@pytest.mark.full  # budget: 120 s of compiling
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here")
@pytest.mark.parametrize("new", [1, 20])
def test_compiled_it_loads_no_other_block(new, monkeypatch):
    """NaN in all the pool: what is of no row is not read. (On a CPU tables must be as wide as the pool.)"""
    monkeypatch.setattr(paged_flex, "flex_attention", torch.compile(paged_flex.flex_attention))
    q, keys, values, tables, dense = paged_case([33, 20, 40], 16, new, width=16)
    got = flex(q, keys, values, tables, width=len(keys))
    torch.testing.assert_close(got, dense_attention(q, dense), atol=1e-5, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("new", [1, 20])
@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("heads", [(4, 4), (6, 2)])
def test_on_a_gpu(new, size, heads):
    q, keys, values, tables, dense = paged_case([33, 20, 64], size, new, heads, width=64)
    plan = InPlaceAttention(tables, new, len(keys), "cuda")
    got = plan(q.cuda(), keys.cuda(), values.cuda())
    assert plan._flex is not None
    torch.testing.assert_close(got.cpu(), dense_attention(q, dense), atol=1e-4, rtol=1e-4)


@pytest.mark.gpu
def test_a_cache_on_a_gpu():
    """Through `PagedCache`, whose pools are laid out for it: prompt and steps, against the gather method."""
    config = tiny_model(3, head_dim=64).config
    caches = [
        disorder(PagedCache(config, 8, device="cuda", attention=name)) for name in ("in place", "gather")
    ]
    for tokens in (37, 1, 1):
        q = torch.randn(1, config.num_heads, tokens, config.head_dim, device="cuda")
        kv = torch.randn(2, 1, config.num_kv_heads, tokens, config.head_dim, device="cuda")
        for layer in range(config.num_layers):
            got, want = (cache.attend(layer, q, *kv) for cache in caches)
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
