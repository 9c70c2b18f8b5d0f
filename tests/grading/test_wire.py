"""Frames: what is sent arrives, and nothing is allocated or believed before it is checked."""

import json
import random
import socket
import struct
import threading
import tracemalloc

import pytest

from kvcourse.grading import wire
from kvcourse.grading.wire import CannotEncode, PeerDied, ProtocolError, recv_frame, send_frame


def received(data: bytes):
    """What a frame of these bytes is taken for; the sender has hung up after them."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(5)
        sender = threading.Thread(target=lambda: (theirs.sendall(data), theirs.close()))
        sender.start()
        try:
            return recv_frame(ours)
        finally:
            ours.close()
            sender.join(5)


@pytest.mark.parametrize("buffers", [[], [b""], [b"abc", bytes(1 << 18), b"\xff"]])
def test_a_frame_arrives_as_it_was_sent(buffers):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=send_frame, args=(theirs, {"a": [1, "é\ud800"]}, buffers))
        thread.start()
        header, got = recv_frame(ours)
        thread.join()
    assert header == {"a": [1, "é\ud800"]}
    assert [bytes(b) for b in got] == buffers


def frame(header: bytes, buffers=()) -> bytes:
    sizes = struct.pack(f"!II{len(buffers)}Q", len(header), len(buffers), *map(len, buffers))
    return wire.MAGIC + sizes + header + b"".join(buffers)


@pytest.mark.parametrize(
    "data",
    [
        b"EVIL" + bytes(20),
        wire.MAGIC + struct.pack("!II", wire.MAX_HEADER + 1, 0),
        wire.MAGIC + struct.pack("!II", 2, wire.MAX_BUFFERS + 1),
        wire.MAGIC + struct.pack("!IIQ", 2, 1, wire.MAX_TOTAL + 1),
        wire.MAGIC + struct.pack("!IIQQ", 2, 2, 2**63, 2**63),
        frame(b"\xff\xfe"),
        frame(b"{"),
        frame(b'{"v": NaN}'),
        frame(b'{"v": Infinity}'),
        frame(b"9" * 100_000),
        frame(b"[" * 200_000),
    ],
)
def test_other_bytes_are_a_protocol_error(data):
    with pytest.raises(ProtocolError):
        received(data)


@pytest.mark.parametrize("data", [b"", b"KV", frame(b"{}")[:-1], frame(b"{}", [b"abc"])[:-1]])
def test_a_frame_cut_short_is_a_peer_that_died(data):
    with pytest.raises(PeerDied):
        received(data)


def test_announcing_much_and_sending_nothing_takes_no_memory():
    tracemalloc.start()
    with pytest.raises(ProtocolError):
        received(wire.MAGIC + struct.pack("!II", 2**32 - 1, 2**32 - 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_what_is_too_large_is_refused_before_it_is_sent():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(CannotEncode):
            send_frame(theirs, "x" * wire.MAX_HEADER)
        with pytest.raises(CannotEncode):
            send_frame(theirs, 1, [b""] * (wire.MAX_BUFFERS + 1))
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(1)


def test_sending_to_nobody_is_a_fault_and_no_exception():
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs, pytest.raises(PeerDied) as caught:
        for _ in range(10):
            send_frame(theirs, {"a": 1}, [bytes(1 << 20)])
    assert not isinstance(caught.value, Exception)


def test_random_bytes_are_faults_or_frames():
    rng = random.Random(1)
    whole = frame(json.dumps({"r": 1, "v": ["l", [1, 2]]}).encode(), [b"abcd"])
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data[4:12] = struct.pack("!II", struct.unpack("!I", data[4:8])[0] % 64, data[11] % 3)
        try:
            received(bytes(data))
        except (ProtocolError, PeerDied):
            continue
