"""From nodes and buffers to values: exact built-in types, listed dtypes, bounds checked. Nothing is
imported or run.

The bytes may come from a student process that says anything it likes. Every fault is a ProtocolError.
"""

import collections
import dataclasses
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from kvcourse.grading import kinds
from kvcourse.grading.wire import ProtocolError

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MISTAKES = (
    KeyError, IndexError, TypeError, ValueError, RuntimeError, OverflowError, AttributeError, MemoryError,
    RecursionError, ZeroDivisionError,
)  # fmt: skip
UNFINISHED = object()


class Decoder:
    """One message's decoder. `resolve(node)` gives the object that a handle stands for, or raises
    ProtocolError.
    """

    def __init__(
        self, buffers: list[bytearray], resolve: Callable[[list], Any], known: Iterable[Any] = ()
    ) -> None:
        self.buffers = buffers
        self.resolve = resolve
        self.memo: list[Any] = list(known)
        self._nodes = 0
        self._storages: dict[int, torch.Tensor] = {}

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value of a node."""
        if node is None or type(node) in (bool, str, int, float):
            return node
        if type(node) is not list or not node or type(node[0]) is not str or depth > kinds.MAX_DEPTH + 4:
            raise ProtocolError("a node is no list with a tag, or lies too deep")
        self._nodes += 1
        if self._nodes > kinds.MAX_NODES:
            raise ProtocolError("a message has too many nodes")
        read = READERS.get(node[0])
        if read is None:
            return self.resolve(node)
        try:
            return read(self, node, depth + 1)
        except MISTAKES as error:
            raise ProtocolError(
                f"a node '{node[0]}' cannot be read: {type(error).__name__} {str(error)[:200]}"
            ) from None

    # ---- scalars ---------------------------------------------------------------------------------

    def _int(self, node: list, depth: int) -> int:
        if type(node[1]) is not str or len(node[1]) > kinds.MAX_INT_DIGITS:
            raise ProtocolError("a whole number is too long")
        return int(node[1], 16)

    def _float(self, node: list, depth: int) -> float:
        return NOT_FINITE[node[1]]

    def _complex(self, node: list, depth: int) -> complex:
        return complex(float.fromhex(node[1]), float.fromhex(node[2]))

    def _fraction(self, node: list, depth: int) -> Fraction:
        above, below = (self.decode(part, depth) for part in node[1:3])
        if type(above) is not int or type(below) is not int:
            raise ProtocolError("a fraction of what are no whole numbers")
        return Fraction(above, below)

    def _bytes(self, node: list, depth: int) -> bytes:
        return bytes(self._buffer(node[1]))

    def _bytearray(self, node: list, depth: int) -> bytearray:
        return self._keep(bytearray(self._buffer(node[1])))

    def _dtype(self, node: list, depth: int) -> torch.dtype:
        return kinds.DTYPES[node[1]]

    def _device(self, node: list, depth: int) -> torch.device:
        return kinds.DEVICES[node[1]]

    def _ellipsis(self, node: list, depth: int) -> Any:
        return Ellipsis

    def _slice(self, node: list, depth: int) -> slice:
        return slice(*[self.decode(part, depth) for part in node[1:4]])

    def _range(self, node: list, depth: int) -> range:
        if any(type(part) is not int for part in node[1:4]):
            raise ProtocolError("a range of what are no whole numbers")
        return range(*node[1:4])

    # ---- containers ------------------------------------------------------------------------------

    def _keep(self, value: Any) -> Any:
        self.memo.append(value)
        return value

    def _reference(self, node: list, depth: int) -> Any:
        index = node[1]
        if type(index) is not int or not 0 <= index < len(self.memo) or self.memo[index] is UNFINISHED:
            raise ProtocolError("a reference to nothing")
        return self.memo[index]

    def _items(self, node: list, depth: int) -> list:
        if type(node[1]) is not list:
            raise ProtocolError("a container without a list of items")
        return [self.decode(item, depth) for item in node[1]]

    def _list(self, node: list, depth: int) -> list:
        made = self._keep([])
        made.extend(self._items(node, depth))
        return made

    def _deque(self, node: list, depth: int) -> collections.deque:
        made = self._keep(collections.deque())
        made.extend(self._items(node, depth))
        return made

    def _set(self, node: list, depth: int) -> set:
        made = self._keep(set())
        made.update(self._items(node, depth))
        return made

    def _finished(self, make: Callable[[list], Any], node: list, depth: int) -> Any:
        """An immutable container: its place in the memo is taken before its items are read, filled after."""
        place = len(self.memo)
        self.memo.append(UNFINISHED)
        self.memo[place] = made = make(self._items(node, depth))
        return made

    def _tuple(self, node: list, depth: int) -> tuple:
        return self._finished(tuple, node, depth)

    def _frozenset(self, node: list, depth: int) -> frozenset:
        return self._finished(frozenset, node, depth)

    def _size(self, node: list, depth: int) -> torch.Size:
        return self._finished(lambda items: torch.Size(_sizes(items)), node, depth)

    def _fill(self, made: Any, node: list, depth: int) -> Any:
        self._keep(made)
        for key, value in node[1]:
            dict.__setitem__(made, self.decode(key, depth), self.decode(value, depth))
        return made

    def _dict(self, node: list, depth: int) -> dict:
        return self._fill({}, node, depth)

    def _ordered(self, node: list, depth: int) -> dict:
        made = self._keep(collections.OrderedDict())
        for key, value in node[1]:
            made[self.decode(key, depth)] = self.decode(value, depth)
        return made

    def _counter(self, node: list, depth: int) -> dict:
        return self._fill(collections.Counter(), node, depth)

    def _defaultdict(self, node: list, depth: int) -> dict:
        return self._fill(collections.defaultdict(kinds.FACTORIES[node[2]]), node, depth)

    def _course_value(self, node: list, depth: int) -> Any:
        kind = kinds.VALUE_TYPES[node[1]]
        place = len(self.memo)
        self.memo.append(UNFINISHED)
        values = [self.decode(item, depth) for item in node[2]]
        names = kinds.field_names(kind)
        if len(values) != len(names):
            raise ProtocolError("a value of the course with another number of fields")
        if dataclasses.is_dataclass(kind):
            made = object.__new__(kind)  # no __init__ or __post_init__ on what a stranger sent
            for name, value in zip(names, values, strict=True):
                object.__setattr__(made, name, value)
        else:
            made = tuple.__new__(kind, values)
        self.memo[place] = made
        return made

    # ---- arrays and tensors ----------------------------------------------------------------------

    def _buffer(self, index: Any) -> bytearray:
        if type(index) is not int or not 0 <= index < len(self.buffers):
            raise ProtocolError("a buffer that is not there")
        return self.buffers[index]

    def _scalar(self, node: list, depth: int) -> np.generic:
        return self._array_of(node[1], node[2])[0]

    def _array(self, node: list, depth: int) -> np.ndarray:
        shape = _sizes(node[2])
        return self._keep(self._array_of(node[1], node[3]).reshape(shape).copy())

    def _array_of(self, dtype: Any, buffer: Any) -> np.ndarray:
        if not kinds.array_dtype(dtype):
            raise ProtocolError("an array of another dtype than numbers")
        return np.frombuffer(bytes(self._buffer(buffer)), np.dtype(dtype))

    def _tensor(self, node: list, depth: int) -> torch.Tensor:
        tag, name, shape, strides, buffer, start, wants_grad = node
        dtype = kinds.DTYPES[name]
        shape = _sizes(shape)
        if buffer == -1:
            if math.prod(shape):
                raise ProtocolError("a tensor with elements but no buffer")
            made = torch.empty(shape, dtype=dtype)
        else:
            made = self._view(dtype, shape, strides, buffer, start)
        grad = wants_grad is True and (dtype.is_floating_point or dtype.is_complex)
        if tag == "P":
            made = torch.nn.Parameter(made, requires_grad=grad)
        elif grad:
            made.requires_grad_(True)
        return self._keep(made)

    def _view(self, dtype: torch.dtype, shape: list, strides: Any, buffer: Any, start: Any) -> torch.Tensor:
        data, size = self._buffer(buffer), kinds.ITEM_SIZES[dtype]
        numbers = [*strides, start]
        if len(strides) != len(shape) or any(type(n) is not int or n < 0 for n in numbers) or start % size:
            raise ProtocolError("strides of another form than the shape")
        if not math.prod(shape):
            raise ProtocolError("an empty tensor with a buffer")
        last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if start + (1 + last) * size > len(data):
            raise ProtocolError("a tensor that reaches out of its buffer")
        if buffer not in self._storages:
            self._storages[buffer] = torch.frombuffer(data, dtype=torch.uint8)
        storage = self._storages[buffer].untyped_storage()
        return torch.empty(0, dtype=dtype).set_(storage, start // size, shape, strides)


def _sizes(shape: Any) -> list:
    """A shape's numbers, checked: not negative, not too many, not too large together."""
    if type(shape) is not list or len(shape) > kinds.MAX_DIMENSIONS:
        raise ProtocolError("a shape that is no short list")
    if any(type(n) is not int or not 0 <= n < 2**48 for n in shape) or math.prod(shape) > kinds.MAX_ELEMENTS:
        raise ProtocolError("a shape of impossible sizes")
    return shape


READERS: dict[str, Callable[[Decoder, list, int], Any]] = {
    "i": Decoder._int, "f": Decoder._float, "cx": Decoder._complex, "fr": Decoder._fraction,
    "b": Decoder._bytes, "ba": Decoder._bytearray, "dt": Decoder._dtype,
    "dev": Decoder._device, "...": Decoder._ellipsis,
    "sl": Decoder._slice, "rg": Decoder._range, "r": Decoder._reference, "l": Decoder._list,
    "t": Decoder._tuple, "S": Decoder._set, "fs": Decoder._frozenset, "dq": Decoder._deque,
    "sz": Decoder._size, "d": Decoder._dict, "od": Decoder._ordered, "ct": Decoder._counter,
    "dd": Decoder._defaultdict, "D": Decoder._course_value, "n": Decoder._scalar, "a": Decoder._array,
    "T": Decoder._tensor, "P": Decoder._tensor,
}  # fmt: skip
