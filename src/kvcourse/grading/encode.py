"""From values to a JSON-ready tree and raw buffers. No pickle; what is not a value is exported as a handle.

A node is a scalar of JSON itself or a list that begins with a tag (`decode.py` reads them). An object met
twice in one message is sent once (tag "r"), so identity and shared storage hold within a message.
"""

import collections
import ctypes
import functools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from kvcourse.grading import kinds
from kvcourse.grading.wire import CannotEncode

SEQUENCE_TAGS = {
    list: "l", tuple: "t", set: "S", frozenset: "fs", collections.deque: "dq", torch.Size: "sz",
}  # fmt: skip
MAPPING_TAGS = {dict: "d", collections.OrderedDict: "od", collections.Counter: "ct"}


@functools.lru_cache(maxsize=1000)
def _bytes_type(size: int) -> type:
    """A ctypes array of so many bytes: made once, for that takes longer than to use it."""
    return ctypes.c_ubyte * size


class Encoder:
    """One message's encoder. `export(value)` returns the node of what is not a value, or raises CannotEncode.

    `known` are objects that the other side already holds in this exchange, in its order.
    `objects[i]` is the i-th object of the message, the one that the decoder's `memo[i]` will be.
    """

    def __init__(self, export: Callable[[Any], list], known: Iterable[Any] = ()) -> None:
        self.export = export
        self.buffers: list[Any] = []
        self.objects: list[Any] = []
        self._index: dict[int, int] = {}
        self._storages: dict[int, list[Any]] = {}
        for value in known:
            self._remember(value)

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The node of a value."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else self._big_int(value)
        if kind is float:
            return value if math.isfinite(value) else ["f", repr(value)]
        if depth > kinds.MAX_DEPTH:
            raise CannotEncode(f"a value nested deeper than {kinds.MAX_DEPTH} does not cross")
        if id(value) in self._index:
            return ["r", self._index[id(value)]]
        if kind in SEQUENCE_TAGS:
            self._remember(value)
            return [SEQUENCE_TAGS[kind], [self.encode(item, depth + 1) for item in value]]
        if kind in MAPPING_TAGS:
            return self._mapping(MAPPING_TAGS[kind], value, depth)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return self._tensor(value)
        return self._other(value, kind, depth)

    def replace(self, value: Any) -> Any:
        """The node of an object's present content, although the other side knows the object (`known`)."""
        index = self._index.pop(id(value))
        node = self.encode(value)
        self._index[id(value)] = index
        return node

    def finish(self) -> list[Any]:
        """The message's buffers, once everything is encoded."""
        for address, (tensor, nodes, low, high) in self._storages.items():
            raw = _bytes_type(high - low).from_address(address + low)
            raw.owner = tensor  # it must live as long as its bytes
            self.buffers.append(memoryview(raw))
            for node in nodes:
                node[4] = len(self.buffers) - 1
                node[5] -= low
        self._storages = {}
        return self.buffers

    # ---- parts -----------------------------------------------------------------------------------

    def _remember(self, value: Any) -> None:
        self._index[id(value)] = len(self.objects)
        self.objects.append(value)

    def _buffer(self, data: Any) -> int:
        self.buffers.append(data)
        return len(self.buffers) - 1

    def _big_int(self, value: int) -> list:
        if value.bit_length() > 4 * (kinds.MAX_INT_DIGITS - 3):
            raise CannotEncode(f"a whole number of {value.bit_length()} bits does not cross")
        return ["i", hex(value)]

    def _mapping(self, tag: str, value: Any, depth: int) -> list:
        self._remember(value)
        return [tag, [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in dict.items(value)]]

    def _other(self, value: Any, kind: type, depth: int) -> Any:
        if kind in (bytes, bytearray):
            if kind is bytearray:
                self._remember(value)
            return ["b" if kind is bytes else "ba", self._buffer(bytes(value))]
        if kind is complex:
            return ["cx", value.real.hex(), value.imag.hex()]
        if kind is Fraction and type(value.numerator) is type(value.denominator) is int:
            return ["fr", *map(self.encode, (value.numerator, value.denominator))]
        if kind is torch.dtype and value in kinds.DTYPE_NAMES:
            return ["dt", kinds.DTYPE_NAMES[value]]
        if kind is torch.device:
            return ["dev", str(value)]
        if value is Ellipsis:
            return ["..."]
        if kind is slice:
            return ["sl", *[self.encode(part, depth + 1) for part in (value.start, value.stop, value.step)]]
        if kind is range:
            return ["rg", value.start, value.stop, value.step]
        if kind is collections.defaultdict:
            return self._defaultdict(value, depth)
        if kind is np.ndarray and kinds.plain_array(value):
            self._remember(value)
            return ["a", value.dtype.str, list(value.shape), self._buffer(value.tobytes())]
        # numpy's own number types, not a student's subclass of one
        if issubclass(kind, np.generic) and kind.__module__ == "numpy" and kinds.plain_array(value):
            return ["n", value.dtype.str, self._buffer(value.tobytes())]
        key = kinds.type_key(kind)
        if kinds.VALUE_TYPES.get(key) is kind:
            self._remember(value)
            fields = kinds.field_names(kind)
            return ["D", key, [self.encode(getattr(value, name), depth + 1) for name in fields]]
        return self.export(value)

    def _defaultdict(self, value: Any, depth: int) -> list:
        factory = value.default_factory
        name = next((n for n, kind in kinds.FACTORIES.items() if kind is factory), "None")
        return [*self._mapping("dd", value, depth), name]

    def _tensor(self, value: torch.Tensor) -> list:
        data = value.detach()
        if (
            data.layout is not torch.strided
            or data.device.type != "cpu"
            or data.dtype not in kinds.DTYPE_NAMES
        ):
            raise CannotEncode(f"a tensor of {data.layout}, {data.device}, {data.dtype} does not cross")
        self._remember(value)
        if data.is_conj() or data.is_neg():
            data = data.resolve_conj().resolve_neg()
        size, count = data.element_size(), data.numel()
        tag = "P" if type(value) is torch.nn.Parameter else "T"
        node = [tag, kinds.DTYPE_NAMES[data.dtype], list(data.shape), None, -1, 0, value.requires_grad]
        if not count:
            return node
        span = count * size
        if not data.is_contiguous():
            steps = zip(data.shape, data.stride(), strict=True)
            span = (1 + sum((n - 1) * step for n, step in steps)) * size
            if span > count * size:
                # Between the elements of such a view lie bytes that nobody meant to send.
                data = data.contiguous()
                span = count * size
        start = data.storage_offset() * size
        node[3], node[5] = list(data.stride()), start
        entry = self._storages.setdefault(data.untyped_storage().data_ptr(), [data, [], start, start + span])
        entry[1].append(node)
        entry[2], entry[3] = min(entry[2], start), max(entry[3], start + span)
        return node
