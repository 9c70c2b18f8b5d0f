"""Proxies: what the checker holds of the student's objects, and errors that stand for theirs.

A proxy never lets the student's own `__eq__`, `__bool__`, `__array__` or `__float__` decide a comparison:
what a test compares is a plain value, or the comparison raises. Each class of the student's has a proxy
class of its name, so that messages name it.
"""

from collections.abc import Sequence
from typing import Any

from kvcourse.grading import kinds


class StudentError(Exception):
    """Stands in the checker for what the student's code raised. `remote_type` is the name of the real
    class.
    """

    remote_type = "Exception"
    text = ""
    student_traceback: Sequence[str] = ()

    def __str__(self) -> str:
        return self.text


class RemoteStop(BaseException):
    """The student's StopIteration, on its way to `__next__`."""


class Inout:
    """An argument whose changes in place come back."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Shared:
    """An object of the checker's that the student may call, by its named methods only; attributes are
    copies.
    """

    def __init__(self, obj: Any, methods: Sequence[str], attrs: Sequence[str]) -> None:
        self.obj, self.methods = obj, tuple(methods)
        self.attrs = {name: getattr(obj, name) for name in attrs}
        self.name = type(obj).__name__


class Proxy:
    """An object that lives in the student process."""

    __slots__ = ("__weakref__", "_connection", "_handle", "_info")

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return _info(self)["name"]
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # numpy, torch and inspect probe for these; no protocol is remote
        return _ask(self, "get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "set", self, name, value)

    def __delattr__(self, name: str) -> None:
        _ask(self, "del", self, name)

    def __getitem__(self, key: Any) -> Any:
        return _ask(self, "item", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _ask(self, "setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        _ask(self, "delitem", self, key)

    def __len__(self) -> int:
        return _exactly(_ask(self, "len", self), int)

    def __iter__(self) -> Any:
        return self if _info(self)["kind"] == "iter" else _ask(self, "iter", self)

    def __next__(self) -> Any:
        try:
            return _ask(self, "next", self)
        except RemoteStop:
            raise StopIteration from None

    def __contains__(self, value: Any) -> bool:
        return _exactly(_ask(self, "has", self, value), bool)

    def __enter__(self) -> Any:
        return _ask(self, "enter", self)

    def __exit__(self, *error: Any) -> bool:
        _ask(self, "exit", self)
        return False

    def __instancecheck__(self, value: Any) -> bool:
        return is_proxy(value) and _exactly(_ask(self, "isinstance", value, self), bool)

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of a student's object ({_info(self)['name']}); compare plain values")

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        if not is_proxy(other):
            raise TypeError(
                f"a student's object ({_info(self)['name']}) compared with a plain {type(other).__name__}"
            )
        if _info(self)["own_eq"] or _info(other)["own_eq"]:
            raise TypeError('the student\'s class defines __eq__: use op("eq", a, b) is True')
        return False

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<student's {_info(self)['kind']} {_info(self)['name']}>"

    @property
    def __class__(self) -> type:
        """The course's class that the object says it inherits from, for isinstance; believed as far as the
        student is.
        """
        for name in _info(self)["bases"] if _info(self)["kind"] == "obj" else ():
            if name in kinds.OBJECT_TYPES:
                return kinds.OBJECT_TYPES[name]
        return type(self)


class CallableProxy(Proxy):
    """A proxy that can be called."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        changing = [value.value for value in (*args, *kwargs.values()) if type(value) is Inout]
        args = tuple(value.value if type(value) is Inout else value for value in args)
        kwargs = {name: value.value if type(value) is Inout else value for name, value in kwargs.items()}
        return _ask(self, "call", self, args, kwargs, changing=changing)


def is_proxy(value: Any) -> bool:
    """Whether a value stands for a student's object (asked of the real type, not of `__class__`)."""
    return issubclass(type(value), Proxy)


def _info(proxy: Proxy) -> dict:
    return object.__getattribute__(proxy, "_info")


def _ask(proxy: Proxy, op: str, *arguments: Any, changing: Sequence[Any] = ()) -> Any:
    return object.__getattribute__(proxy, "_connection").ask(op, *arguments, changing=changing)


def _exactly(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
