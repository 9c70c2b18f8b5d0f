"""What may cross as a value: fixed tables, made before any student code runs. Nothing is looked up by a
sent name.

Values are exact built-in types, tensors and arrays of listed dtypes, and the course's own frozen
dataclasses and named tuples. Everything else stays where it is and crosses as a handle.
"""

import builtins
import collections
import dataclasses
import sys
from typing import Any

import numpy as np
import torch

MAX_DEPTH = 60
MAX_NODES = 2_000_000
MAX_ELEMENTS = 256 << 20
MAX_INT_DIGITS = 2048  # hexadecimal
MAX_DIMENSIONS = 16

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
        torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn,
        torch.float8_e5m2,
    )
}  # fmt: skip
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
ITEM_SIZES = {dtype: dtype.itemsize for dtype in DTYPE_NAMES}
DEVICES = {"cpu": torch.device("cpu"), "meta": torch.device("meta")}
# A defaultdict's factory crosses by name. One of the student's own stays behind: only the items cross.
FACTORIES: dict[str, Any] = {kind.__name__: kind for kind in (list, dict, set, tuple, int, float, str, bool)}
FACTORIES["None"] = None

VALUE_TYPES: dict[str, type] = {}  # frozen dataclasses and named tuples of the course
OBJECT_TYPES: dict[str, type] = {}  # its other classes: isinstance(proxy, ClassOfTheCourse) asks here
ERRORS: dict[str, type] = {}  # what a student's error can be a kind of: Python's errors and the course's


def array_dtype(text: Any) -> bool:
    """Whether `text` names a numpy dtype of plain numbers, such as "<f4"."""
    if not isinstance(text, str) or len(text) > 5 or text[:1] not in tuple("<|>=") or not text[2:].isdigit():
        return False
    return text[1:2] in tuple("biufc") and 1 <= int(text[2:]) <= 32


def plain_array(value: Any) -> bool:
    """Whether a numpy array or scalar holds plain numbers."""
    return array_dtype(value.dtype.str)


def register_course_types() -> None:
    """Fill the tables with the classes of every `kvcourse` module imported so far (the zygote's last
    step).
    """
    for kind in vars(builtins).values():
        if isinstance(kind, type):
            register_error(kind)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "kvcourse" or name.startswith("kvcourse.grading"):
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind.__module__ == name:
                register_type(kind)


def register_type(kind: type) -> None:
    """Put one class into the table it belongs to."""
    key = type_key(kind)
    if issubclass(kind, BaseException):
        register_error(kind)
    elif is_value_type(kind):
        VALUE_TYPES[key] = kind
    else:
        OBJECT_TYPES[key] = kind


def register_error(kind: type) -> None:
    """Put a class of errors into the table, unless it steers iteration or cannot be made without
    arguments.
    """
    if not issubclass(kind, Exception) or issubclass(
        kind, StopIteration | StopAsyncIteration | ExceptionGroup
    ):
        return
    ERRORS.setdefault(kind.__name__, kind)


def is_value_type(kind: type) -> bool:
    """Whether a class's instances are values: frozen dataclasses and named tuples."""
    if dataclasses.is_dataclass(kind):
        return kind.__dataclass_params__.frozen
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def type_key(kind: type) -> str:
    """The name of a class in the tables. Read past the class's own attributes: a student's may lie or
    fail.
    """
    module = type.__getattribute__(kind, "__module__")
    return f"{module}.{type.__getattribute__(kind, '__qualname__')}"


def field_names(kind: type) -> list[str]:
    """The fields of a value type, in order."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return list(kind._fields)


MAPPINGS = (dict, collections.OrderedDict, collections.Counter)
SEQUENCES = (list, tuple, set, frozenset, collections.deque, torch.Size)
MUTABLE = (list, dict, set, bytearray, collections.deque, collections.OrderedDict, torch.Tensor, np.ndarray)
