"""The markers of `kvcourse.checks.markers` where the learner's work is in another process."""

import copy
import operator
from collections.abc import Callable, Sequence
from typing import Any

from kvcourse.checks.markers import definition
from kvcourse.grading.checker_connection import CheckerConnection
from kvcourse.grading.proxies import Inout, Shared, is_proxy


class CrossingMarkers:
    """`connection()` is the one to the present student process; `cells()` the student's sources so far."""

    def __init__(self, connection: Callable[[], CheckerConnection], cells: Callable[[], list[str]]) -> None:
        self._connection, self._cells = connection, cells

    def inout(self, argument: Any) -> Any:
        return argument if is_proxy(argument) else Inout(argument)

    def share(self, obj: Any, methods: Sequence[str], attrs: Sequence[str]) -> Any:
        return Shared(obj, methods, attrs)

    def hold(self, function: Callable) -> Callable:
        if not is_proxy(function):
            return function
        return lambda *args, **kwargs: self._connection().ask("hold", function, args, kwargs)

    def put(self, content: Any) -> Any:
        return self._connection().ask("put", content)

    def value(self, handle: Any) -> Any:
        return self._connection().ask("value", handle) if is_proxy(handle) else copy.deepcopy(handle)

    def op(self, name: str, *args: Any) -> Any:
        if any(is_proxy(argument) for argument in args):
            return self._connection().ask("op", name, args)
        return getattr(operator, name)(*args)

    def vjp(self, function: Callable, args: Sequence[Any], grad: Any) -> tuple[Any, list[Any]]:
        value, grads = self._connection().ask("vjp", function, list(args), grad)
        return value, grads

    def source(self, name: str) -> str:
        for cell in reversed(self._cells()):
            found = definition(cell, name)
            if found:
                return found
        return ""

    def cells(self) -> list[str]:
        return list(self._cells())
