# ruff: noqa: E501  (tables of one-line entries)
"""Values cross as they are: the same type, the same content, the same identity within a message, and no
more.
"""

import collections
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcourse.configs import ModelConfig
from kvcourse.grading import kinds
from kvcourse.grading.decode import Decoder
from kvcourse.grading.encode import Encoder
from kvcourse.grading.wire import CannotEncode, ProtocolError

kinds.register_course_types()


def no_export(value):
    raise CannotEncode(type(value).__name__)


def no_handle(node):
    raise ProtocolError(f"tag {node[0]!r}")


def sent(value):
    """The header text and buffers of a value."""
    encoder = Encoder(no_export)
    node = encoder.encode(value)
    buffers = [bytes(b) for b in encoder.finish()]
    return json.dumps(node), buffers


def crossed(value):
    """A value after it crossed."""
    text, buffers = sent(value)
    return Decoder([bytearray(b) for b in buffers], no_handle).decode(json.loads(text))


def same(a, b) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, torch.Tensor):
        raw = [
            t.detach().resolve_conj().contiguous().reshape(-1).view(torch.uint8) if t.numel() else t
            for t in (a, b)
        ]
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and torch.equal(*raw)
            and a.requires_grad == b.requires_grad
        )
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple | collections.deque):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.integers()) | st.sets(st.text()) | st.builds(collections.deque, st.lists(inner))
    ),
    max_leaves=25,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(plain)
def test_plain_values_cross_unchanged(value):
    assert same(crossed(value), value)


TENSORS = [
    torch.arange(12.0).reshape(3, 4),
    torch.arange(12.0).reshape(3, 4).T,
    torch.randn(2, 3, 4, dtype=torch.bfloat16).transpose(0, 2),
    torch.tensor(3),
    torch.empty(0, 5),
    torch.tensor([True, False]),
    torch.tensor([math.nan, math.inf, -0.0]),
    torch.randn(3).to(torch.float8_e4m3fn),
    torch.randn(2, dtype=torch.complex64).conj(),
    torch.ones(3).expand(4, 3),
    torch.nn.Parameter(torch.ones(2)),
    torch.ones(2, requires_grad=True),
]
OTHERS = [
    np.arange(6, dtype=np.int16).reshape(2, 3), np.float32(1.5), np.bool_(True), np.arange(6)[::-2],
    collections.OrderedDict(b=1, a=2), collections.Counter("aab"), torch.Size([2, 3]), range(1, 9, 2),
    slice(1, None, 2), Ellipsis, torch.float16, torch.device("cpu"), 1 << 3000, -(1 << 70), bytearray(b"ab"),
    frozenset([1, 2]), {(1, 2): [3]}, "\ud800", Fraction(-7, 3), Fraction(1, 1 << 3000),
]  # fmt: skip


@pytest.mark.parametrize("value", TENSORS + OTHERS, ids=lambda v: type(v).__name__)
def test_other_values_cross_unchanged(value):
    assert same(crossed(value), value)


def test_a_defaultdict_keeps_a_known_factory_and_leaves_an_unknown_one_behind():
    got = crossed(collections.defaultdict(list, a=[1]))
    assert type(got) is collections.defaultdict and got.default_factory is list and got["b"] == []
    got = crossed(collections.defaultdict(lambda: 1, a=2))
    assert type(got) is collections.defaultdict and got.default_factory is None and got == {"a": 2}


def test_a_configuration_of_the_course_crosses_as_a_value_without_its_init():
    config = ModelConfig(**dict.fromkeys(ModelConfig.__dataclass_fields__, 2))
    got = crossed(config)
    assert type(got) is ModelConfig and got == config


def test_identity_and_shared_storage_hold_within_a_message():
    inner, base = [1], torch.arange(6.0)
    got = crossed((inner, inner, base[:3], base[3:], base))
    assert got[0] is got[1]
    got[4][0] = 9.0
    assert float(got[2][0]) == 9.0 and float(got[3][0]) == 3.0
    ring = []
    ring.append(ring)
    got = crossed(ring)
    assert got[0] is got


def test_a_view_sends_none_of_the_bytes_between_its_elements():
    table = torch.zeros(6, 4, dtype=torch.uint8)
    table[:, 1] = 77  # the secret column
    for view in (table[:, 0], table[:, 2:], table[::2, 0]):
        _, buffers = sent(view)
        assert all(77 not in buffer for buffer in buffers)
        assert same(crossed(view), view)


@pytest.mark.parametrize(
    "value",
    [1 << 400_000, [[[]]] * 3 + [__import__("functools").reduce(lambda a, _: [a], range(100), [])], object(),
     torch.ones(2).to_sparse(), torch.ones(2, device="meta"), np.array(["a"]), np.array([object()])],
    ids=["large int", "deep", "object", "sparse", "meta", "strings", "objects"],
)  # fmt: skip
def test_what_is_no_plain_value_does_not_cross(value):
    with pytest.raises(CannotEncode):
        sent(value)


class Sly(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value", [Sly(3), type("L", (list,), {})([1]), type("S", (str,), {})("a"), type("D", (dict,), {})(a=1),
              torch.ones(2).as_subclass(type("T", (torch.Tensor,), {})), type("F", (float,), {})(1.0),
              type("I", (np.int64,), {"__module__": "numpy"})(3)],
    ids=["int", "list", "str", "dict", "tensor", "float", "numpy"],
)  # fmt: skip
def test_a_subclass_of_a_value_is_no_value(value):
    if isinstance(value, np.generic):  # says that it comes from numpy: crosses, as numpy's own type
        assert type(crossed(value)) is np.int64
        return
    with pytest.raises(CannotEncode):
        sent(value)


BAD_NODES = [
    [], ["?"], [1], {}, ["r", 0], ["r", -1], ["r", True], ["i", "0x" + "f" * 5000], ["i", 3], ["f", "one"], ["b", 9],
    ["b", -1], ["b", True], ["cx", "x", "y"], ["fr", 1, 0], ["fr", 1.0, 2], ["fr", True, 2], ["n", "O", 0], ["a", "|O8", [1], 0],
    ["a", "<f4", [-1], 0], ["a", "<f4", [2, 3], 0], ["T", "float32", [1], [1], 9, 0, False], ["t", 3], ["l", "ab"], ["n", "<f4", 1],
    ["T", "object", [1], [1], 0, 0, False], ["T", "float32", [2**40], [0], 0, 0, False], ["d", [[1]]],
    ["T", "float32", [3], [-1], 0, 0, False], ["T", "float32", [3], [1], 0, -4, False], ["d", [[["l", []], 1]]],
    ["T", "float32", [3], [1], 0, 2, False], ["T", "float32", [100], [1], 0, 0, False], ["S", [["l", []]]],
    ["T", "float32", [1] * 40, [1] * 40, 0, 0, False], ["D", "os.system", []], ["D", "kvcourse.configs.ModelConfig", []],
    ["T", "float32", [0], [1], 0, 0, False], ["T", "float32", [2], None, -1, 0, False], ["dt", "object"],
    ["dev", "cuda:0"], ["rg", 1, 2, 0], ["rg", 1.5, 2, 3], ["sz", [-1]], ["sz", ["a"]], ["dd", [], "eval"],
    ["t", [["r", 0]]], ["x", 1, {}], ["m", 0], ["u", "name"],
]  # fmt: skip


@pytest.mark.parametrize("node", BAD_NODES, ids=lambda node: json.dumps(node)[:40])
def test_a_malformed_node_is_a_protocol_error(node):
    with pytest.raises(ProtocolError):
        Decoder([bytearray(16)], no_handle).decode(node)


def test_a_message_of_too_many_or_too_deep_nodes_is_refused(monkeypatch):
    deep = ["l", []]
    for _ in range(500):
        deep = ["l", [deep]]
    with pytest.raises(ProtocolError):
        Decoder([], no_handle).decode(deep)
    monkeypatch.setattr(kinds, "MAX_NODES", 100)
    with pytest.raises(ProtocolError):
        Decoder([], no_handle).decode(["l", [["..."]] * 200])


def mutated(rng: random.Random, node):
    """A node with something changed somewhere."""
    if rng.random() < 0.25 or type(node) is not list or not node:
        return rng.choice(
            [None, True, -1, 0, 1, 2**62, 1.5, "", "float32", "<f4", [], {}, ["r", 0], ["l", []], ["T"]]
        )
    node = list(node)
    at = rng.randrange(len(node))
    node[at] = mutated(rng, node[at])
    return node


def fuzz(count: int, seed: int) -> int:
    """Decode mutated messages; nothing but a value or a ProtocolError may come of one. Return how many
    were values.
    """
    rng = random.Random(seed)
    values = [
        [1, "a", {"b": (2.5, None)}], torch.arange(6.0).reshape(2, 3), np.arange(4), {"k": torch.ones(3), "s": {1}},
        collections.deque([1]), (torch.Size([2]), range(3), slice(1)), 1 << 100, b"bytes", [torch.float32, ...],
    ]  # fmt: skip
    messages = [sent(value) for value in values]
    good = 0
    for _ in range(count):
        text, buffers = rng.choice(messages)
        node = json.loads(text)
        for _ in range(rng.randrange(1, 4)):
            node = mutated(rng, node)
        data = [
            bytearray(b[: rng.randrange(len(b) + 1)]) if rng.random() < 0.3 else bytearray(b) for b in buffers
        ]
        try:
            got = Decoder(data, no_handle).decode(node)
        except ProtocolError:
            continue
        good += 1
        if type(got) is torch.Tensor and got.numel() < 1 << 16:
            got.sum()  # reads every element: none may lie outside the buffer
    return good


def test_mutated_messages_are_values_or_protocol_errors():
    assert 0 < fuzz(4000, seed=3) < 4000


@pytest.mark.full
def test_many_mutated_messages_are_values_or_protocol_errors():
    assert 0 < fuzz(60_000, seed=4) < 60_000
