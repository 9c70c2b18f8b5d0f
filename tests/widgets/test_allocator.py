"""The playground's first state, what it tells without a script, and that the module knows the same bounds."""

import re

import pytest
import traitlets

from kvcourse import viz
from kvcourse.errors import UserError
from kvcourse.widgets import STATIC_ENV, StaticWidget, allocator
from kvcourse.widgets.host import HERE
from kvcourse.widgets.live import Allocator

SCRIPT = (HERE / "allocator.js").read_text(encoding="utf-8")


def test_the_module_has_the_same_bounds_and_policies():
    bounds = {
        name: int(value) for name, value in re.findall(r"^const ([A-Z_]+) = (\d+);", SCRIPT, re.MULTILINE)
    }
    assert bounds == {name: getattr(allocator, name) for name in bounds}
    assert bounds.keys() == {"SLOTS", "LONGEST", "BLOCK", "WATERMARK", "STEPS", "MOST_ADDED"}
    written = re.search(r"const POLICIES = \{ (.+?) \};", SCRIPT)[1]
    assert dict(re.findall(r'(\w+): "(.+?)"', written)) == allocator.POLICIES


def test_it_is_the_papers_pool_in_small():
    """Four slabs where the paper has seven, a like part left over, and the policies in the paper's order."""
    assert allocator.SLOTS // allocator.LONGEST == 4
    left_over = allocator.SLOTS % allocator.LONGEST / allocator.SLOTS
    assert left_over == pytest.approx(0.0885, abs=0.005)
    runs = {policy: allocator.outcome(policy) for policy in allocator.POLICIES}
    for measure in ("tokens", "batch", "finished"):
        found = [run.shares().get(measure, getattr(run, measure, None)) for run in runs.values()]
        assert found == sorted(found) and len(set(found)) == 4, measure
    assert runs["max"].batch == 4 and runs["oracle"].shares()["internal"] == 0


def test_requests_fit_the_longest_sequence_and_outlast_the_steps():
    requests = allocator.requests()
    assert all(request.prompt + request.output <= allocator.LONGEST for request in requests)
    paged = allocator.outcome("paged")
    assert paged.waiting_steps == paged.steps == allocator.STEPS, "the queue ran dry"


def test_in_a_notebook_and_on_the_site(monkeypatch):
    monkeypatch.delenv(STATIC_ENV, raising=False)
    live = viz.allocator("pow2", step=3)
    assert isinstance(live, Allocator) and (live.policy, live.step, live.added) == ("pow2", 3, [])
    with pytest.raises(traitlets.TraitError):
        live.step = allocator.STEPS + 1
    with pytest.raises(traitlets.TraitError):
        live.policy = "first fit"
    monkeypatch.setenv(STATIC_ENV, "1")
    static = viz.allocator("pow2", step=3)
    assert isinstance(static, StaticWidget)
    assert static.state == {name: getattr(live, name) for name in static.state}


def test_without_a_script_the_outcome_stands_in_words(monkeypatch):
    monkeypatch.setenv(STATIC_ENV, "1")
    page = viz.allocator()._repr_html_()
    for policy in allocator.POLICIES:
        run = allocator.outcome(policy)
        assert f"{run.shares()['tokens']:.1f} % of the slots" in page and f"{run.finished} finish" in page


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policy": "first fit"}, "expected policy among max, pow2, oracle, paged"),
        ({"step": 0}, "expected step from 1 to 48"),
        ({"step": 49}, "expected step from 1 to 48"),
        ({"step": True}, "expected step from 1"),
        ({"step": 1.5}, "expected step from 1"),
    ],
)
def test_what_the_playground_cannot_show_is_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        viz.allocator(**wrong)
