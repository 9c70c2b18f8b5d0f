"""Made requests: lengths of a distribution, arrivals by chance or all at once."""

import random

from kvcourse.blocks.errors import whole_number
from kvcourse.errors import shown
from kvcourse.workloads.lengths import MOST, Lengths, WorkloadError, is_number
from kvcourse.workloads.request import Request


def synthetic(lengths: Lengths, count: int, seed: int, rate: float | None = None) -> list[Request]:
    """`count` requests, 2^24 at most; for one seed the same ones, in lengths whatever the rate.

    `rate` is in requests a second (Poisson arrivals). Without one all arrive at 0: a server that always has
    more to do than it can hold.
    """
    if not isinstance(lengths, Lengths):
        raise WorkloadError(f"the lengths must be Lengths, such as SHAREGPT; got {shown(lengths)}.")
    count = whole_number(count, "the number of requests", 0, MOST, error=WorkloadError)
    arrivals = [0.0] * count if rate is None else poisson_arrivals(rate, count, seed)
    generator = random.Random(f"lengths {seed}")
    prompts, outputs = lengths.prompts(count, generator), lengths.outputs(count, generator)
    return list(map(Request, arrivals, prompts, outputs))


def poisson_arrivals(rate: float, count: int, seed: int) -> list[float]:
    """Times in seconds of `count` arrivals that know nothing of each other, `rate` a second on average.

    The gaps between them are exponential with mean 1 / rate.
    """
    if not is_number(rate) or not 0 < rate < float("inf"):
        raise WorkloadError(f"a rate of arrivals must be above 0 requests a second; got {shown(rate)}.")
    count = whole_number(count, "the number of arrivals", 0, MOST, error=WorkloadError)
    generator, now, times = random.Random(f"arrivals {seed}"), 0.0, []
    for _ in range(count):
        now += generator.expovariate(rate)
        times.append(now)
    return times
