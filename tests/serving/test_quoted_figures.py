"""What chapter 3 quotes of the Azure trace, which is not in the repository, against a run of it."""

import re

import pytest

from kvcourse.serving import PAPER_SLOTS, paper_pools, simulate
from kvcourse.workloads import TRACE_FILE, Request, read_azure_trace


@pytest.fixture(scope="module")
def quoted(request):
    """The page's sentences on the trace, in one line."""
    text = (request.config.rootpath / "book/ch03.md").read_text(encoding="utf-8")
    return re.search(r"In the Azure trace of 2023 .*? falls to .*? %", text, re.DOTALL)[0]


@pytest.fixture
def trace(shared_data):
    path = shared_data / "traces" / TRACE_FILE
    if not path.is_file():
        pytest.skip(f"no {path}")
    return read_azure_trace(path)


def test_chapter_3_quotes_the_trace_as_it_is(quoted, trace):
    fit = [r for r in trace if r.total <= 2048]
    mean = sum(r.prompt for r in trace) / len(trace)
    assert f"{len(trace):,} requests" in quoted and f"prompts have {mean:,.0f} tokens" in quoted
    assert f"{100 * len(fit) / len(trace):.0f} % fit a limit of 2,048" in quoted
    assert max(r.total for r in trace) <= 16_384, "the larger limit refuses nobody"
    shares = {}
    for limit, slots in ((2048, PAPER_SLOTS), (16_384, 8 * PAPER_SLOTS)):
        chats = [Request(0, r.prompt, r.output) for r in trace if r.total <= limit]
        for name, pool in paper_pools(slots, limit).items():
            shares[limit, name] = simulate(pool, chats, warm_up=1000, steps=20_000).shares()["tokens"]
    assert f"{shares[2048, 'max']:.1f} % of it under Max" in quoted
    assert f"{shares[2048, 'oracle']:.1f} under the oracle" in quoted
    assert f"{shares[2048, 'paged']:.1f} paged" in quoted
    assert f"Max falls to {shares[16_384, 'max']:.1f} %" in quoted
