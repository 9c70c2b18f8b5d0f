"""How far a simulated figure moves from seed to seed: what it can be trusted to say."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from kvcourse.errors import shown
from kvcourse.serving.queue import SimulationError


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation over seeds."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.sd:.1f}"


def over_seeds(measure: Callable[[int], Mapping[str, float]], seeds: Iterable[int]) -> dict[str, Spread]:
    """The spread of each figure that `measure(seed)` returns; at least two seeds."""
    if not isinstance(seeds, Iterable):
        raise SimulationError(f"a spread takes some seeds, such as range(8); got {shown(seeds)}.")
    runs = [measure(seed) for seed in seeds]
    if len(runs) < 2:
        raise SimulationError(f"a spread takes two seeds or more; got {len(runs)}.")
    figures = {name: [run[name] for run in runs] for name in runs[0]}
    return {name: Spread(fmean(values), stdev(values)) for name, values in figures.items()}
