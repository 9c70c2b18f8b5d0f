"""The student process: runs the student's cells and answers the checker's requests about what they made.

It holds no test. Whatever its code does to this module, the other side believes only what it decodes.
"""

import builtins
import copy
import operator
import os
import socket
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from kvcourse.grading import kinds
from kvcourse.grading.connection import Connection
from kvcourse.grading.shell import Keeper, Shell, redirect
from kvcourse.grading.wire import CannotEncode, Fault, ProtocolError, recv_frame

TRACEBACK_LINES = 40


class Kept:
    """Forces a handle where a value would cross."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Remote:
    """An object that lives in the checker: it can be called, or its lent methods can."""

    def __init__(self, connection: Connection, number: int, info: dict) -> None:
        self.__dict__.update(_connection=connection, _number=number, _info=info)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._connection.ask("call", self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        info = self.__dict__["_info"]
        if name in info.get("methods", ()):
            return lambda *args, **kwargs: self._connection.ask("method", self, name, args, kwargs)
        if name in info.get("attrs", ()):
            return self._connection.ask("attr", self, name)
        if name == "__name__":
            return info["name"]
        raise AttributeError(f"{info['name']!r} object has no attribute {name!r}")


class StudentConnection(Connection):
    """The student's end."""

    def __init__(self, sock: socket.socket, shell: Shell, keeper: Keeper) -> None:
        super().__init__(sock)
        self._shell, self._keeper = shell, keeper
        self._remotes: dict[int, Remote] = {}

    def export(self, value: Any) -> list:
        if type(value) is Remote:
            return ["m", value.__dict__["_number"]]
        if type(value) is Kept:
            value = value.value
        kind, info = type(value), {}
        if isinstance(value, type):
            error = issubclass(value, BaseException)
            info = {"kind": "error" if error else "cls", "name": value.__name__}
            info["bases"] = [base.__name__ if error else kinds.type_key(base) for base in value.__mro__]
        elif kind in (types.FunctionType, types.MethodType, types.BuiltinFunctionType):
            info = {"kind": "fn", "name": getattr(value, "__name__", "function"), "bases": []}
        else:
            iterates = hasattr(kind, "__next__")
            info = {"kind": "iter" if iterates else "obj", "name": kind.__name__}
            info["bases"] = [kinds.type_key(base) for base in kind.__mro__]
            info["callable"] = callable(value)
            info["own_eq"] = kind.__eq__ is not object.__eq__
        info["name"], info["bases"] = str(info["name"])[:200], info["bases"][:64]
        return ["x", self.handle(value), info]

    def resolve(self, node: list) -> Any:
        if node[0] == "m":
            return self.handled(node[1])
        if node[0] == "x":
            if node[1] not in self._remotes:
                self._remotes[node[1]] = Remote(self, node[1], node[2])
            return self._remotes[node[1]]
        if node[0] == "u":  # an object that a locked setup cell, or a module, made on both sides
            return _named(node[1], self._shell.user_ns)
        raise ProtocolError(f"a node with the tag '{node[0][:20]}'")

    def perform(self, op: str, arguments: tuple) -> Any:
        if op == "exec":
            self._keeper.begin()
            return self._run_cell(*arguments)
        if op == "names":
            self._keeper.begin()
            return {name: self._shell.user_ns[name] for name in arguments[0] if name in self._shell.user_ns}
        if op not in OPERATIONS:
            raise ProtocolError(f"a request '{op[:20]}'")
        return OPERATIONS[op](*arguments)

    def _run_cell(self, source: str) -> bool:
        """Run a cell as a notebook does; whether it ended without an error."""
        result = self._shell.run_cell(source, store_history=True)
        return result.success

    def describe_error(self, error: BaseException) -> dict:
        try:
            text = str(error)[:4000]
        except BaseException:
            text = "an error that cannot say what it is"
        try:
            lines = "".join(traceback.format_exception(error)).splitlines()[-TRACEBACK_LINES:]
        except BaseException:
            lines = []
        if isinstance(error, CannotEncode):
            lines = []
        args = [arg for arg in error.args if arg is None or type(arg) in (bool, int, float, str)]
        return {
            "name": type(error).__name__,
            "text": text,
            "bases": [base.__name__ for base in type(error).__mro__],
            "traceback": [line[:500] for line in lines if "/kvcourse/grading/" not in line],
            "args": args if len(args) == len(error.args) and len(str(args)) < 4000 else [],
        }

    def raise_error(self, described: dict) -> None:
        kind = kinds.ERRORS.get(described["name"]) or getattr(builtins, described["name"], RuntimeError)
        raise kind(described["text"])

    def extra(self) -> dict:
        outputs = self._keeper.take()
        return {"out": outputs} if outputs else {}


def _vjp(function: Callable, args: list, grad: Any) -> tuple[Any, list]:
    result = function(*args)
    result.backward(grad)
    return result.detach(), [getattr(argument, "grad", None) for argument in args]


OPERATIONS: dict[str, Callable] = {
    "call": lambda function, args, kwargs: function(*args, **kwargs),
    "hold": lambda function, args, kwargs: Kept(function(*args, **kwargs)),
    "put": lambda content: Kept(content),
    "value": lambda held: copy.deepcopy(held),
    "vjp": _vjp,
    "op": lambda name, args: getattr(operator, name)(*args),
    "get": lambda held, name: getattr(held, name),
    "set": lambda held, name, value: setattr(held, name, value),
    "del": lambda held, name: delattr(held, name),
    "item": lambda held, key: held[key],
    "setitem": lambda held, key, value: operator.setitem(held, key, value),
    "delitem": lambda held, key: operator.delitem(held, key),
    "len": lambda held: len(held),
    "iter": lambda held: iter(held),
    "next": lambda held: next(held),
    "has": lambda held, value: value in held,
    "enter": lambda held: held.__enter__(),
    "exit": lambda held: bool(held.__exit__(None, None, None)),
    "isinstance": lambda held, kind: isinstance(held, kind),
}


def _named(name: str, namespace: dict) -> Any:
    """The object that a locked setup cell named, or an attribute of a module: "name" or
    "module:attribute".
    """
    module, _, path = name.rpartition(":")
    if not module:
        return namespace[name]
    found: Any = sys.modules[module]
    for part in path.split("."):
        found = getattr(found, part)
    return found


def serve(sock: socket.socket, shell: Shell, keeper: Keeper, prepare: Callable[[], None]) -> None:
    """Answer requests until the checker hangs up; then end this process at once."""
    prepare()
    redirect(keeper)
    connection = StudentConnection(sock, shell, keeper)
    try:
        while True:
            header, buffers = recv_frame(sock)
            connection.serve(header, buffers)
    except Fault:
        os._exit(0)
