"""Frames between two processes: magic, sizes, an ASCII JSON header, raw buffers. Nothing is allocated
unchecked.

b"KVC1" | u32 length of the header | u32 number of buffers | u64 length of each buffer | header | buffers
"""

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

MAGIC = b"KVC1"
MAX_HEADER = 4 << 20
MAX_BUFFERS = 4096
MAX_TOTAL = 512 << 20
SMALL = 1 << 16  # below this, header and buffers are joined and sent by one system call


class Fault(BaseException):
    """The connection can no longer be trusted or used. Not an Exception: a test's `except` must not swallow
    it.
    """


class ProtocolError(Fault):
    """The other process sent what no honest one sends."""


class PeerDied(Fault):
    """The other process is gone, or hung up."""


class CannotEncode(TypeError):
    """A value that does not cross between the two processes."""


def _no_constant(name: str) -> None:
    raise ValueError(name)


ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)  # made once: json.dumps makes one a call
DECODER = json.JSONDecoder(parse_constant=_no_constant)


def send_frame(sock: socket.socket, header: Any, buffers: Sequence[Any] = ()) -> None:
    """Send one frame. Raise CannotEncode for one that is too large, PeerDied if nobody takes it."""
    text = ENCODER.encode(header).encode("ascii")
    sizes = [len(buffer) for buffer in buffers]
    if len(text) > MAX_HEADER or len(sizes) > MAX_BUFFERS or sum(sizes) > MAX_TOTAL:
        raise CannotEncode(
            f"a message of {len(text)} + {sum(sizes)} bytes is too large to cross; "
            f"the limits are {MAX_HEADER} and {MAX_TOTAL}"
        )
    head = MAGIC + struct.pack(f"!II{len(sizes)}Q", len(text), len(sizes), *sizes) + text
    try:
        if sum(sizes) <= SMALL:
            sock.sendall(b"".join([head, *buffers]))
        else:
            sock.sendall(head)
            for buffer in buffers:
                sock.sendall(buffer)
    except OSError as error:
        raise PeerDied(str(error)) from None


def recv_frame(sock: socket.socket) -> tuple[Any, list[bytearray]]:
    """Return the next frame's header and buffers. Raise ProtocolError before allocating beyond the limits."""
    start = _read(sock, 12)
    if start[:4] != MAGIC:
        raise ProtocolError("a frame begins with other bytes than it must")
    length, count = struct.unpack("!II", start[4:])
    if length > MAX_HEADER or count > MAX_BUFFERS:
        raise ProtocolError(f"a frame announces a header of {length} bytes and {count} buffers")
    sizes = struct.unpack(f"!{count}Q", _read(sock, 8 * count))
    if sum(sizes) > MAX_TOTAL:
        raise ProtocolError(f"a frame announces {sum(sizes)} bytes of buffers")
    text = _read(sock, length)
    return parse_header(text), [_read(sock, size) for size in sizes]


def parse_header(text: bytes | bytearray) -> Any:
    """Return the JSON value of a header, or raise ProtocolError."""
    try:
        return DECODER.decode(text.decode("ascii"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProtocolError(f"a header is not JSON ({type(error).__name__})") from None


def _read(sock: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        try:
            count = sock.recv_into(view[got:])
        except OSError as error:
            raise PeerDied(str(error)) from None
        if not count:
            raise PeerDied("the other process hung up")
        got += count
    return data
