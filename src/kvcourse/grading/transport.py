"""A submission's job and its result as bytes: JSON with its length before it, then the contents of files.

Nothing in them is a program: a machine that runs jobs, and the one that sends them, read numbers and texts.
"""

import json
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

from kvcourse.grading.launcher import GraderError, IsolationError
from kvcourse.grading.outcome import CellOutcome, as_message, read_outcome
from kvcourse.grading.runner import Job, Usage
from kvcourse.grading.storage import package_digest


@dataclass(frozen=True)
class Terms:
    """What holds for all jobs of a run, wherever they run: the level is given in full or the job refused."""

    level: str
    modules: tuple[str, ...] = ()
    cpu: int = 900
    secret: str = ""  # a folder that what runs must not be able to see
    package: str = field(default_factory=package_digest)  # other code could give other scores


def pack_job(job: Job, terms: Terms) -> bytes:
    """A job and its terms as bytes."""
    files = list(job.files.items())
    header = {
        **{name: value for name, value in vars(job).items() if name != "files"},
        "files": [[name, len(data)] for name, data in files],
        "terms": asdict(terms),
    }
    return _packed(header, [data for _, data in files])


def unpack_job(data: bytes) -> tuple[Job, Terms]:
    """The job and terms that `pack_job` made bytes of."""
    header, at = _header(data)
    terms = header.pop("terms")
    files = {}
    for name, size in header.pop("files"):
        files[name] = data[at : at + size]
        at += size
    return Job(files=files, **header), Terms(**{**terms, "modules": tuple(terms["modules"])})


def pack_result(outcomes: list[CellOutcome], usage: Usage, terms: Terms) -> bytes:
    """What came of a job, and the terms it really ran under."""
    cells = [as_message(outcome) for outcome in outcomes]
    return _packed({"cells": cells, "usage": vars(usage), "level": terms.level, "package": terms.package})


def pack_refusal(error: GraderError | IsolationError) -> bytes:
    """Why a job was not run."""
    return _packed({"refused": str(error)[:2000], "isolation": isinstance(error, IsolationError)})


def unpack_result(data: bytes, job: Job, terms: Terms) -> tuple[list[CellOutcome], Usage]:
    """What came of `job`. Raise IsolationError or GraderError if it ran under other terms, or not at all."""
    try:
        header, _ = _header(data)
        if "refused" in header:
            kind = IsolationError if header["isolation"] else GraderError
            raise kind(str(header["refused"]))
        if (header["level"], header["package"]) != (terms.level, terms.package):
            raise IsolationError(f"a job was run at level {header['level']!r} or by another kvcourse.")
        outcomes = [
            read_outcome(cell["key"], cell["kind"], message)
            for cell, message in zip(job.cells, header["cells"], strict=True)
        ]
        return outcomes, Usage(**{name: float(header["usage"][name]) for name in vars(Usage())})
    except (ValueError, KeyError, TypeError, struct.error) as error:
        if isinstance(error, IsolationError):
            raise
        raise GraderError(f"a result that cannot be read ({type(error).__name__})") from None


def _packed(header: dict[str, Any], buffers: Any = ()) -> bytes:
    text = json.dumps(header).encode()
    return b"".join([struct.pack("!Q", len(text)), text, *buffers])


def _header(data: bytes) -> tuple[dict[str, Any], int]:
    (length,) = struct.unpack("!Q", data[:8])
    return json.loads(data[8 : 8 + length]), 8 + length
