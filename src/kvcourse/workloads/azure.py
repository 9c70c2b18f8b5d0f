"""The Azure LLM inference trace of 2023: when real requests came, and how long they were; no text.

Published by Microsoft in the Azure Public Dataset (CC-BY-4.0) with Patel et al., "Splitwise: Efficient
Generative LLM Inference Using Phase Splitting", ISCA 2024. The file is not part of this repository.
"""

import csv
import os
from datetime import datetime
from pathlib import Path
from typing import TextIO

from kvcourse.errors import UserError, shown
from kvcourse.workloads.request import Request

TRACE_FILE = "AzureLLMInferenceTrace_conv.csv"
COLUMNS = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]


class TraceError(UserError):
    """A trace that cannot be read; the message names the file and the line."""


def find_azure_trace() -> Path | None:
    """The conversation trace in the folder `traces` of KVCOURSE_DATA, or None where it is absent."""
    folder = os.environ.get("KVCOURSE_DATA")
    path = Path(folder, "traces", TRACE_FILE) if folder else None
    return path if path is not None and path.is_file() else None


def read_azure_trace(path: str | os.PathLike) -> list[Request]:
    """Its requests in order; an arrival is in seconds after the first row's.

    TraceError for a file that is absent or no such trace, and for the first row that is malformed.
    """
    try:
        with _opened(path) as file:
            return _requests(csv.reader(file), path)
    except OSError as problem:
        raise TraceError(f"cannot read the trace {path}: {problem.strerror}.") from None


def _opened(path: str | os.PathLike) -> TextIO:
    try:
        return open(os.fspath(path), encoding="utf-8-sig", errors="replace", newline="")
    except (TypeError, ValueError):  # no path: a number would be an open file's
        raise TraceError(f"a trace is a file, given by its path; got {shown(path)}.") from None


def _requests(rows, path: str | os.PathLike) -> list[Request]:
    try:
        header = next(rows, [])
        if header != COLUMNS:
            raise ValueError(f"expected the columns {','.join(COLUMNS)}, got {shown(','.join(header))}")
        requests: list[Request] = []
        first = latest = None
        for row in rows:
            if len(row) != len(COLUMNS):
                raise ValueError(f"expected {len(COLUMNS)} values, got {len(row)}")
            time = _timestamp(row[0])
            if first is None:
                first = latest = time
            if time < latest:
                raise ValueError(f"{row[0]} is earlier than the row before")
            latest = time
            seconds = (time - first).total_seconds()
            requests.append(Request(seconds, _tokens(row[1], "context"), _tokens(row[2], "generated")))
    except (ValueError, csv.Error) as problem:
        raise TraceError(f"{path}, line {max(rows.line_num, 1)}: {problem}.") from None
    return requests


def _timestamp(text: str) -> datetime:
    """Date and time to the microsecond; the trace prints one digit more."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is not None:
        raise ValueError(f"expected a time like 2023-11-16 18:15:46.6805900, got {shown(text)}")
    return time


def _tokens(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise ValueError(f"expected a whole number of {what} tokens above 0, got {shown(text)}")
    return int(text)
