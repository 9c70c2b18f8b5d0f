"""What a server is asked to do: requests with a time of arrival, a prompt's length and an output's length."""

from kvcourse.workloads.azure import TRACE_FILE, TraceError, find_azure_trace, read_azure_trace
from kvcourse.workloads.lengths import ALPACA, SHAREGPT, Lengths, WorkloadError
from kvcourse.workloads.request import Request
from kvcourse.workloads.synthetic import poisson_arrivals, synthetic

__all__ = [
    "ALPACA",
    "SHAREGPT",
    "TRACE_FILE",
    "Lengths",
    "Request",
    "TraceError",
    "WorkloadError",
    "find_azure_trace",
    "poisson_arrivals",
    "read_azure_trace",
    "synthetic",
]
