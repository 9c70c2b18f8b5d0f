"""Made requests have the published means and the arrivals asked for; the trace says where it is wrong."""

import random
from itertools import pairwise
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.workloads import (
    ALPACA,
    SHAREGPT,
    TRACE_FILE,
    Lengths,
    Request,
    TraceError,
    WorkloadError,
    find_azure_trace,
    poisson_arrivals,
    read_azure_trace,
    synthetic,
)

MANY = 100_000


@pytest.mark.parametrize(
    ("lengths", "prompt", "output"), [(SHAREGPT, 161.31, 337.99), (ALPACA, 19.31, 58.45)]
)
def test_the_means_are_those_of_the_papers_figure_11(lengths, prompt, output):
    """Within four standard errors of the mean of a sample."""
    generator = random.Random(3)
    for draw, mean in ((lengths.prompts, prompt), (lengths.outputs, output)):
        sample = draw(MANY, generator)
        assert abs(fmean(sample) - mean) < 4 * stdev(sample) / MANY**0.5
        assert min(sample) >= 1 and max(sample) <= lengths.cut


@given(st.floats(1.5, 60), st.floats(0.1, 2), st.integers(64, 400))
def test_the_cut_does_not_move_the_mean(mean, sigma, cut):
    sample = Lengths(mean, sigma, 2, 1, cut).prompts(4000, random.Random(1))
    assert abs(fmean(sample) - mean) < 5 * max(stdev(sample), 0.5) / 4000**0.5
    assert max(sample) <= cut


def test_two_lengths_at_most_fill_the_longest_sequence():
    requests = synthetic(SHAREGPT, 20_000, 0)
    assert max(request.total for request in requests) <= 2048
    assert max(request.output for request in requests) == 1024, "the cut is met"


def test_a_seed_gives_one_workload():
    assert synthetic(SHAREGPT, 50, 7, 2.0) == synthetic(SHAREGPT, 50, 7, 2.0)
    assert synthetic(SHAREGPT, 50, 7, 2.0) != synthetic(SHAREGPT, 50, 8, 2.0)
    assert synthetic(SHAREGPT, 0, 7) == synthetic(SHAREGPT, 0, 7, 2.0) == []
    at_once, poisson = synthetic(SHAREGPT, 50, 7), synthetic(SHAREGPT, 50, 7, 2.0)
    assert [request[1:] for request in at_once] == [request[1:] for request in poisson]
    assert {request.arrival for request in at_once} == {0.0}


def test_poisson_arrivals():
    """Gaps with mean and standard deviation 1 / rate, each independent of the one before."""
    times = poisson_arrivals(4.0, MANY, 0)
    gaps = [after - before for before, after in zip([0.0, *times], times, strict=False)]
    assert min(gaps) > 0
    assert fmean(gaps) == pytest.approx(0.25, rel=0.02)
    assert stdev(gaps) == pytest.approx(0.25, rel=0.02)
    products = [(a - 0.25) * (b - 0.25) for a, b in pairwise(gaps)]
    assert abs(fmean(products)) < 4 * 0.25**2 / MANY**0.5


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lengths(1, 1, 10, 1),
        lambda: Lengths(10, 1, 1024, 1),
        lambda: Lengths(10, 0, 10, 1),
        lambda: Lengths(10, 1, 10, float("nan")),
        lambda: Lengths("10", 1, 10, 1),
        lambda: Lengths(10, 1, 10, 1, cut=1),
        lambda: synthetic(SHAREGPT, -1, 0),
        lambda: synthetic(SHAREGPT, 1.5, 0),
        lambda: synthetic(SHAREGPT, 1, 0, 0),
        lambda: poisson_arrivals(-2.0, 1, 0),
        lambda: poisson_arrivals(float("inf"), 1, 0),
        lambda: poisson_arrivals("2", 1, 0),
    ],
)
def test_what_makes_no_workload_is_said_in_one_sentence(make):
    with pytest.raises(WorkloadError, match=r"got .*\.$"):
        make()


# ---- the Azure trace

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
ROWS = "2023-11-16 23:59:59.5000000,374,44\n2023-11-17 00:00:00.0000000,396,1\n2023-11-17 00:00:01,1,2\n"


def written(folder, text):
    path = folder / "trace.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_trace_is_read_row_by_row(tmp_path, ending):
    requests = [Request(0.0, 374, 44), Request(0.5, 396, 1), Request(1.5, 1, 2)]
    assert read_azure_trace(written(tmp_path, (HEADER + ROWS).replace("\n", ending))) == requests
    assert read_azure_trace(written(tmp_path, HEADER + ROWS.rstrip())) == requests
    assert read_azure_trace(written(tmp_path, HEADER)) == []


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "expected the columns"),
        ("A,B,C\n", 1, "expected the columns"),
        (HEADER + ROWS + "2023-11-17 00:00:02,7\n", 5, "expected 3 values, got 2"),
        (HEADER + "2023-11-17 00:00:02,7,8,9\n", 2, "expected 3 values, got 4"),
        (HEADER + "\n", 2, "expected 3 values, got 0"),
        (HEADER + "yesterday,7,8\n", 2, "expected a time like"),
        (HEADER + "2023-11-17 00:00:02+01:00,7,8\n", 2, "expected a time like"),
        (HEADER + ROWS + "2023-11-17 00:00:00,7,8\n", 5, "earlier than the row before"),
        (HEADER + "2023-11-17 00:00:02,0,8\n", 2, "context tokens above 0, got '0'"),
        (HEADER + "2023-11-17 00:00:02,7,-8\n", 2, "generated tokens above 0, got '-8'"),
        (HEADER + "2023-11-17 00:00:02,7,1e3\n", 2, "got '1e3'"),
        (HEADER + "2023-11-17 00:00:02,7,\u0663\n", 2, "got '\\u0663'"),
        (HEADER.encode() + b"2023-11-17 00:00:02,7,\xff\xfe\n", 2, "generated tokens above 0"),
        (b"\xff\xfe\x00", 1, "expected the columns"),
        (HEADER + "2023-11-17 00:00:02,7," + "9" * 5000 + "\n", 2, "generated tokens above 0"),
    ],
)
def test_a_malformed_trace_is_told_by_file_and_line(tmp_path, text, line, what):
    path = written(tmp_path, text)
    with pytest.raises(TraceError) as told:
        read_azure_trace(path)
    message = str(told.value)
    assert message.startswith(f"{path}, line {line}: ") and message.endswith(".") and "\n" not in message
    assert what in message


def test_a_trace_that_cannot_be_opened_is_told_by_file(tmp_path):
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(TraceError, match=r"cannot read the trace .*\.$"):
            read_azure_trace(path)


def test_the_trace_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("KVCOURSE_DATA", raising=False)
    assert find_azure_trace() is None
    monkeypatch.setenv("KVCOURSE_DATA", str(tmp_path))
    assert find_azure_trace() is None
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / TRACE_FILE).write_text(HEADER)
    assert find_azure_trace() == tmp_path / "traces" / TRACE_FILE


def test_the_published_trace(shared_data):
    """Rows, means and length as counted by awk over the published file."""
    path = shared_data / "traces" / TRACE_FILE
    if not path.is_file():
        pytest.skip(f"no {TRACE_FILE} in the shared data")
    requests = read_azure_trace(path)
    assert len(requests) == 19366
    assert fmean(request.prompt for request in requests) == pytest.approx(1154.7, abs=0.05)
    assert fmean(request.output for request in requests) == pytest.approx(211.1, abs=0.05)
    assert requests[1] == Request(pytest.approx(4.314579, abs=1e-5), 396, 109)
    assert requests[-1].arrival == pytest.approx(3502, abs=1)
