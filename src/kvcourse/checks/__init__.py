"""Checks of the learner's work: messages that teach, known mistakes, seeds, and markers for two processes.

    from kvcourse.checks import check, hidden              # staged checks: visible and hidden part of a cell
    from kvcourse.checks.markers import hold, inout, ...   # what may cross between learner and checker
    from kvcourse.checks.seed import class_rng             # sizes and weights of hidden tests

Imports no torch: a checker that only does arithmetic starts in milliseconds.
"""

from kvcourse.checks.messages import CheckFailed
from kvcourse.checks.mistakes import diagnose, right_value
from kvcourse.checks.staged import Checks, blind, check, hidden
from kvcourse.checks.watch import WatchedModel

__all__ = ["CheckFailed", "Checks", "WatchedModel", "blind", "check", "diagnose", "hidden", "right_value"]
