"""Lengths of prompts and outputs, drawn from a distribution whose mean is a published one.

Kwon et al. (PagedAttention, SOSP 2023, figure 11) print the mean lengths of the two data sets they serve and
draw their histograms, but give no formula. The log-normal shape, its width and the cut are our choice. The
mean after the cut equals the published mean by construction: the median is solved for it. So a simulated
share that depends on the mean alone agrees with the paper partly because it was put in.
"""

import math
import random
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

from kvcourse.blocks.errors import whole_number
from kvcourse.errors import UserError, shown

LONGEST = 2**17  # the weights of a distribution that long take seconds
MOST = 2**24  # requests; so many take gigabytes


class WorkloadError(UserError):
    """Lengths or a rate of arrivals that make no workload."""


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Lengths:
    """Log-normal lengths in tokens, rounded, and cut to 1..cut by moving what lies outside to the ends.

    The cut is 2^17 at most. The means are those after the cut; sigma is the standard
    deviation of the length's logarithm.
    """

    prompt_mean: float
    prompt_sigma: float
    output_mean: float
    output_sigma: float
    cut: int = 1024

    def __post_init__(self):
        whole_number(self.cut, "the longest prompt or output", 2, LONGEST, error=WorkloadError)
        for name in ("prompt", "output"):
            mean, sigma = getattr(self, f"{name}_mean"), getattr(self, f"{name}_sigma")
            if not is_number(mean) or not 1 < mean < self.cut:
                raise WorkloadError(
                    f"a mean {name} must lie between 1 and {self.cut} tokens; got {shown(mean)}."
                )
            if not is_number(sigma) or not 0 < sigma <= 5:
                raise WorkloadError(f"the sigma of the {name}s must lie between 0 and 5; got {shown(sigma)}.")

    def prompts(self, count: int, generator: random.Random) -> list[int]:
        return _draw(self.prompt_mean, self.prompt_sigma, self.cut, count, generator)

    def outputs(self, count: int, generator: random.Random) -> list[int]:
        return _draw(self.output_mean, self.output_sigma, self.cut, count, generator)


SHAREGPT = Lengths(prompt_mean=161.31, prompt_sigma=1.1, output_mean=337.99, output_sigma=1.0)
ALPACA = Lengths(prompt_mean=19.31, prompt_sigma=0.7, output_mean=58.45, output_sigma=1.0)


def _draw(mean: float, sigma: float, cut: int, count: int, generator: random.Random) -> list[int]:
    count = whole_number(count, "the number of lengths", 0, MOST, error=WorkloadError)
    return generator.choices(range(1, cut + 1), cum_weights=_cumulative(mean, sigma, cut), k=count)


@cache
def _cumulative(mean: float, sigma: float, cut: int) -> list[float]:
    """P(length <= n) for n in 1..cut, with the median solved by bisection so that the mean is `mean`."""
    low, high = -20.0, 20.0  # of the logarithm of the median, before the cut
    for _ in range(80):  # halves 40 to less than a float can tell apart
        middle = (low + high) / 2
        if sum(_tail(middle, sigma, cut)) < mean:
            low = middle
        else:
            high = middle
    tail = _tail(high, sigma, cut)
    return [1 - more for more in tail[1:]] + [1.0]


def _tail(log_median: float, sigma: float, cut: int) -> list[float]:
    """P(length >= n) for n in 1..cut. Their sum is the mean."""
    normal = NormalDist(log_median, sigma)
    return [1.0] + [1 - normal.cdf(math.log(n - 0.5)) for n in range(2, cut + 1)]
