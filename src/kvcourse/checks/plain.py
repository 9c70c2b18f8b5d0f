"""Plain values: what a check may believe. An object of the learner's own class is never asked what it is.

Types are compared exactly, so a subclass of int that lies about `==` is not a number here.
"""

import math
import sys
from collections import Counter, OrderedDict, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np

NUMPY_INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
NUMPY_FLOATS = (np.float16, np.float32, np.float64)
MAPPINGS = (dict, defaultdict, Counter, OrderedDict)
LONGEST = 60


def whole(got: Any) -> int | None:
    """The whole number that `got` is: an int, a numpy integer or a float without a fraction; else None."""
    if type(got) is int or type(got) in NUMPY_INTS:
        return int(got)
    if type(got) is float or type(got) in NUMPY_FLOATS:
        return int(got) if math.isfinite(got) and float(got).is_integer() else None
    above, below = _fraction(got)
    return above // below if below and above % below == 0 else None


def real(got: Any) -> float | int | None:
    """The number that `got` is (nan and infinities too), or None. True is no number."""
    if type(got) is float or type(got) in NUMPY_FLOATS:
        return float(got)
    above, below = _fraction(got)
    if below and above % below:
        return (
            above / below if abs(above) < 10**300 * below else math.copysign(math.inf, 1 if above > 0 else -1)
        )
    number = whole(got)
    if number is not None and abs(number) > 10**300:  # too large for a float to compare with
        return math.copysign(math.inf, 1 if number > 0 else -1)
    return number


def truth(got: Any) -> bool | None:
    """The yes or no that `got` is: True, False or NumPy's; else None."""
    return bool(got) if type(got) in (bool, np.bool_) else None


def counts_from_zero(got: Any) -> bool:
    """Whether what a dict does not have is 0 in it: a Counter, or a defaultdict of int or float."""
    factory = got.default_factory if type(got) is defaultdict else int if type(got) is Counter else None
    return factory is int or factory is float


def type_name(got: Any) -> str:
    """The type of `got` as a person writes it: "int", "torch.Tensor", "None"."""
    if got is None:
        return "None"
    kind = type(got)
    name, module = type.__getattribute__(kind, "__name__"), type.__getattribute__(kind, "__module__")
    prefix = f"{module}." if module in ("torch", "numpy") else ""
    return f"{prefix}{name}"[:LONGEST]


def known_type(got: Any) -> str:
    """The type of `got` if Python, torch or numpy has it: a learner's own class could have any name."""
    kind, name = type(got), type_name(got)
    module = sys.modules.get(name.rpartition(".")[0] or "builtins")
    return name if getattr(module, name.rpartition(".")[2], None) is kind else "a class of your own"


def describe(got: Any) -> str:
    """`got` in a message: plain values as written, tensors by shape and dtype, the rest by its type."""
    if got is None or truth(got) is not None:
        return str(got)
    number = real(got)
    if number is not None:
        return f"{_digits(number)} ({type_name(got)})"
    if type_name(got) in ("torch.Tensor", "numpy.ndarray"):
        return f"{type_name(got)} of shape {tuple(got.shape)}, {got.dtype}"
    if type(got) is str:
        return _cut(ascii(got))
    if type(got) in (list, tuple, set, frozenset) and all(
        type(item) in (int, float, str, bool) for item in got
    ):
        items = sorted(got, key=repr) if type(got) in (set, frozenset) else got
        return f"{_cut(ascii(items))} ({type_name(got)})"
    return f"a value of type {type_name(got)}"


def _fraction(got: Any) -> tuple[int, int]:
    """Numerator and denominator of a Fraction; (0, 0) of anything else, or where they are not its own."""
    if type(got) is not Fraction:
        return 0, 0
    above, below = got.numerator, got.denominator
    return (above, below) if type(above) is type(below) is int and below > 0 else (0, 0)


def _digits(number: float | int) -> str:
    if isinstance(number, int) and abs(number) >= 10**30:
        return f"a whole number of {number.bit_length()} bits"
    return f"{number:,}" if isinstance(number, int) else f"{number:.6g}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
