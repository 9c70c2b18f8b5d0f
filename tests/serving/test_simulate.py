"""Figure 2 of the PagedAttention paper, as far as it can be derived: orderings and bands, never a digit."""

import pytest

from kvcourse.reservation import ContiguousPool, Oracle, PagedPool, RequestTooLong, ReservationError
from kvcourse.serving import PAPER_FIGURE_2, PAPER_SLOTS, SimulationError, over_seeds, paper_pools, simulate
from kvcourse.workloads import SHAREGPT, Request, synthetic

SEEDS = range(5)
LEFTOVER = 100 * (PAPER_SLOTS - 7 * 2048) / PAPER_SLOTS  # 8.85: the rest of the pool


def at_once(*lengths):
    """Requests of (prompt, output) tokens that all wait from the start."""
    return [Request(0.0, prompt, output) for prompt, output in lengths]


@pytest.fixture(scope="module")
def runs():
    """By policy and seed, each in a server that always has somebody waiting."""
    return {
        name: [
            simulate(paper_pools()[name], synthetic(SHAREGPT, 8000, seed), steps=2000, warm_up=500)
            for seed in SEEDS
        ]
        for name in PAPER_FIGURE_2
    }


def test_the_papers_pool_has_15728_slots_and_room_for_7_of_the_longest():
    assert PAPER_SLOTS == 15728
    assert PAPER_SLOTS // 2048 == 7


@pytest.mark.parametrize("seed", SEEDS)
def test_the_shares_come_in_the_papers_order(runs, seed):
    of = {name: runs[name][seed].parts() | runs[name][seed].shares() for name in runs}
    tokens = {name: shares["tokens"] for name, shares in of.items()}
    assert tokens["paged"] > tokens["oracle"] > tokens["pow2"] > tokens["max"]
    internal = {name: shares["internal"] for name, shares in of.items()}
    assert internal["max"] > internal["pow2"] > internal["paged"] > internal["oracle"] == 0
    external = {name: shares["external_and_other"] for name, shares in of.items()}
    assert min(external["pow2"], external["oracle"]) > external["max"] > external["paged"]
    assert external["max"] == pytest.approx(LEFTOVER)
    batch = {name: runs[name][seed].batch for name in runs}
    assert batch["paged"] > batch["oracle"] > batch["pow2"] > batch["max"] == 7
    for name, shares in of.items():
        assert sum(runs[name][seed].parts().values()) == pytest.approx(100, abs=1e-9)
        assert shares["external"] + shares["other"] == pytest.approx(shares["external_and_other"])
        assert (shares["other"] > 0) == (name in ("pow2", "oracle")), "only the buddy allocator rounds"


def test_the_token_shares_lie_in_bands_around_the_papers(runs):
    """Five points wide: one seed moves a share by two. The lengths are made with the paper's means."""
    for name, printed in PAPER_FIGURE_2.items():
        share = over_seeds(lambda seed, name=name: runs[name][seed].shares(), SEEDS)
        assert share["tokens"].mean == pytest.approx(printed["tokens"], abs=5)
        assert 0 <= share["tokens"].sd < 3.5


def test_only_blocks_on_demand_run_out_midway(runs):
    for name in runs:
        for run in runs[name]:
            assert run.waiting_steps == run.steps == 2000
            assert (run.preempted > 0) == (name == "paged")


def test_larger_blocks_leave_more_slots_empty():
    """At most block - 1 in each request that is held, half of them on average."""
    empty = []
    for block in (1, 16, 64, 256):
        run = simulate(PagedPool(PAPER_SLOTS, block), synthetic(SHAREGPT, 4000, 0), steps=1000, warm_up=500)
        in_last_blocks = (run.split.reservation + run.split.internal) / run.running
        assert in_last_blocks <= block - 1
        assert in_last_blocks == pytest.approx((block - 1) / 2, rel=0.1)
        empty.append(in_last_blocks)
    assert empty[0] == 0


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


@pytest.mark.parametrize("name", PAPER_FIGURE_2)
def test_a_pool_of_one_request_serves_them_one_after_the_other(name):
    pool = paper_pools(num_slots=8, max_tokens=8, block_size=8)[name]
    run = simulate(pool, at_once((5, 3), (1, 2), (7, 1)))
    assert (run.steps, run.batch, run.preempted, run.finished) == (3 + 2 + 1, 1, 0, 3)
    assert run.delays == [0, 3, 5]
    assert run.delay == pytest.approx(8 / 3)
    assert run.waiting_steps == 5
    assert run.split.tokens == (6 + 7 + 8) + (2 + 3) + 8


def test_one_slot_is_never_enough():
    for pool in (PagedPool(1, 1), ContiguousPool(1, Oracle(2))):
        with pytest.raises(RequestTooLong):
            simulate(pool, at_once((1, 1)))


def test_in_blocks_of_one_token_nothing_is_empty():
    run = simulate(PagedPool(50, 1), at_once((3, 9), (20, 4), (1, 1)))
    assert run.split.reservation == run.split.internal == run.split.other == 0


def test_a_step_takes_time_and_arrivals_wait_for_the_next():
    requests = [Request(0.0, 1, 4), Request(0.3, 1, 1), Request(0.5, 1, 1)]
    run = simulate(PagedPool(64, 4), requests, step_seconds=0.5, sample_every=1)
    assert [sample.running for sample in run.samples] == [1, 3, 1, 1]
    assert run.delays == [0, 0, 0]


@pytest.mark.parametrize(
    ("requests", "what"),
    [
        ([], "ended within the 0 steps"),
        ([Request(2.0, 1, 1), Request(1.0, 1, 1)], "request 1 comes at 1.0 s, after 2 s"),
        ([Request(-1.0, 1, 1)], "request 0 comes at -1.0 s, after 0 s"),
        ([Request(float("nan"), 1, 1)], "request 0 comes at nan s"),
        ([Request(float("inf"), 1, 1)], "request 0 comes at inf s"),
        ([(1, 1)], r"request 0 is \(1, 1\)"),
        ([None], "request 0 is None"),
        ([Request("now", 1, 1)], "request 0 is Request"),
    ],
)
def test_what_is_no_queue_is_said_in_one_sentence(requests, what):
    with pytest.raises(SimulationError, match=rf"{what}.*\.$"):
        simulate(PagedPool(8, 4), requests)


@pytest.mark.parametrize("request_", [Request(0.0, 0, 1), Request(0.0, 1, 0), Request(0.0, 1.5, 1)])
def test_a_request_without_a_prompt_or_an_output_is_an_error(request_):
    for pool in paper_pools(64, 16, 4).values():
        with pytest.raises(ReservationError, match=r"tokens of a(n output| prompt) must be a whole number"):
            simulate(pool, [request_])
        assert pool.requests == {}


def test_a_run_has_a_number_of_steps():
    for steps in (0, -1, 1.5):
        with pytest.raises(SimulationError, match="number of steps"):
            simulate(PagedPool(8, 4), at_once((1, 1)), steps=steps)
        with pytest.raises(SimulationError, match="steps between samples"):
            simulate(PagedPool(8, 4), at_once((1, 1)), sample_every=steps)
    for step_seconds in (0, -1.0, float("nan"), float("inf"), "1"):
        with pytest.raises(SimulationError, match="a step must take"):
            simulate(PagedPool(8, 4), at_once((1, 1)), step_seconds=step_seconds)
    with pytest.raises(SimulationError, match="warm"):
        simulate(PagedPool(8, 4), at_once((1, 1)), steps=10, warm_up=-1)
    for requests in ([], at_once((1, 1))):
        with pytest.raises(SimulationError, match="ended within the 5 steps"):
            simulate(PagedPool(8, 4), requests, steps=10, warm_up=5)


def test_a_run_starts_with_an_empty_pool():
    pool = PagedPool(8, 4)
    pool.admit("a", 1, 1)
    with pytest.raises(SimulationError, match="this one holds 1"):
        simulate(pool, at_once((1, 1)))


def test_a_spread_is_the_mean_and_the_sample_standard_deviation():
    spread = over_seeds(lambda seed: {"a": seed, "b": 2.0}, [1, 2, 3])
    assert (spread["a"].mean, spread["a"].sd) == (2, 1)
    assert str(spread["b"]) == "2.0 ± 0.0"
    with pytest.raises(SimulationError, match="two seeds or more; got 1"):
        over_seeds(lambda seed: {"a": seed}, [1])
