"""One socket, two sides: either may ask, and while it waits for the answer it serves what the other side
asks.

A request is {"q": id, "op": name, "a": arguments, "io": indices}, an answer {"r": id, "v": value} or {"r":
id, "e": error}; "io" carries the new contents of arguments that may be changed in place. The id must be the
outstanding one.
"""

import socket
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from kvcourse.grading import kinds
from kvcourse.grading.decode import Decoder
from kvcourse.grading.encode import Encoder
from kvcourse.grading.wire import CannotEncode, Fault, PeerDied, ProtocolError, recv_frame, send_frame

MAX_NESTING = 40
MAX_HANDLES = 200_000


class Connection:
    """What both sides share. A side says how handles are made and found, what it serves, and what an error
    is.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.fault: Fault | None = None
        self._asked = 0
        self._nesting = 0
        self._lock = threading.RLock()  # a student's threads may call back
        self._handles: list[Any] = []
        self._handle_of: dict[int, int] = {}

    # ---- what a side defines ---------------------------------------------------------------------

    def export(self, value: Any) -> list:
        """The node of what is not a value."""
        raise NotImplementedError

    def resolve(self, node: list) -> Any:
        """The object that a handle's node stands for."""
        raise NotImplementedError

    def perform(self, op: str, arguments: tuple) -> Any:
        """Do what the other side asks."""
        raise NotImplementedError

    def describe_error(self, error: BaseException) -> dict:
        """An error as a value."""
        raise NotImplementedError

    def raise_error(self, described: Any) -> None:
        """Raise what `describe_error` of the other side described."""
        raise NotImplementedError

    def extra(self) -> dict:
        """What else each frame of this side carries."""
        return {}

    def receive_extra(self, header: dict) -> None:
        """Take what else a frame of the other side carries."""

    # ---- handles ---------------------------------------------------------------------------------

    def handle(self, value: Any) -> int:
        """The number under which the other side knows an object of this side."""
        number = self._handle_of.get(id(value))
        if number is None:
            if len(self._handles) >= MAX_HANDLES:
                raise CannotEncode(f"more than {MAX_HANDLES} objects are kept for the other process")
            number = self._handle_of[id(value)] = len(self._handles)
            self._handles.append(value)
        return number

    def handled(self, number: Any) -> Any:
        """The object of this side with that number."""
        if type(number) is not int or not 0 <= number < len(self._handles):
            raise ProtocolError("a handle that was never given")
        return self._handles[number]

    # ---- asking ----------------------------------------------------------------------------------

    def ask(self, op: str, *arguments: Any, changing: Sequence[Any] = ()) -> Any:
        """Ask the other side and return its answer; `changing` are arguments whose changes come back.

        A fault is sticky: after it every request fails, whatever the caller does with the first one.
        """
        if self.fault is not None:
            raise PeerDied(f"after an earlier fault ({self.fault})")
        try:
            with self._lock:
                return self._ask(op, arguments, changing)
        except Fault as fault:
            self.fault = self.fault or fault
            raise

    def _ask(self, op: str, arguments: tuple, changing: Sequence[Any]) -> Any:
        self._asked += 1
        number = self._asked
        encoder = Encoder(self.export)
        node = encoder.encode(arguments)
        wanted = {id(value) for value in changing}
        places = [place for place, value in enumerate(encoder.objects) if id(value) in wanted]
        header = {"q": number, "op": op, "a": node, "io": places, **self.extra()}
        send_frame(self.sock, header, encoder.finish())
        while True:
            header, buffers = recv_frame(self.sock)
            if type(header) is not dict:
                raise ProtocolError("a frame whose header is no object")
            self.receive_extra(header)
            if "q" in header:
                self.serve(header, buffers)
            else:
                break
        if type(header.get("r")) is not int or header["r"] != number:
            raise ProtocolError("an answer to another question")
        decoder = Decoder(buffers, self.resolve, known=[encoder.objects[place] for place in places])
        error = decoder.decode(header["e"]) if "e" in header else None
        value = decoder.decode(header.get("v"))
        changed = header.get("io", [])
        if type(changed) is not list or len(changed) > len(places):
            raise ProtocolError("changes of arguments that were not lent")
        for place, state in zip(places, changed, strict=False):
            if state is not None:
                copy_back(encoder.objects[place], decoder.decode(state))
        if error is not None:
            self.raise_error(error)
        return value

    # ---- serving ---------------------------------------------------------------------------------

    def serve(self, header: dict, buffers: list[bytearray]) -> None:
        """Answer one request of the other side."""
        number, op = header.get("q"), header.get("op")
        if type(number) is not int or type(op) is not str or self._nesting >= MAX_NESTING:
            raise ProtocolError("a request without number or name, or nested too deep")
        self._nesting += 1
        try:
            decoder = Decoder(buffers, self.resolve)
            arguments = decoder.decode(header.get("a"))
            if type(arguments) is not tuple:
                raise ProtocolError("a request without arguments")
            lent = self._lent(decoder, header.get("io", []))
            before = [value.clone() if isinstance(value, torch.Tensor) else None for value in lent]
            try:
                value, error = self.perform(op, arguments), None
            except Fault:
                raise
            except BaseException as raised:
                value, error = None, self.caught(raised)
            self._answer(number, value, error, lent, before)
        finally:
            self._nesting -= 1

    def caught(self, error: BaseException) -> BaseException:
        """What becomes of an error that serving a request raised: returned, it is sent; or raise it."""
        return error

    def _lent(self, decoder: Decoder, places: Any) -> list[Any]:
        if type(places) is not list or any(
            type(p) is not int or not 0 <= p < len(decoder.memo) for p in places
        ):
            raise ProtocolError("a request that lends what it does not send")
        return [decoder.memo[place] for place in places]

    def _answer(self, number: int, value: Any, error: Any, lent: list[Any], before: list[Any]) -> None:
        try:
            send_frame(self.sock, *self._answer_frame(number, value, error, lent, before))
        except CannotEncode as refused:  # the answer does not cross: say that instead
            send_frame(self.sock, *self._answer_frame(number, None, refused, [], []))

    def _answer_frame(
        self, number: int, value: Any, error: Any, lent: list[Any], before: list[Any]
    ) -> tuple[dict, list]:
        encoder = Encoder(self.export, known=lent)
        header: dict[str, Any] = {"r": number}
        if error is None:
            header["v"] = encoder.encode(value)
        else:
            header["e"] = encoder.encode(self.describe_error(error))
        if lent:
            header["io"] = [_state(encoder, value, old) for value, old in zip(lent, before, strict=True)]
        return {**header, **self.extra()}, encoder.finish()


def _state(encoder: Encoder, value: Any, before: Any) -> Any:
    """The node of a lent argument's content, None where a tensor has not changed."""
    if isinstance(value, torch.Tensor):
        same = torch.equal(_raw(value), _raw(before))
        return None if same else encoder.encode(value.detach().clone())
    return encoder.replace(value)


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg().reshape(-1).contiguous().view(torch.uint8)


def copy_back(mine: Any, changed: Any) -> None:
    """Make `mine` hold what the other side made of it. Raise ProtocolError if it became another kind of
    thing.
    """
    if isinstance(mine, torch.Tensor):
        if (
            not isinstance(changed, torch.Tensor)
            or changed.shape != mine.shape
            or changed.dtype != mine.dtype
        ):
            raise ProtocolError("a lent tensor came back with another shape or dtype")
        with torch.no_grad():
            mine.copy_(changed)
    elif type(changed) is not type(mine) or not isinstance(mine, kinds.MUTABLE):
        raise ProtocolError("a lent argument came back as another type")
    elif isinstance(mine, np.ndarray):
        if changed.shape != mine.shape or changed.dtype != mine.dtype:
            raise ProtocolError("a lent array came back with another shape or dtype")
        mine[...] = changed
    elif changed is not mine:
        items = changed.copy()
        mine.clear()
        (mine.extend if hasattr(mine, "extend") else mine.update)(items)
