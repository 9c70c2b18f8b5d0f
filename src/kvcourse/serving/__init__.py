"""A server over time: which requests hold memory when, and how much of it stores tokens."""

from kvcourse.serving.occupancy import Occupancy, Sample, simulate
from kvcourse.serving.paper import PAPER_FIGURE_2, PAPER_FIGURE_13, PAPER_SLOTS, paper_pools
from kvcourse.serving.queue import SimulationError
from kvcourse.serving.seeds import Spread, over_seeds
from kvcourse.serving.stretches import Stretch, stretches

__all__ = [
    "PAPER_FIGURE_2",
    "PAPER_FIGURE_13",
    "PAPER_SLOTS",
    "Occupancy",
    "Sample",
    "SimulationError",
    "Spread",
    "Stretch",
    "over_seeds",
    "paper_pools",
    "simulate",
    "stretches",
]
