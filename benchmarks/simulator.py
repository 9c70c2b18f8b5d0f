"""The simulator of a server's memory: how long it takes, and what it says beside the PagedAttention paper.

    python benchmarks/simulator.py                    # all of it
    python benchmarks/simulator.py --only speed       # or figures, blocks, azure

Times are processor seconds of one core. A run's invariants are checked on samples of it, and small runs must
equal those of the step-by-step server of the tests. What the paper printed is beside what comes out here; no
figure of the paper decides whether this program succeeds.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from kvcourse.serving import (
    PAPER_FIGURE_2,
    PAPER_FIGURE_13,
    PAPER_SLOTS,
    over_seeds,
    paper_pools,
    simulate,
)
from kvcourse.workloads import (
    ALPACA,
    SHAREGPT,
    TRACE_FILE,
    Lengths,
    Request,
    find_azure_trace,
    read_azure_trace,
    synthetic,
)

SEEDS = range(8)
HEADINGS = ("tokens", "reservation", "internal", "external_and_other")


# ---- speed


def timed(name: str, requests: list[Request]) -> float:
    """Seconds to serve all of them; AssertionError if the run breaks an invariant."""
    begun = time.process_time()
    run = simulate(paper_pools()[name], requests, sample_every=10_000)
    seconds = time.process_time() - begun
    assert run.finished == len(run.delays) == len(requests)
    assert run.running == sum(request.output for request in requests), "each output token is made once"
    assert run.split.total == PAPER_SLOTS * run.steps
    for sample in run.samples:
        split = sample.split
        assert split.total == PAPER_SLOTS
        assert min(split.tokens, split.reservation, split.internal, split.external, split.other) >= 0
    return seconds


def speed(slabs: int, paged: int) -> None:
    print("processor seconds; ShareGPT lengths, all waiting from the start")
    print(f"{'':8}{'requests':>10}{'seconds':>9}{'us each':>9}{'n/2':>9}{'ratio':>7}")
    for name in PAPER_FIGURE_2:
        count = paged if name == "paged" else slabs
        requests = synthetic(SHAREGPT, count, 0)
        half, whole = timed(name, requests[: count // 2]), timed(name, requests)
        each = 1e6 * whole / count
        print(f"{name:8}{count:10,}{whole:9.1f}{each:9.1f}{half:9.1f}{whole / half:7.2f}")


def beside_step_by_step() -> None:
    """The oracle of the tests looks at every request in every step; the sums must be equal."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "serving"))
    from naive_server import Blocks, Slabs, serve

    print("\nbeside a server that goes step by step, 1,000 requests, equal sums")
    requests = synthetic(SHAREGPT, 1000, 0)
    for name, memory in (("max", Slabs(PAPER_SLOTS, 2048)), ("paged", Blocks(PAPER_SLOTS, 16, 0))):
        begun = time.process_time()
        seen = serve(memory, PAPER_SLOTS, requests)
        middle = time.process_time()
        run = simulate(paper_pools()[name], requests)
        end = time.process_time()
        split = run.split
        sums = [split.tokens, split.reservation, split.internal, split.external, split.other]
        assert (sums, run.preempted, run.delays) == (seen["split"], seen["preempted"], seen["delays"])
        slow, fast = middle - begun, end - middle
        print(f"{name:8}{slow:8.2f} s step by step{fast:8.3f} s event by event   ratio {slow / fast:.1f}")


# ---- figures 2 and 13


def measured(name: str, lengths: Lengths, block_size: int = 16) -> dict:
    """Spreads over the seeds, in a server that always has somebody waiting."""
    steps = round(12 * lengths.output_mean)
    warm_up = round(3 * lengths.output_mean)

    def measure(seed: int) -> dict[str, float]:
        pool = paper_pools(block_size=block_size)[name]
        run = simulate(pool, endless(lengths, seed), steps=steps, warm_up=warm_up)
        assert run.waiting_steps == run.steps
        return {**run.shares(), "batch": run.batch, "preempted": run.preempted / run.steps}

    return over_seeds(measure, SEEDS)


def endless(lengths: Lengths, seed: int):
    """More requests than any run here can serve, made as they are needed."""
    part = 0
    while True:
        yield from synthetic(lengths, 2000, 1000 * seed + part)
        part += 1


def figures() -> None:
    print(f"\nfigure 2: percent of the pool, mean ± sd over {len(SEEDS)} seeds (the paper's in brackets)")
    print(f"{'':8}" + "".join(f"{heading:>22}" for heading in HEADINGS))
    batches = {"sharegpt": {}, "alpaca": {}}
    for name, printed in PAPER_FIGURE_2.items():
        spread = measured(name, SHAREGPT)
        batches["sharegpt"][name] = spread["batch"]
        cells = (f"{spread[h]!s:>13} {bracketed(printed.get(h)):>8}" for h in HEADINGS)
        print(f"{name:8}" + "".join(cells))
    batches["alpaca"] = {name: measured(name, ALPACA)["batch"] for name in PAPER_FIGURE_13["alpaca"]}
    print("\nfigure 13: requests held at once")
    for data, printed in PAPER_FIGURE_13.items():
        cells = (f"{batches[data][name]!s:>13} {bracketed(printed[name]):>8}" for name in printed)
        print(f"{data:9}" + "".join(cells))

    print("\nwhat hangs on the width we chose (sigma of prompts, of outputs): percent, requests")
    titles = ("tokens: max", "pow2", "oracle", "paged", "pow2 intern.", "paged held")
    print(f"{'':12}" + "".join(f"{title:>13}" for title in titles))
    for prompt_sigma, output_sigma in ((0.7, 0.7), (1.1, 1.0), (1.4, 1.3)):
        lengths = Lengths(SHAREGPT.prompt_mean, prompt_sigma, SHAREGPT.output_mean, output_sigma)
        spreads = {name: measured(name, lengths) for name in PAPER_FIGURE_2}
        cells = [spreads[name]["tokens"] for name in PAPER_FIGURE_2]
        cells += [spreads["pow2"]["internal"], spreads["paged"]["batch"]]
        print(f"{prompt_sigma}, {output_sigma:<7}" + "".join(f"{cell!s:>13}" for cell in cells))

    print("\npaged at 2 requests a second, by the time of a step (the paper held 30.42)")
    for step_seconds in (0.02, 0.03, 0.04, 0.05):
        spread = over_seeds(lambda seed, step_seconds=step_seconds: arrivals(seed, step_seconds), SEEDS)
        print(
            f"{1000 * step_seconds:6.0f} ms{spread['batch']!s:>13}  waiting in {spread['waiting']} % of steps"
        )


def arrivals(seed: int, step_seconds: float) -> dict[str, float]:
    requests = synthetic(SHAREGPT, 2000, seed, rate=2.0)
    steps, warm_up = round(700 / step_seconds), round(100 / step_seconds)
    run = simulate(paper_pools()["paged"], requests, step_seconds=step_seconds, steps=steps, warm_up=warm_up)
    return {"batch": run.batch, "waiting": 100 * run.waiting_steps / run.steps}


def bracketed(figure: float | None) -> str:
    return "(-)" if figure is None else f"({figure:g})"


# ---- block sizes, real lengths


def blocks() -> None:
    print(f"\npaged, by block size: mean ± sd over {len(SEEDS)} seeds")
    print(f"{'block':>6}{'tokens %':>13}{'last block empty %':>20}{'held at once':>15}{'preempted/step':>16}")
    for block_size in (1, 8, 16, 32, 64, 128, 256):
        spread = measured("paged", SHAREGPT, block_size)
        empty = spread["reservation"].mean + spread["internal"].mean
        print(
            f"{block_size:6}{spread['tokens']!s:>13}{empty:20.1f}{spread['batch']!s:>15}"
            f"{spread['preempted'].mean:16.2f}"
        )


def azure() -> None:
    path = find_azure_trace()
    if path is None:
        print(f"\nAzure trace: no KVCOURSE_DATA/traces/{TRACE_FILE} here")
        return
    longest, slots = 2**14, 2**17
    lengths = [Request(0.0, request.prompt, request.output) for request in read_azure_trace(path)]
    print(f"\nreal lengths (Azure conversations, all waiting), {slots:,} slots, longest {longest:,}: percent")
    print(f"{'':8}" + "".join(f"{heading:>20}" for heading in HEADINGS) + f"{'held at once':>15}")
    for name, pool in paper_pools(slots, longest).items():
        run = simulate(pool, lengths)
        shares = run.shares()
        print(f"{name:8}" + "".join(f"{shares[h]:20.1f}" for h in HEADINGS) + f"{run.batch:15.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["speed", "figures", "blocks", "azure"])
    parser.add_argument("--requests", type=int, default=1_000_000, help="for the contiguous policies")
    parser.add_argument("--paged", type=int, default=100_000, help="for the paged one")
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    if asked.only in (None, "speed"):
        speed(asked.requests, asked.paged)
        beside_step_by_step()
    for part in (figures, blocks, azure):
        if asked.only in (None, part.__name__):
            part()


if __name__ == "__main__":
    main()
