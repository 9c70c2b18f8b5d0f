import subprocess
import sys
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvcourse import units
from kvcourse.errors import UnitError, UserError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("7 B", 7),
        ("1 byte", 1),
        ("12 bytes", 12),
        ("2 GiB", 2_147_483_648),
        ("2GiB", 2_147_483_648),
        ("2 GB", 2_000_000_000),
        (" 1.5 kB ", 1500),
        ("1.5 KiB", 1536),
        ("2.15 GB", 2_150_000_000),
        ("512 kib", 524_288),
        ("1 tb", 10**12),
        ("1 TiB", 2**40),
        ("0.0001 KiB", 0),  # a tenth of a byte rounds to none
        (4096, 4096),
    ],
)
def test_parse_size(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2 G", "write GiB (1024) or GB (1000)"),
        ("2 k", "write KiB (1024) or kB (1000)"),
        ("2 Gb", "reads as bits"),
        ("0.5", "fraction of a byte"),
        ("1.5 B", "fraction of a byte"),
        ("-1 GiB", "cannot read"),
        ("", "cannot read"),
        ("GiB", "cannot read"),
        ("1,5 GB", "cannot read"),
        ("1e3 GB", "cannot read"),
        ("nan", "cannot read"),
        ("inf", "cannot read"),
        ("2 GiBs", "unknown unit"),
        ("2 PB", "unknown unit"),
        ("٣ GB", "cannot read"),  # other digits than 0-9
        ("9" * 500 + " B", "cannot read"),
        ("\ud800", "cannot read"),
        (None, "cannot read"),
        (True, "cannot read"),
        (1.5, "cannot read"),
        (-1, "cannot read"),
        (b"1", "cannot read"),
    ],
)
def test_parse_size_refuses(text, says):
    with pytest.raises(UnitError) as error:
        units.parse_size(text)
    assert says in str(error.value)
    assert str(error.value).encode("ascii") and len(str(error.value)) < 250


@pytest.mark.parametrize(
    ("n", "binary", "decimal"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (1000, "1000 B", "1.00 kB"),
        (1023, "1023 B", "1.02 kB"),
        (1024, "1.00 KiB", "1.02 kB"),
        (524_288, "512.00 KiB", "524.29 kB"),
        (999_995, "976.56 KiB", "1.00 MB"),
        (2**20 - 1, "1.00 MiB", "1.05 MB"),
        (2**20 - 6, "1023.99 KiB", "1.05 MB"),
        (2**31, "2.00 GiB", "2.15 GB"),
        (1_677_721_600, "1.56 GiB", "1.68 GB"),
        (2**60, "1048576.00 TiB", "1152921.50 TB"),
    ],
)
def test_format_size(n, binary, decimal):
    assert units.format_size(n) == binary
    assert units.format_size(n, base=10) == decimal


@pytest.mark.parametrize("n", [-1, 1.0, "1", None, True])
def test_format_size_refuses(n):
    with pytest.raises(UnitError):
        units.format_size(n)


def test_format_size_refuses_another_base():
    with pytest.raises(UnitError):
        units.format_size(1, base=16)


def test_both():
    assert units.both(2**31) == "2.00 GiB (2.15 GB)"
    assert units.both(512) == "512 B"
    assert units.both(1000) == "1000 B (1.00 kB)"


@given(st.integers(0, 10**16), st.sampled_from([2, 10]))
def test_what_is_shown_is_what_was_given(n, base):
    """Reading a shown size gives the size back to half of its last digit; none shows 1024 or more."""
    text = units.format_size(n, base)
    unit = units.parse_size("1 " + text.split()[1])
    assert abs(units.parse_size(text) - n) <= Fraction(unit, 200) + Fraction(1, 2)
    shown = Fraction(text.split()[0])
    assert unit in (units.TIB, units.TB) or shown < (1024 if base == 2 else 1000)
    assert unit == 1 or shown >= 1


@given(st.integers(0, 10**12))
def test_bytes_round_trip(n):
    assert units.parse_size(f"{n} B") == units.parse_size(str(n)) == units.parse_size(n) == n


def test_dtype_bytes_agrees_with_torch():
    for name in ("float32", "float16", "bfloat16"):
        dtype = getattr(torch, name)
        assert units.dtype_bytes(name) == units.dtype_bytes(dtype) == units.dtype_bytes(f"torch.{name}")
        assert units.dtype_bytes(name) == torch.zeros(1, dtype=dtype).element_size()
    assert [units.dtype_bytes(name) for name in ("fp32", "fp16", "half", "bf16", "BF16")] == [4, 2, 2, 2, 2]


@pytest.mark.parametrize("name", ["fp8", "float", "int8", "", None, 16, torch.int64])
def test_dtype_bytes_refuses(name):
    with pytest.raises(UnitError, match="expected one of fp32"):
        units.dtype_bytes(name)


def test_errors_are_value_errors():
    assert issubclass(UnitError, UserError) and issubclass(UserError, ValueError)


def test_floor_zero_imports_no_torch():
    code = (
        "import sys, kvcourse.errors, kvcourse.units, kvcourse.configs, kvcourse.device, kvcourse.model_file;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
