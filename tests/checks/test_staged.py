"""Staged checks: what passes, what fails at which stage, and what a message shows and hides."""

import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch

from kvcourse.checks import CheckFailed, blind, check, hidden
from kvcourse.checks.plain import describe, real, type_name, whole

INF = float("inf")


def each(names, cases):
    """Parametrize without asking the cases for a repr: some of them refuse."""
    return pytest.mark.parametrize(names, cases, ids=range(len(cases)))


class Liar:
    """An answer that claims to be equal to everything."""

    __class__ = int

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __int__(self):
        return 79

    __index__ = __int__

    def __float__(self):
        return 79.0

    def __repr__(self):
        raise RuntimeError("no words")


class LyingInt(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def message(call, *args, **kwargs):
    with pytest.raises(CheckFailed) as caught:
        call(*args, **kwargs)
    return str(caught.value)


# ---- plain values --------------------------------------------------------------------------------


@each("got", [79, 79.0, np.int64(79), np.uint8(79), np.float32(79)])
def test_whole_numbers(got):
    assert whole(got) == 79
    check.integer(got, 79, "f(1)")


@each("got", [True, "79", None, 79.5, float("nan"), INF, [79], torch.tensor(79), Liar(), LyingInt(79)])
def test_not_whole_numbers(got):
    assert whole(got) is None
    assert "a whole number" in message(check.integer, got, 79, "f(1)")


def test_real_keeps_nan_and_refuses_booleans():
    assert np.isnan(real(float("nan"))) and real(np.float64(0.5)) == 0.5
    assert real(True) is None and real("1") is None and real(Liar()) is None


@each(
    ("got", "words"),
    [
        (1234567, "1,234,567 (int)"),
        (0.25, "0.25 (float)"),
        (None, "None"),
        (True, "True"),
        ("a\nb", r"'a\nb'"),
        ({"b", "a"}, "['a', 'b'] (set)"),
        ([1, 2], "[1, 2] (list)"),
        (Liar(), "a value of type Liar"),
        ([Liar()], "a value of type list"),
        (torch.zeros(2, 3), "torch.Tensor of shape (2, 3), torch.float32"),
        (np.zeros(2), "numpy.ndarray of shape (2,), float64"),
        (10**50, "a whole number of 167 bits (int)"),
        ("x" * 100, "'" + "x" * 56 + "..."),
    ],
)
def test_describe(got, words):
    assert describe(got) == words


def test_type_name():
    assert [type_name(x) for x in (None, 1, torch.zeros(1), Liar())] == [
        "None",
        "int",
        "torch.Tensor",
        "Liar",
    ]


# ---- numbers -------------------------------------------------------------------------------------


def test_a_wrong_number_gets_the_whole_message():
    rows = {"quantity": "rows_projected", "prompt": 64, "new": 16, "cached": True}
    text = message(check.integer, 80, 79, "rows_projected(64, 16, cached=True)", **rows)
    assert text.splitlines()[:3] == [
        "rows_projected(64, 16, cached=True)", "  expected: 79 (int)", "  got:      80 (int)",
    ]  # fmt: skip
    assert "Is it ever fed to the model" in text
    assert "Too small." in message(check.integer, 7, 79, "f(1)", **rows)


def test_hidden_messages_show_the_hint_but_neither_inputs_nor_values():
    rows = {"quantity": "rows_projected", "prompt": 731, "new": 257, "cached": True}
    text = message(hidden.integer, 988, 987, "rows_projected with a cache", **rows)
    assert "Is it ever fed to the model" in text
    assert not any(number in text for number in ("731", "257", "987", "988"))
    text = message(hidden.integer, 5, 987, "rows_projected with a cache", **rows)
    assert not any(number in text for number in ("731", "257", "987", "5 "))
    text = message(hidden.number, 5, 987.0, "flops")
    assert "987" not in text and "Too small." in text


def test_a_forgotten_return_is_named_visible_and_hidden():
    for checks in (check, hidden):
        assert "without `return`" in message(checks.integer, None, 79, "f(1)")


def test_credit_finds_the_hint_of_the_first_wrong_number():
    inputs = [{"prompt": 64, "new": 1}, {"prompt": 64, "new": 16}]
    text = message(
        hidden.credit, [64, 80], [64, 79], "length", points=2, part=1, factors=FACTORS, rtol=0.001,
        quantity="cache_length", inputs=inputs,
    )  # fmt: skip
    assert "Is it ever fed" in text and "80" not in text


def test_absurdly_large_numbers_are_wrong_and_no_more():
    for got in (10**400, -(10**400)):
        message(check.integer, got, 79, "f", quantity="rows_projected", prompt=64, new=16, cached=True)
        message(check.number, got, 79, "f", quantity="rows_projected", prompt=64, new=16, cached=True)
        message(score, [got, got], [10, 20])


def test_number_tolerance_and_nan():
    check.number(102, 100, "f", rtol=0.02)
    for got in (102.1, 97.9, float("nan"), INF, -100):
        message(check.number, got, 100, "f", rtol=0.02)
    check.number(0, 0, "f")


FACTORS = {0.5: "Each value is half of what it should be.", 2.0: "Twice."}


def score(got, want, checks=hidden):
    return checks.credit(got, want, "flops", points=2, part=1, factors=FACTORS)


def test_credit_in_full_in_part_and_not_at_all(capsys):
    assert score([10, 20.0], [10, 20]) == 2
    assert capsys.readouterr().out == ""
    assert score([5, 10], [10, 20]) == 1
    assert capsys.readouterr().out == "flops: 1 of 2 points. Each value is half of what it should be.\n"
    for wrong in (
        [10, 10],
        [5, 20],
        [0, 0],
        [float("nan"), 20],
        [10],
        [],
        [True, 20],
        [Liar(), Liar()],
        [INF, INF],
    ):
        message(score, wrong, [10, 20])
    assert "10" not in message(score, [10, 99], [10, 20]) and "20 (int)" in message(
        score, [10, 99], [10, 20], check
    )


# ---- words and tokens ----------------------------------------------------------------------------


@each("got", [{"a", "b"}, frozenset("ab"), ["B", "a "], ("a", "b"), "ab"])
def test_choices(got):
    assert check.choices(got, "abcdef", "skipped()") == frozenset("ab")


@each("got", [{"g"}, set(), [1], None, 3, {"a": 1}, [Liar()], "a,b"])
def test_no_choices(got):
    message(check.choices, got, "abcdef", "skipped()")


@each("got", [[3, 4], (3, 4), torch.tensor([3, 4]), np.array([3, 4]), [np.int64(3), 4.0]])
def test_tokens(got):
    check.tokens(got, [3, 4], "generate")


@each(
    ("got", "part"),
    [
        ([3], "expected: 2 token ids"),
        ([9, 3, 4], "The prompt is not part"),
        ([3, 4, 9], "That is 1 more than asked for."),
        ([9, 3, 9], "That is 1 more than asked for."),
        ([], "got:      0"),
        ([3, 5], "first difference is at index 1"),
        (torch.tensor([[3, 4]]), "in one dimension"),
        (None, "without `return`"),
        ("34", "a list of token ids"),
        ([Liar(), Liar()], "whole numbers"),
    ],
)
def test_wrong_tokens(got, part):
    assert part in message(check.tokens, got, [3, 4], "generate")


def test_prompt_is_named_only_where_it_may_be_there():
    assert "prompt" not in message(check.tokens, [3, 4, 9], [3, 4], "generate")
    assert "prompt" not in message(check.tokens, [3], [], "generate")


def test_rows_fed():
    check.rows_fed([5, 1, 1], [5, 1, 1], "rows of each call")
    text = message(check.rows_fed, [5, 6, 7], [5, 1, 1], "rows of each call")
    assert "expected: rows: 1 at index 1" in text and "got:      rows: 6" in text
    assert "expected: 3 calls of forward" in message(hidden.rows_fed, [5, 1], [5, 1, 1], "rows of each call")


# ---- tensors -------------------------------------------------------------------------------------


def test_tensor_stages():
    want = torch.arange(6.0).reshape(2, 3)
    check.tensor(want + 1e-6, want, "attend", atol=1e-5)
    assert "a torch.Tensor" in message(check.tensor, want.numpy(), want, "attend")
    assert "shape (2, 3) (H, D)" in message(check.tensor, want[:1], want, "attend", legend="(H, D)")
    assert "shape (2, 3)" in message(check.tensor, want[0, 0], want, "attend")  # broadcasting is no equality
    assert "dtype torch.float32" in message(check.tensor, want.double(), want, "attend")
    off = want.clone()
    off[1, 1:] += 1
    text = message(check.tensor, off, want, "attend")
    assert "5 (float) at [1, 1], the first of 2 places" in text and "4 (float) within 1e-05" in text
    off[0, 2] = float("nan")
    assert "nan (float) at [0, 2], the first of 3" in message(check.tensor, off, want, "attend")


def test_tensor_of_no_or_zero_dimensions():
    check.tensor(torch.zeros(0, 3), torch.zeros(0, 3), "attend")
    check.tensor(torch.tensor(1.0), torch.tensor(1.0), "attend")
    assert "2 (float) at []" in message(check.tensor, torch.tensor(2.0), torch.tensor(1.0), "attend")


def test_tensor_of_whole_numbers_is_exact():
    want = torch.tensor([2**40, 1])
    check.tensor(want.clone(), want, "positions")
    assert "expected: 1 (int)\n" in message(
        check.tensor, want + torch.tensor([0, 1]), want, "positions", atol=5
    )


def test_tensor_compared_in_some_places_only():
    want, where = torch.tensor([0, 1, 2]), torch.tensor([False, True, True])
    check.tensor(torch.tensor([9, 1, 2]), want, "positions", where=where)
    assert "at [2]" in message(check.tensor, torch.tensor([9, 1, 3]), want, "positions", where=where)


def test_a_tensor_subclass_is_refused():
    class Yes(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args, **kwargs):
            return torch.tensor(True)

    message(check.tensor, torch.zeros(2).as_subclass(Yes), torch.ones(2), "attend")


def test_a_known_wrong_tensor_earns_its_hint_hidden_too():
    want, tiled, other = torch.zeros(2), torch.ones(2), torch.tensor([5.0, 5.0])
    hints = {"The heads are tiled.": tiled, "Not this.": other}
    for checks in (check, hidden):
        text = message(checks.tensor, torch.ones(2), want, "attend", mistakes=hints)
        assert "The heads are tiled." in text and "Not this." not in text
    assert "[0]" not in message(hidden.tensor, torch.ones(2), want, "attend")


TRIANGLE = torch.tensor([[True, True, False], [True, True, True]])


@each(
    "got",
    [
        TRIANGLE,
        TRIANGLE[None, None],
        torch.zeros(2, 3).masked_fill(~TRIANGLE, -INF),
        torch.zeros(2, 3, dtype=torch.float16).masked_fill(~TRIANGLE, torch.finfo(torch.float16).min),
    ],
)
def test_masks(got):
    check.mask(got, TRIANGLE, "causal_mask(2, 1)")


@each(
    ("got", "part"),
    [
        (torch.ones(2, 3, dtype=torch.bool), "query 0 at key 2: may not look"),
        (~TRIANGLE, "(6 places differ)"),
        (TRIANGLE.T, "shape (2, 3)"),
        (TRIANGLE.float(), "added to the scores"),
        (TRIANGLE.int(), "a bool tensor"),
        (TRIANGLE[None].repeat(2, 1, 1), "shape (2, 3)"),
        (TRIANGLE.tolist(), "a bool tensor"),
        (None, "`return`"),
        (torch.full((2, 3), float("nan")), "added to the scores"),
        (torch.tensor(True), "shape (2, 3)"),
    ],
)
def test_wrong_masks(got, part):
    assert part in message(check.mask, got, TRIANGLE, "causal_mask(2, 1)")


def test_a_known_wrong_mask_earns_its_hint():
    top_left = torch.tensor([[True, False, False], [True, True, False]])
    text = message(hidden.mask, top_left, TRIANGLE, "a mask with a past", mistakes={"Top left.": top_left})
    assert "Top left." in text and "query" not in text


# ---- errors, rules, the end ----------------------------------------------------------------------


def test_raises():
    def refuse(n):
        if n < 0:
            raise ValueError("negative")
        return n

    check.raises(ValueError, refuse, -1, case="refuse(-1)")
    assert "no error, but 1 (int)" in message(check.raises, ValueError, refuse, 1, case="refuse(1)")
    with pytest.raises(TypeError):
        check.raises(ValueError, refuse, "x", case="another error is not the one")


def test_a_stub_does_not_satisfy_raises():
    def stub():
        raise NotImplementedError("q2")

    with pytest.raises(NotImplementedError):
        check.raises(RuntimeError, stub, case="stub()")


def test_an_invariant_is_true_and_nothing_else():
    check.that(1 < 2, "case", "sentence")
    assert message(check.that, False, "case", "What it means.") == "case\n  What it means."
    for lie in (Liar(), 1, torch.tensor(True)):
        with pytest.raises(TypeError):
            check.that(lie, "case", "sentence")


def test_passed_is_quiet_on_stderr(capsys):
    assert check.passed("q2-cached") is None
    out, err = capsys.readouterr()
    assert "q2-cached" in out and err == ""


def test_formed_does_not_say_that_a_choice_is_right(capsys):
    assert check.formed("q9-meaning") is None
    out, err = capsys.readouterr()
    assert "q9-meaning" in out and "form" in out and "grading" in out and "pass" not in out and err == ""


def test_arithmetic_checks_import_no_torch():
    code = "import sys, kvcourse.checks.markers, kvcourse.checks.seed; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- sizes, texts, records ------------------------------------------------------------------------

SHAPE = {"num_layers": 40, "num_kv_heads": 40, "head_dim": 128, "tokens": 2048, "dtype_bytes": 2}
OPT = 1_677_721_600


def size(got, checks=blind):
    return checks.size(got, OPT, "size()", points=2, part=1, quantity="kv_bytes", **SHAPE)


@each(
    "got",
    [(1.5625, "GiB"), (1.68, "GB"), (1.6, "GB"), (1600, "MiB"), [1.64, "Gi"], (OPT, "B"), (1.7e6, "KB")],
)
def test_sizes_in_any_unit(got):
    assert size(got) == size(got, hidden) == 2


@each("got", [(1.5625, "GB"), (1.678, "GiB")])
def test_a_size_in_the_wrong_family_of_units_keeps_a_part(got, capsys):
    assert size(got) == 1
    assert "the unit says" in capsys.readouterr().out


@each(
    ("got", "part"),
    [((0.84, "GB"), "beside its key"), ((0.8, "MB"), "for each token"), ((13.4, "GB"), "in bits or in bytes"),
     ((3.36, "GB"), "How many bytes"), (1.5625, "a pair"), ((1.5, "gigs"), "a unit among"),
     (("1.5", "GiB"), "a pair"), ((float("nan"), "GiB"), "not a number"), ((INF, "GB"), "Too large"),
     ((Liar(), "GB"), "a pair"), ((-1.68, "GB"), "Too small"), (None, "without `return`")],
)  # fmt: skip
def test_wrong_sizes(got, part):
    assert part in message(size, got)


def test_blind_messages_show_what_came_and_not_what_was_expected():
    text = message(size, (0.84, "GB"))
    assert "0.84" in text and "expected" not in text and "1.67" not in text
    assert "expected: 1.67772 GB" in message(size, (0.84, "GB"), check)
    assert "0.84" not in message(size, (0.84, "GB"), hidden)


def test_texts():
    known = {"Steps of 1000.": "2.15 GiB"}
    check.text("2.00 GiB", "2.00 GiB", "show(1)")
    check.text("2.00 Gi", "2.00 GiB", "show(1)", also=["2.00 Gi"])
    assert "likely:   Steps of 1000." in message(
        check.text, "2.15 GiB", "2.00 GiB", "show(1)", mistakes=known
    )
    assert "a text (str)" in message(check.text, 2, "2.00 GiB", "show(1)")
    assert "2.00 GiB" not in message(hidden.text, "x", "2.00 GiB", "show(1)", mistakes=known)


def test_one_of_gives_back_the_allowed_text():
    assert check.one_of(" gib ", ["GiB", "GB"], "unit") == "GiB"
    for wrong in ("TiB", None, 3, ["GiB"], Liar()):
        assert "one of GiB, GB" in message(check.one_of, wrong, ["GiB", "GB"], "unit")


def test_records():
    class Everything(dict):
        def __contains__(self, key):
            return True

    assert check.record({"a": 1, "b": 2, "c": 3}, ["b", "a"], "f()") == [2, 1]
    assert "the key 'b'" in message(check.record, {"a": 1, 2: 3}, ["a", "b"], "f()")
    for kind in (Counter, OrderedDict, partial(defaultdict, int), partial(defaultdict, list)):
        assert check.record(kind(a=1, b=2), ["b", "a"], "f()") == [2, 1]
    for kind in (Counter, partial(defaultdict, int), partial(defaultdict, float)):
        assert check.record(kind(a=1), ["a", "b"], "f()") == [1, 0]
    for kind in (OrderedDict, partial(defaultdict, list), partial(defaultdict, lambda: 0)):
        assert "the key 'b'" in message(check.record, kind(a=1), ["a", "b"], "f()")
    for wrong in ([1, 2], Everything(a=1), None):
        assert "a dict with a, b" in message(check.record, wrong, ["a", "b"], "f()")


def test_yes_or_no():
    for yes in (True, np.bool_(True), np.any([0, 1])):
        check.yes_or_no(yes, True, "f(3)", "It fits.")
        assert message(check.yes_or_no, yes, False, "f(3)", "It does not fit.") == "f(3)\n  It does not fit."
    for wrong in (None, 1, 0.0, "True", Liar(), np.array([True])):
        assert "expected: True or False" in message(check.yes_or_no, wrong, True, "f(3)", "It fits.")
    assert "ended without `return`" in message(hidden.yes_or_no, None, False, "f", "It does not fit.")


def test_fractions_are_numbers():
    check.number(Fraction(1, 3), 1 / 3, "f(3)", 1e-9)
    check.integer(Fraction(6, 2), 3, "f(3)")
    assert "a whole number" in message(check.integer, Fraction(7, 2), 3, "f(3)")
    for huge in (Fraction(10**400), Fraction(10**400, 3)):
        assert "Too large" in message(check.number, huge, 1.0, "f(3)")
    liar = Fraction(1, 3)
    liar._numerator = Liar()
    assert "a number" in message(check.number, liar, 1 / 3, "f(3)")
    assert "a number" in message(check.number, type("F", (Fraction,), {})(1, 3), 1 / 3, "f(3)")


def test_integers_name_a_mistake():
    known = {"Swapped.": (2, 7)}
    check.integers((7, 2), [7, 2], "f(3)", mistakes=known)
    assert "likely:   Swapped." in message(check.integers, [2, 7], [7, 2], "f(3)", "slot", mistakes=known)
    assert "slot 7 at index 0" in message(check.integers, [2, 7], [7, 2], "f(3)", "slot")
    assert "likely:   Swapped." in message(check.integers, [2, 7], [7, 2, 1], "f(3)", mistakes=known)
    assert "7" not in message(hidden.integers, [2, 7], [7, 2], "f()", mistakes=known)
    for wrong in (None, 7, {7, 2}, Liar(), "72"):
        assert "a list of numbers" in message(check.integers, wrong, [7, 2], "f(3)")


def test_items_are_counted():
    assert check.items((1, [2]), 2, "f()") == [1, [2]]
    for wrong in (None, (1,), (1, 2, 3), Liar(), {1, 2}):
        assert "a tuple of 2" in message(check.items, wrong, 2, "f()")


def test_blocks_are_different_ones_of_those_allowed():
    assert check.blocks([3, 1], 2, range(5), "allocate(2)") == [3, 1]
    assert check.blocks([], 0, [], "table") == []
    for wrong, part in (
        (None, "None means"), (3, "a list of 2 blocks"), ([3], "got:      1"), ([3, 3], "block 3 twice"),
        ([3, 5], "Handed out before."), ([3, "1"], "whole numbers"), ([3, -1], "block -1"),
        ([3, True], "whole numbers"), (Liar(), "a list of 2 blocks"),
    ):  # fmt: skip
        assert part in message(check.blocks, wrong, 2, range(5), "allocate(2)", "Handed out before.")


def test_a_mistake_that_gives_nan_is_recognized():
    nan, one = torch.full((2,), torch.nan), torch.ones(2)
    assert "likely:   0 x nan." in message(check.tensor, nan, one, "f()", mistakes={"0 x nan.": nan})
    part = torch.tensor([torch.nan, 1.0])
    assert "0 x nan." not in message(check.tensor, part, one, "f()", mistakes={"0 x nan.": nan})


class Args123(list):
    pass


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("one_of", ("123", ["a", "b"], "f()")),
        ("one_of", (123, ["a"], "f()")),
        ("record", (123, ["a"], "f()")),
        ("record", ({"123": 1}, ["a"], "f()")),
        ("text", (123, "a", "f()")),
        ("text", ("123", "a", "f()")),
        ("size", ((1.0, "123"), 5, "f()", 2, 1)),
        ("size", ("123", 5, "f()", 2, 1)),
        ("choices", ({"123"}, "abc", "f()")),
        ("choices", (123, "abc", "f()")),
        ("integer", ("123", 5, "f()")),
        ("integer", (Args123(), 5, "f()")),
        ("number", (Args123(), 5.0, "f()")),
        ("tokens", ([0] * 124, [0], "f()")),
        ("tokens", ([0] * 123 + [1], [0] * 124, "f()")),
        ("tokens", ([123], [1], "f()")),
        ("items", ([0] * 123, 2, "f()")),
        ("blocks", ([0] * 123, 2, [1], "f()")),
        ("blocks", ([123, 123], 2, [1], "f()")),
        ("tensor", (torch.ones(123), torch.ones(2), "f()")),
        ("tensor", (torch.full((2,), 123.0), torch.ones(2), "f()")),
        ("tensor", (123, torch.ones(2), "f()")),
        ("mask", (torch.ones(1, 123), torch.ones(1, 2).bool(), "f()")),
    ],
)
def test_a_hidden_message_holds_nothing_that_came(name, arguments):
    """Else an answer could return its arguments, and read the hidden test in the feedback."""
    assert "123" not in message(getattr(hidden, name), *arguments)


def test_a_hidden_check_of_errors_shows_no_value():
    assert "123" not in message(hidden.raises, ValueError, lambda: "123", case="f()")
