"""The hint engine: right values against counting and the decoder's counters, and every known mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.checks import catalog
from kvcourse.checks.mistakes import DiagnoseError, diagnose, quantities, right_value
from kvcourse.decoder import tiny_model

sizes = st.integers(1, 60)


def names(quantity, got, **inputs):
    return [match.name for match in diagnose(quantity, got, **inputs)]


# ---- the right values ----------------------------------------------------------------------------


@given(prompt=sizes, new=sizes)
def test_rows_and_pairs_against_counting_one_by_one(prompt, new):
    passes = [list(range(prompt + step)) for step in range(new)]  # the tokens of each pass without a cache
    rows = sum(len(tokens) for tokens in passes)
    pairs = sum(query + 1 for tokens in passes for query in tokens)
    assert right_value("rows_projected", prompt=prompt, new=new, cached=False) == rows
    assert right_value("score_pairs", prompt=prompt, new=new, cached=False) == pairs
    fed = passes[-1]
    assert right_value("rows_projected", prompt=prompt, new=new, cached=True) == len(fed)
    assert right_value("score_pairs", prompt=prompt, new=new, cached=True) == sum(q + 1 for q in fed)
    assert right_value("cache_length", prompt=prompt, new=new) == len(fed)


@pytest.mark.parametrize(
    ("quantity", "prompt", "new", "cached", "value"),
    [("rows_projected", 64, 16, False, 1144), ("rows_projected", 64, 16, True, 79),
     ("score_pairs", 1, 512, False, 22_500_864), ("score_pairs", 1, 512, True, 131_328),
     ("score_pairs", 64, 16, False, 41_640), ("score_pairs", 64, 16, True, 3_160)],
)  # fmt: skip
def test_published_values(quantity, prompt, new, cached, value):
    assert right_value(quantity, prompt=prompt, new=new, cached=cached) == value


@pytest.mark.parametrize("cached", [False, True])
def test_counts_are_the_decoders_own(cached):
    from kvcourse.caches import GrowingCache

    model = tiny_model(seed=1)
    model.generate(list(range(7)), 5, cache=GrowingCache(model.config) if cached else None)
    for quantity in ("rows_projected", "score_pairs"):
        assert right_value(quantity, prompt=7, new=5, cached=cached) == getattr(model.counters, quantity)


@pytest.mark.parametrize("shape", [{}, {"num_heads": 6, "num_kv_heads": 2, "head_dim": 10, "num_layers": 3}])
def test_flops_are_the_decoders_own(shape):
    from kvcourse.caches import GrowingCache

    model = tiny_model(seed=1, **shape)
    cache = GrowingCache(model.config)
    model.forward([list(range(11))], cache)
    model.counters.reset()
    model.forward([[3]], cache)
    assert right_value("flops_decode", config=model.config, tokens=12) == model.counters.flops


def test_crossover_is_where_the_two_parts_are_equal():
    config = tiny_model().config
    tokens = right_value("crossover", config=config)
    projections = right_value("flops_decode", config=config, tokens=0)
    assert right_value("flops_decode", config=config, tokens=tokens) == pytest.approx(2 * projections)


def test_llama_2_7b_stores_512_kib_a_token():
    shape = {"num_layers": 32, "num_kv_heads": 32, "head_dim": 128, "dtype_bytes": 2}
    assert right_value("kv_bytes", tokens=1, **shape) == 524_288
    assert right_value("kv_bytes", tokens=4096, unit="GiB", **shape) == 2.0


# ---- mistakes recognized by value ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "cached", "name"),
    [(80, True, "counts the last token, which is never fed"), (15, True, "forgets the prompt"),
     (16, True, "forgets the prompt"), (64, True, "stops after the prompt"),
     (1039, True, "projects the prompt at every step"), (1144, True, "swaps with and without a cache"),
     (79, False, "swaps with and without a cache"), (3160, False, "starts the sum at one token"),
     (3240, False, "starts the sum at one token and ends it one late"),
     (1160, False, "counts each pass after its token is appended"),
     (1024, False, "forgets that the text grows"),
     (1280, False, "counts the final length at every pass"), (184, False, "counts the prompt only once"),
     (80, False, "counts tokens, not rows")],
)  # fmt: skip
def test_rows(got, cached, name):
    assert name in names("rows_projected", got, prompt=64, new=16, cached=cached)


@pytest.mark.parametrize(
    ("got", "cached", "name"),
    [(79, True, "counts linear work"), (1144, False, "counts linear work"),
     (79 * 79, True, "counts the masked pairs too"),
     (3240, True, "counts the last token, which is never fed"),
     (3081, True, "leaves a token's look at itself"),
     (1080, True, "forgets the prefill"),
     (82_136, False, "counts the masked pairs too"), (1144, False, "counts only the newest query's row")],
)  # fmt: skip
def test_pairs(got, cached, name):
    found = names("score_pairs", got, prompt=64, new=16, cached=cached)
    assert any(name.split(" a token's")[0] in one for one in found), found


def test_cache_lengths():
    assert names("cache_length", 80, prompt=64, new=16) == ["counts the last token, which is never fed"]
    assert names("chat_cache_length", 77, turns=[(20, 10), (30, 19)]) == [
        "drops the last token of every turn"
    ]
    assert names("chat_cache_length", 79, turns=[(20, 10), (30, 19)]) == [
        "counts the last token, which is never fed"
    ]
    assert names("chat_cache_length", 48, turns=[(20, 10), (30, 19)]) == ["looks at the last turn only"]


def test_flops_and_crossover_of_a_grouped_model():
    config = tiny_model().config
    right = right_value("flops_decode", config=config, tokens=100)
    assert "multiply-accumulates" in names("flops_decode", right / 2, config=config, tokens=100)[0]
    without = right - 2 * 100 * config.num_layers * config.num_heads * config.head_dim
    assert any("weighted sum" in name for name in names("flops_decode", without, config=config, tokens=100))
    # In a model of group size 2 two mistakes give one value: both are listed.
    wrong = right_value("crossover", config=config) * 2
    found = names("crossover", wrong, config=config)
    assert any("KV heads" in name for name in found) and any("factor 2" in name for name in found)


QWEN = {"num_layers": 28, "num_kv_heads": 4, "head_dim": 128, "num_heads": 28, "hidden_size": 3584}


@pytest.mark.parametrize(
    ("got", "extra", "name"),
    [(14_336, {}, "forgets that K and V are both stored"),
     (28_672 * 7, {}, "counts query heads, not KV heads"),
     (28_672 * 8, {}, "counts bits, not bytes"),
     (1_024, {}, "counts one layer"), (7_168, {}, "counts one KV head"),
     (28_672, {"tokens": 100}, "counts one token"),
     (28_672 * 9, {"tokens": 9, "batch": 2}, "counts one sequence"),
     (1.0, {"tokens": 2**30 // 28_672, "unit": "GB"}, "mixes units of 1000 and of 1024")],
)  # fmt: skip
def test_bytes(got, extra, name):
    assert name in names("kv_bytes", got, dtype_bytes=1, **QWEN, **({"tokens": 1} | extra))


def test_a_rounded_figure_is_known_within_its_last_digit():
    """1.6 GB for OPT-13B at 2,048 tokens (arXiv:2309.06180, section 3): 1.5625 GiB, or 2,000 tokens."""
    opt = {"num_layers": 40, "num_kv_heads": 40, "head_dim": 128, "dtype_bytes": 2, "tokens": 2048}
    opt["unit"] = "GB"
    assert names("kv_bytes", 1.6, **opt) == []
    found = ["takes a K of tokens for 1000", "mixes units of 1000 and of 1024"]
    assert names("kv_bytes", 1.6, within=0.05, **opt) == found
    assert names("kv_bytes", 1.7, within=0.05, **opt) == []


def test_two_mistakes_at_once():
    """1,605,632 bytes a token for Qwen2.5-7B in int8, seen in vllm#22291: bits, and query heads."""
    found = diagnose("kv_bytes", 1_605_632, dtype_bytes=1, tokens=1, **QWEN)
    assert any("query heads" in match.name and "bits" in match.name for match in found)
    assert all(match.hint.startswith("Two things at once.") for match in found)


def test_llama_2_7b_is_passed_at_the_seventh_sequence():
    llama = {"kv_bytes": 2**31, "weight_bytes": 13_476_831_232}
    assert right_value("sequences_to_exceed", **llama) == 7
    assert names("sequences_to_exceed", 6, **llama)[0] == "stops at the last one that fits"
    assert names("sequences_to_exceed", 8, **llama) == ["computes with rounded gigabytes"]
    assert names("sequences_to_exceed", 16, **llama) == ["takes the batch of the lesson's example"]


def test_a_decode_step_against_adding_up_its_reads():
    weights, cache, batch, rate = 16_060_522_496, 2**30, 8, 3.35e12
    reads = [weights] + [cache for sequence in range(batch)]
    step = {"weight_bytes": weights, "kv_bytes": cache, "batch": batch, "bytes_per_second": rate}
    assert right_value("decode_ms", **step) == pytest.approx(1000 * sum(reads) / rate)
    shared = 1000 * (weights + cache) / rate
    assert names("decode_ms", shared, **step) == ["shares one cache among the batch"]
    assert names("decode_ms", 1000 * weights / rate, **step) == [
        "forgets the caches", "takes the larger of the two reads"
    ]  # fmt: skip


def test_a_pool_holds_what_a_server_logged():
    """vllm-project/vllm issue 10517: 1,952 blocks of 16 tokens of Llama-3.1-8B in 3.81 GiB."""
    llama = {"num_layers": 32, "num_kv_heads": 8, "head_dim": 128, "num_heads": 32, "hidden_size": 4096}
    pool = {"pool_bytes": int(3.81 * 2**30), "dtype_bytes": 2, **llama}
    assert right_value("pool_tokens", **pool) == pytest.approx(1952 * 16, rel=0.002)
    assert any("query heads" in name for name in names("pool_tokens", 31_232 / 4, **pool))


# ---- what must hold for all of them --------------------------------------------------------------

INPUTS = {
    "rows_projected": [
        {"prompt": p, "new": n, "cached": c} for p in (1, 3, 64) for n in (1, 2, 16) for c in (0, 1)
    ],
    "cache_length": [{"prompt": p, "new": n} for p in (1, 5) for n in (1, 4)],
    "chat_cache_length": [{"turns": [(3, 4)]}, {"turns": [(3, 4), (5, 6)]}],
    "flops_decode": [{"config": tiny_model().config, "tokens": t} for t in (1, 100)],
    "crossover": [{"config": tiny_model().config}],
    "kv_bytes": [
        dict(dtype_bytes=2, tokens=3, batch=2, unit="MiB", **QWEN),
        dict(dtype_bytes=4, tokens=1000, **QWEN | {"num_heads": 56}),
        dict(dtype_bytes=2, tokens=1024, **QWEN),
    ],
}
GIB = 2**30
INPUTS |= {
    "weight_bytes": [{"parameters": 6_738_415_616, "dtype_bytes": 2}, {"parameters": 1000, "dtype_bytes": 1}],
    "sequences_to_exceed": [
        {"kv_bytes": 2 * GIB, "weight_bytes": 13_476_831_232},
        {"kv_bytes": 3 * GIB, "weight_bytes": 12 * GIB},
        {"kv_bytes": 13_476_831_232, "weight_bytes": 2 * GIB},
        {"kv_bytes": GIB, "weight_bytes": 41 * GIB + 7},
    ],
    "cache_to_weights": [{"kv_bytes": 3 * GIB, "weight_bytes": 13_476_831_232}],
    "decode_ms": [
        {"weight_bytes": 16 * 10**9, "kv_bytes": GIB, "batch": b, "bytes_per_second": 3.35e12}
        for b in (1, 3, 40)
    ],
    "batch_where_caches_equal_weights": [{"kv_bytes": GIB, "weight_bytes": 16 * 10**9}],
    "pool_tokens": [dict(pool_bytes=11 * GIB, dtype_bytes=b, **QWEN | {"num_heads": 24}) for b in (1, 2)],
    "printed_factor": [{"printed": 2.0, "kv_bytes": GIB}, {"printed": 0.5, "kv_bytes": 10**9}],
    "size_in_bytes": [{"number": 2.5, "unit_bytes": 10**6, "twin_bytes": 2**20}],
    "concurrency": [{"pool_tokens": 83_488, "max_model_len": 32_768}],
}
INPUTS["score_pairs"] = INPUTS["rows_projected"]
LENGTHS = [5, 8, 3, 13]
ARRIVALS = [7, 16, 9, 30, 4, 8]
INPUTS |= {
    "blocks_for": [{"tokens": n, "block_size": b} for n, b in ((8, 4), (9, 4), (30, 16), (3, 1), (0, 5))],
    "last_block_tokens": [{"tokens": n, "block_size": b} for n, b in ((8, 4), (9, 4), (3, 5), (0, 4))],
    "unused_slots": [{"lengths": LENGTHS, "block_size": b} for b in (1, 4, 16)] + [
        {"lengths": [], "block_size": 4}
    ],
    "usage_gap": [{"lengths": LENGTHS, "block_size": 4, "num_blocks": 20}],
    "num_free": [{"num_blocks": 6, "held": h, "asked": a} for h, a in ((0, None), (2, None), (4, 3))],
    "table_entries": [{"lengths": LENGTHS, "block_size": b} for b in (4, 8)],
    "waste_share": [{"lengths": LENGTHS, "block_size": b} for b in (4, 8)],
    "chosen_block_size": [
        {"waste": {64: 0.2, 8: 0.01, 16: 0.05, 32: 0.1}, "most": m} for m in (0.06, 0.05, 0.09)
    ],
    "admitted": [
        {"lengths": ARRIVALS, "num_blocks": n, "block_size": 4, "watermark_blocks": w}
        for n in range(6, 26) for w in (0, 1, 3)
    ],
}  # fmt: skip
INPUTS |= {
    "request_tokens": [{"reserved": 2048, "prompt": 7, "generated": 4, "final": 15}],
    "slots_asked": [
        {"policy": p, "prompt": n, "output": m, "max_tokens": 2048}
        for p in ("max", "pow2", "oracle") for n, m in ((100, 40), (101, 64), (1500, 540))
    ],
    "pool_slots": [{"pool_gib": 12, "kib_per_token": 800}, {"pool_gib": 10.5, "kib_per_token": 900}],
    "slab_requests": [
        {"pool_gib": g, "kib_per_token": 800, "max_tokens": n}
        for g, n in ((12, 2048), (11.9, 2040), (40, 17))
    ],
    "external_fragmentation": [
        {"largest": m, "total": n, "count": c} for m, n, c in ((4, 9, 3), (70, 100, 4), (0, 0, 0))
    ],
    "rounded": [{"size": n} for n in (3, 4, 9)],
    "buddy_start": [{"start": n, "size": 4} for n in (8, 12)],
    "split_tokens": [
        {"num_slots": 2000, "region": r, "asked": 519, "final": 300, "stored": 9} for r in (1024, 800)
    ],
    "run_share": [
        {"right": 26.0, "early": 13.0, "late": 19.0, "kept": 27.9, "overtaking": 26.5, "single": 21.7,
         "cut": 25.0, "slots": 5.2, "fraction": 0.26, "summed": 130.0, "allowed": 1.3}
    ],
    "waste_percent": [
        {"num_slots": 43, "tokens": t, "held": h} for t, h in ((55, 56), (20, 30), (40, 41))
    ],
    "requests_at_once": [{"pool_slots": p, "slots_each": e} for p, e in ((100, 30), (110, 30), (20, 30))],
    "tokens_per_second": [
        {"weight_bytes": 25 * 10**9, "kv_bytes": 360_000_000, "batch": b, "bytes_per_second": 1.555e12}
        for b in (1, 7, 30)
    ],
}  # fmt: skip
POOL = {"total": 80 * GIB, "weights": 16 * GIB, "token_bytes": 131_072, "block": 16}
INPUTS |= {
    "reserved_cache": [{"layers": 62, "layer_bytes": 8192, "tokens": 4096, "used": 1_000_000_000}],
    "window_blocks": [
        {"tokens": t, "window": w, "block": 16}
        for t, w in ((112, 32), (120, 32), (130, 40), (20, 64), (100, 20), (5, 64), (64, 40))
    ],
    "latent_bytes": [
        {"num_layers": 61, "rank": 512, "rope_dim": 64, "dtype_bytes": 2, "num_heads": 128},
    ],
    "expanded_bytes": [
        {"num_layers": 61, "num_heads": 128, "nope_dim": 128, "rope_dim": 64, "v_dim": 144, "dtype_bytes": 2}
    ],
    "latent_as_heads": [{"rank": 512, "rope_dim": 64, "head_dim": 128}],
    "longest_cache": [{"kv_bytes": 9000, "one_token": 40, "max_len": 1000}],
    "kv_heads_per_gpu": [{"kv_heads": k, "gpus": g} for k, g in ((8, 2), (8, 4), (4, 8), (1, 8))],
    "cache_copies": [
        {"kv_heads": k, "gpus": g, "context_gpus": c}
        for k, g, c in ((4, 8, 1), (4, 8, 2), (1, 8, 2), (2, 8, 1), (8, 8, 1))
    ],
    "engine_tokens": [
        POOL | {"engine": e, "fraction": f, "other": o * GIB + 12_345_678}
        for e in ("vLLM", "SGLang", "TensorRT-LLM") for f, o in ((0.9, 2), (0.9, 11), (0.2, 2))
    ],
    "engine_gib": [
        {"engine": e, "total": 80 * GIB, "weights": 16 * GIB, "other": 2 * GIB, "fraction": 0.9}
        for e in ("vLLM", "SGLang", "TensorRT-LLM")
    ],
    "log_tokens": [{"gib": 11.47, "token_bytes": 147_456}],
}  # fmt: skip
for one, others in {
    "request_tokens": ("request_reservation", "request_internal"),
    "slab_requests": ("slots_left", "left_percent"),
    "split_tokens": ("split_reservation", "split_internal", "split_external", "split_other"),
}.items():
    INPUTS |= dict.fromkeys(others, INPUTS[one])
CASES = [(quantity, inputs) for quantity in quantities() for inputs in INPUTS[quantity]]


@pytest.mark.parametrize(("quantity", "inputs"), CASES)
def test_the_right_value_is_no_mistake(quantity, inputs):
    assert diagnose(quantity, right_value(quantity, **inputs), **inputs) == []


@pytest.mark.parametrize("quantity", quantities())
def test_every_known_mistake_is_found_somewhere(quantity):
    """Computed as the catalog says, each way and slip is diagnosed for at least one of the inputs above."""
    from types import SimpleNamespace

    known = catalog.QUANTITIES[quantity]
    unseen = {entry.name for entry in (*known.ways, *known.slips)}
    for inputs in INPUTS[quantity]:
        flat = dict.fromkeys((*known.needs, *known.optional)) | inputs
        if config := flat.pop("config", None):
            flat |= {name: getattr(config, name) for name in flat if hasattr(config, name)}
            flat["matmul_params"] = catalog.matmul_params(config)
        given_inputs = SimpleNamespace(**flat)
        values = [way.value(given_inputs) for way in known.ways]
        values += [known.right(given_inputs) * f for slip in known.slips if (f := slip.factor(given_inputs))]
        for value in values:
            if value is not None:
                unseen -= set(names(quantity, value, **inputs))
    assert not unseen


@pytest.mark.parametrize(("quantity", "inputs"), CASES)
def test_no_hint_holds_the_answer(quantity, inputs):
    answer = right_value(quantity, **inputs)
    known = catalog.QUANTITIES[quantity]
    for entry in (*known.ways, *known.slips):
        assert entry.hint.endswith((".", "?")) and len(entry.hint) < 200
        if answer > 9:
            assert str(answer) not in entry.hint


# ---- bad questions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantity", "got", "inputs", "part"),
    [("rows", 1, {}, "unknown quantity"), ("cache_length", 1, {"prompt": 1}, "missing input 'new'"),
     ("cache_length", 1, {"prompt": 1, "new": 1, "n": 1}, "unknown input 'n'"),
     ("cache_length", "80", {"prompt": 1, "new": 1}, "is a number"),
     ("cache_length", True, {"prompt": 1, "new": 1}, "is a number"),
     ("cache_length", float("nan"), {"prompt": 1, "new": 1}, "is a number")],
)  # fmt: skip
def test_bad_question_is_one_sentence(quantity, got, inputs, part):
    with pytest.raises(DiagnoseError, match=part) as caught:
        diagnose(quantity, got, **inputs)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
