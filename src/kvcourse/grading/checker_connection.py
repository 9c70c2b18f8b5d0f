"""The checker's end of the connection: what it lends, what it believes, and under which names errors
arrive.
"""

import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from kvcourse.grading import kinds
from kvcourse.grading.connection import Connection
from kvcourse.grading.outputs import Sink
from kvcourse.grading.proxies import CallableProxy, Proxy, RemoteStop, Shared, StudentError, is_proxy
from kvcourse.grading.wire import CannotEncode, Fault, ProtocolError

NAME_LENGTH = 200
MAX_CLASSES = 2000


class CheckerConnection(Connection):
    """The checker's end. `by_name(value)` names objects that both sides made themselves, in locked setup
    cells.
    """

    def __init__(
        self, sock: Any, sink: Sink, by_name: Callable[[Any], str | None], asking: Callable[[], None]
    ) -> None:
        """`asking` is called before each request."""
        super().__init__(sock)
        self._asking = asking
        self.failed_callback: BaseException | None = None  # sticky: a student's `except` must not lose it
        self._sink, self._by_name = sink, by_name
        self._proxies: weakref.WeakValueDictionary[int, Proxy] = weakref.WeakValueDictionary()
        self._classes: dict[tuple, type] = {}

    def ask(self, op: str, *arguments: Any, changing: Sequence[Any] = ()) -> Any:
        self._asking()
        return super().ask(op, *arguments, changing=changing)

    def export(self, value: Any) -> list:
        if is_proxy(value):
            if object.__getattribute__(value, "_connection") is not self:
                raise CannotEncode("an object of a student process that is gone; make it again in this cell")
            return ["m", object.__getattribute__(value, "_handle")]
        if type(value) is Shared:
            return ["x", self.handle(value), self._shared(value)]
        name = self._by_name(value)
        if name is not None:
            return ["u", name]
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
            return ["x", self.handle(value), {"kind": "fn", "name": value.__name__, "methods": []}]
        raise CannotEncode(
            f"a {type(value).__name__} object does not cross to the student's process; share(obj, methods, "
            "attrs) it, make it in a locked setup cell, or pass plain values"
        )

    def _shared(self, value: Shared) -> dict:
        return {
            "kind": "shared",
            "name": value.name,
            "methods": list(value.methods),
            "attrs": list(value.attrs),
        }

    def resolve(self, node: list) -> Any:
        if node[0] == "m" and len(node) == 2:
            return self.handled(node[1])
        if node[0] == "x" and len(node) == 3 and type(node[1]) is int and 0 <= node[1] < 1 << 40:
            info = _checked_info(node[2])
            if info["kind"] == "error":
                return self._error_class(info["name"], info["bases"])
            known = self._proxies.get(node[1])
            return known if known is not None else self._new_proxy(node[1], info)
        raise ProtocolError(f"a node with the tag '{node[0][:20]}'")

    def _new_proxy(self, number: int, info: dict) -> Proxy:
        base = CallableProxy if info["callable"] else Proxy
        proxy = object.__new__(self._class((base, info["kind"] == "obj" and info["name"]), base))
        for name, value in (("_connection", self), ("_handle", number), ("_info", info)):
            object.__setattr__(proxy, name, value)
        self._proxies[number] = proxy
        return proxy

    def _class(self, key: tuple, base: type) -> type:
        if not key[1]:
            return base
        if key not in self._classes:
            if len(self._classes) >= MAX_CLASSES:
                return base
            self._classes[key] = type(key[1], (base,), {"__slots__": (), "__module__": "student"})
        return self._classes[key]

    def _error_class(self, name: str, bases: Sequence[str]) -> type:
        """A class named as the student's, under the first error of Python or the course that it inherits
        from.
        """
        base = next((kinds.ERRORS[b] for b in bases if b in kinds.ERRORS and b != "Exception"), None)
        key = (StudentError, name, base)
        if key not in self._classes:
            if len(self._classes) >= MAX_CLASSES:
                raise ProtocolError("more classes of errors than anyone needs")
            parents = (StudentError, base) if base else (StudentError,)
            self._classes[key] = type(name, parents, {"remote_type": name, "__module__": "student"})
        return self._classes[key]

    def perform(self, op: str, arguments: tuple) -> Any:
        if op == "call" and len(arguments) == 3:
            function, args, kwargs = arguments
            if type(args) is not tuple or type(kwargs) is not dict:
                raise ProtocolError("a call without arguments")
            if type(function) is Shared:
                return function.obj(*args, **kwargs)
            if isinstance(function, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
                return function(*args, **kwargs)
        elif op == "method" and len(arguments) == 4:
            shared, name, args, kwargs = arguments
            if type(shared) is Shared and type(name) is str and name in shared.methods:
                if type(args) is not tuple or type(kwargs) is not dict:
                    raise ProtocolError("a call without arguments")
                return getattr(shared.obj, name)(*args, **kwargs)
        elif op == "attr" and len(arguments) == 2:
            shared, name = arguments
            if type(shared) is Shared and type(name) is str and name in shared.attrs:
                return shared.attrs[name]
        raise ProtocolError("a request for what was not lent")

    def caught(self, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            raise error
        if isinstance(error, AssertionError):
            self.failed_callback = error
        return error

    def describe_error(self, error: BaseException) -> dict:
        # The text of an assertion may hold what was expected.
        text = "" if isinstance(error, AssertionError) else _text(error)
        return {"name": type(error).__name__, "text": text}

    def raise_error(self, described: Any) -> None:
        if type(described) is not dict:
            raise ProtocolError("an error of another form")
        name, text, bases = described.get("name"), described.get("text"), described.get("bases")
        lines, args = described.get("traceback"), described.get("args")
        strings = [name, text, *(bases if type(bases) is list else [None])]
        strings += lines if type(lines) is list else [None]
        if any(type(part) is not str for part in strings) or type(args) is not list:
            raise ProtocolError("an error of another form")
        if name == "StopIteration":
            raise RemoteStop
        kind = self._error_class(_identifier(name[:NAME_LENGTH]), bases[:64])
        error = kind.__base__.__new__(kind)  # MemoryError makes its objects in its own way: ask the real base
        error.args = tuple(arg for arg in args[:10] if arg is None or type(arg) in (bool, int, float, str))
        error.text, error.student_traceback = text, lines
        raise error

    def receive_extra(self, header: dict) -> None:
        if header.get("out"):
            self._sink.take_from_student(header["out"])


def _checked_info(info: Any) -> dict:
    """A handle's description, checked: kind, name, names of base classes."""
    if type(info) is not dict:
        raise ProtocolError("a handle without description")
    kind, name, bases = info.get("kind"), info.get("name"), info.get("bases")
    if kind not in ("fn", "cls", "error", "iter", "obj") or type(name) is not str or type(bases) is not list:
        raise ProtocolError("a handle of another form")
    if len(name) > NAME_LENGTH or len(bases) > 64:
        raise ProtocolError("a handle with an impossible name")
    return {
        "kind": kind,
        "name": _identifier(name),
        "bases": [base for base in bases if type(base) is str],
        "callable": kind in ("fn", "cls") or info.get("callable") is True,
        "own_eq": info.get("own_eq") is True,
    }


def _identifier(name: str) -> str:
    """A name that a class can have: what is none may not even be printable."""
    return name if name.isidentifier() else "Object"


def _text(error: BaseException) -> str:
    try:
        return str(error)[:4000]
    except Fault:
        raise
    except BaseException:
        return "an error that cannot say what it is"
