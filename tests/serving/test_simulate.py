"""Figure 2 of the PagedAttention paper, as far as it can be derived: orderings and bands, never a digit."""

import pytest

from kvcourse.reservation import ContiguousPool, Oracle, PagedPool, RequestTooLong
from kvcourse.serving import PAPER_FIGURE_2, PAPER_SLOTS, SimulationError, paper_pools, simulate
from kvcourse.workloads import SHAREGPT, Request, synthetic

SLOTS = PAPER_SLOTS


def at_once(*lengths):
    """Requests of (prompt, output) tokens that all wait from the start."""
    return [Request(0.0, prompt, output) for prompt, output in lengths]


@pytest.fixture(scope="module")
def seen():
    return {
        name: simulate(pool, synthetic(SHAREGPT, 5000, 0), steps=2000, warm_up=500)
        for name, pool in paper_pools().items()
    }


def test_the_papers_pool_has_15728_slots():
    assert SLOTS == 15728
    assert SLOTS // 2048 == 7


def test_the_shares_come_in_the_papers_order(seen):
    share = {name: occupancy.shares() for name, occupancy in seen.items()}
    for parts in share.values():
        assert sum(parts.values()) == pytest.approx(100)
    tokens = {name: parts["tokens"] for name, parts in share.items()}
    assert tokens["paged"] > tokens["oracle"] > tokens["pow2"] > tokens["max"]
    assert tokens["paged"] > 95
    internal = {name: parts["internal"] for name, parts in share.items()}
    assert internal["oracle"] == 0 and internal["max"] == max(internal.values())
    external = {name: parts["external_and_other"] for name, parts in share.items()}
    assert external["max"] == pytest.approx(100 * (SLOTS - 7 * 2048) / SLOTS)  # 8.85: the rest of the pool
    assert min(external["pow2"], external["oracle"]) > external["max"] > external["paged"]


def test_more_requests_fit_the_less_is_wasted(seen):
    batch = {name: occupancy.batch for name, occupancy in seen.items()}
    assert batch["max"] == 7
    assert batch["paged"] > batch["oracle"] > batch["pow2"] > batch["max"]


def test_only_blocks_on_demand_run_out_midway(seen):
    assert [seen[name].preempted for name in ("max", "pow2", "oracle")] == [0, 0, 0]
    assert seen["paged"].preempted > 0


@pytest.mark.parametrize("name", PAPER_FIGURE_2)
def test_every_request_finishes_and_all_memory_comes_back(name):
    pool = paper_pools(4096)[name]
    occupancy = simulate(pool, synthetic(SHAREGPT, 60, 1))
    assert occupancy.finished == 60
    assert pool.requests == {}
    assert pool.split().external == 4096


def test_a_preempted_request_keeps_its_tokens_and_a_watermark_spares_it_the_next_times():
    """Two requests of 4 + 4 tokens in 3 blocks of 4: the second gives way, comes back, and ends.

    One block stays free, enough for its prompt and not for its next token. Without a watermark it is let in
    and thrown out again at each step.
    """
    for watermark, preempted in ((0, 4), (1, 1)):
        occupancy = simulate(PagedPool(12, 4, watermark), at_once((4, 4), (4, 4)))
        assert (occupancy.finished, occupancy.preempted) == (2, preempted)
        assert occupancy.steps == 4 + 4


def test_who_gives_way_comes_back_first_and_with_what_it_had_stored():
    class Noting(PagedPool):
        admitted: list

        def admit(self, request_id, prompt, output):
            super().admit(request_id, prompt, output)
            self.admitted.append((request_id, prompt, output))

    pool = Noting(12, 4)
    pool.admitted = []
    simulate(pool, at_once((3, 5), (3, 5), (1, 1), (1, 1)))
    # Step 1 runs 0, 1 and 2. In step 2 request 3 takes the block of 2; 0 and 1 need one each, so 3 and 1
    # give way.
    assert pool.admitted[:5] == [(0, 3, 5), (1, 3, 5), (2, 1, 1), (3, 1, 1), (1, 4, 4)]


def test_one_request_alone_stores_a_token_a_step():
    occupancy = simulate(ContiguousPool(8, Oracle(8)), at_once((3, 5)))
    assert (occupancy.steps, occupancy.running, occupancy.finished) == (5, 5, 1)
    assert occupancy.split.tokens == 4 + 5 + 6 + 7 + 8
    assert occupancy.split.reservation == 4 + 3 + 2 + 1 + 0
    assert occupancy.split.total == 5 * 8


@pytest.mark.parametrize("name", PAPER_FIGURE_2)
def test_a_request_that_never_fits_is_an_error(name):
    with pytest.raises(RequestTooLong, match="request 1 has 4000 \\+ 100 tokens"):
        simulate(paper_pools(4096, 4096)[name], at_once((10, 10), (4000, 100)))


def test_a_run_has_a_number_of_steps():
    for steps in (0, -1, 1.5):
        with pytest.raises(SimulationError, match="number of steps"):
            simulate(PagedPool(8, 4), at_once((1, 1)), steps=steps)
    with pytest.raises(SimulationError, match="warm"):
        simulate(PagedPool(8, 4), at_once((1, 1)), steps=10, warm_up=-1)
    for requests in ([], at_once((1, 1))):
        with pytest.raises(SimulationError, match="ended within the 5 steps"):
            simulate(PagedPool(8, 4), requests, steps=10, warm_up=5)
