"""Cases that are about the file and its cells, not about code: accidents of honest students, and
tampering.
"""

import json
from typing import Any

from cases_format import FULL, RIGHT, WRONG, Case, filled, notebook_bytes

LOCKED = ("q1-visible", "q1-hidden", "q2-hidden", "q3-partial", "q4-hidden", "q5-hidden")


def _name(cell: dict) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def cases(release: Any) -> list[Case]:
    """All of them, made from the assignment's release."""
    made: list[Case] = []

    def case(name: str, title: str, points: float | None, report: str, data: Any, **more: Any) -> None:
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        made.append(Case(name, title, points, report.split(), {"probe.ipynb": data}, **more))

    def right() -> dict:
        return filled(release, RIGHT)

    def wrong() -> dict:
        return filled(release, WRONG)

    def changed(book: dict, change: Any, names: Any = LOCKED) -> dict:
        for cell in book["cells"]:
            if _name(cell) in names:
                change(cell)
        return book

    # ---- tampering with the notebook
    def skip(cell: dict) -> None:
        cell["metadata"]["tags"] = ["skip-execution"]

    case("skip-tags", "tests tagged skip-execution", 0, "skip-tag", changed(wrong(), skip))
    case("skip-tags-honest", "the same tags on right answers", FULL, "skip-tag", changed(right(), skip))

    def empty(cell: dict) -> None:
        cell["source"] = "pass"

    case("emptied-tests", "locked tests emptied", 0, "locked-cell-changed", changed(wrong(), empty))
    case(
        "emptied-tests-honest", "the same in right work", FULL, "locked-cell-changed", changed(right(), empty)
    )

    def more_points(cell: dict) -> None:
        cell["metadata"]["nbgrader"]["points"] = 1000

    case("more-points", "points edited", 0, "", changed(wrong(), more_points))
    case("more-points-honest", "points edited in right work", FULL, "", changed(right(), more_points))

    def as_solution(cell: dict) -> None:
        cell["metadata"]["nbgrader"].update(solution=True, locked=False, grade=False)

    case("tests-as-solutions", "tests marked as solution cells", 0, "", changed(wrong(), as_solution))

    def to_markdown(cell: dict) -> None:
        cell["cell_type"] = "markdown"
        cell.pop("outputs", None), cell.pop("execution_count", None)

    case("tests-to-markdown", "tests made markdown cells", 0, "", changed(wrong(), to_markdown))
    case("answers-to-markdown", "an answer made a markdown cell", FULL, "retyped-cell",
         changed(right(), to_markdown, ("q1",)))  # fmt: skip

    book = right()
    book["cells"] = [cell for cell in book["cells"] if _name(cell) not in LOCKED]
    case("tests-deleted", "every test cell deleted from right work", FULL, "missing-cell", book)
    book = wrong()
    book["cells"] = [cell for cell in book["cells"] if _name(cell) not in LOCKED]
    case("tests-deleted-wrong", "every test cell deleted from wrong work", 0, "missing-cell", book)
    book = right()
    book["cells"] = [cell for cell in book["cells"] if _name(cell) != "q2"]
    case("answer-deleted", "one answer's cell deleted", FULL - 3, "missing-cell", book)
    book = right()
    book["cells"].reverse()
    case("reversed", "all cells in reverse order", FULL, "", book)
    book = right()
    book["cells"].sort(key=lambda cell: _name(cell) not in LOCKED)
    case("tests-first", "tests moved to the top", FULL, "", book)
    book = right()
    for cell in book["cells"]:
        cell["metadata"].pop("nbgrader", None)
    case("metadata-gone", "every mark of nbgrader removed", FULL, "missing-cell", book)
    book = wrong()
    swap = {"q1-hidden": "q6", "q2-hidden": "setup"}
    for cell in book["cells"]:
        if _name(cell) in swap:
            cell["metadata"]["nbgrader"]["grade_id"] = swap[_name(cell)]
    case("ids-swapped", "grade ids of tests exchanged for others", 0, "copied-cell", book)
    book = wrong()
    book["metadata"]["kvcourse"]["version"] = 77
    case("unknown-version", "says it was made for a version that is not here", None, "unknown-version", book)
    book = right()
    book["metadata"]["kvcourse"]["version"] = "1"
    case("version-text", "a version that is no number", FULL, "", book)

    # ---- accidents
    book = right()
    at = next(i for i, cell in enumerate(book["cells"]) if _name(cell) == "q1")
    book["cells"].insert(at + 1, json.loads(json.dumps(book["cells"][at])))
    case("copied-answer", "an answer's cell copied", FULL, "copied-cell", book)
    book = right()
    copy = json.loads(json.dumps(book["cells"][at]))
    copy["source"] = "def pages(tokens, size):\n    return 0  # a first try"
    book["cells"].insert(at, copy)
    case("copied-answer-first-try", "a first try kept above the answer", FULL, "copied-cell", book)
    book = right()
    at = next(i for i, cell in enumerate(book["cells"]) if _name(cell) == "q2-hidden")
    book["cells"].insert(at, json.loads(json.dumps(book["cells"][at])))
    case("copied-test", "a test's cell copied", FULL, "copied-cell", book)
    book = right()
    for cell in book["cells"]:
        cell["id"] = "same"
    case("same-cell-ids", "all cells with one id", FULL, "", book)
    book = right()
    for cell in book["cells"]:
        cell.pop("id", None)
        cell["metadata"]["colab"] = {"base_uri": "x"}
    book["nbformat_minor"] = 0
    case("colab", "as another notebook service saves it", FULL, "", book)
    book = right()
    cells = [{**cell, "input": cell["source"]} for cell in book["cells"]]
    sheet = {"cells": [{key: cell[key] for key in cell if key != "source"} for cell in cells]}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": book["metadata"], "worksheets": [sheet]}
    case("format-3", "an old notebook format", FULL, "", old)
    book = right()
    book["metadata"]["kernelspec"] = {"name": "julia-1.9", "display_name": "Julia", "language": "julia"}
    case("wrong-kernel", "another kernel named", FULL, "", book)
    book = right()
    book["metadata"] = {}
    case("no-metadata", "no metadata at all", FULL, "", book)
    data = notebook_bytes(release, RIGHT)
    case("byte-order-mark", "UTF-8 with a byte order mark", FULL, "", b"\xef\xbb\xbf" + data)
    case("utf-16", "UTF-16", FULL, "", data.decode().encode("utf-16"))
    case(
        "latin-1", "no UTF-8", None, "bad-encoding", data.replace(b"An answer", b"An \xe9nswer") + b"\xff\xe9"
    )
    case("bad-json", "cut in the middle", None, "bad-json", data[: len(data) // 2])
    case("empty-file", "an empty file", None, "empty-file", b"")
    case("no-notebook-json", "JSON, but no notebook", None, "bad-notebook", {"hello": 1})
    case("list-json", "a list", None, "bad-notebook", [1, 2])
    case("cells-text", "cells that are no list", None, "bad-notebook", {"cells": "x", "nbformat": 4})
    case("deep-json", "JSON nested 100,000 deep", None, "bad-json", b"[" * 100_000 + b"]" * 100_000)
    case(
        "long-number", "a number of 100,000 digits", None, "bad-json", b'{"cells": [' + b"9" * 100_000 + b"]}"
    )
    case("too-large", "a notebook of 21 MB", None, "too-large", data + b" " * (21 << 20))
    many = {"cells": [{"cell_type": "code", "source": "1", "metadata": {}}] * 10_000, "nbformat": 4}
    case("too-many-cells", "10,000 cells", None, "too-many-cells", many)
    odd = right()
    odd["cells"] += [7, None, {"cell_type": 3, "source": 9, "metadata": 4}]
    odd["cells"] += [{"metadata": {"nbgrader": {"grade_id": []}}}]
    odd["cells"] += [{"cell_type": "code", "source": ["a = ", 3, None], "metadata": {"tags": "x"}}]
    case("odd-cells", "cells of every wrong form", FULL, "", odd)
    odd = filled(release, {**RIGHT, "q6": "caf\u00e9 \ud83d\ude00 \ud800 \u0000 \u202e end"})
    case("odd-characters", "half characters, NUL and right-to-left marks", FULL, "", odd)
    script = (
        "<script>alert('STOLEN')</script> <img src=x onerror=\"alert('STOLEN')\"> "
        "[x](javascript:alert(1)) ![p](https://evil.example/p.png)"
    )
    case(
        "script-in-markdown",
        "a script in a written answer",
        FULL,
        "",
        filled(release, {**RIGHT, "q6": script}),
    )
    made.append(Case("renamed-file", "a notebook of another name", FULL, ["renamed-file"],
                     {"Probe (1) final.ipynb": data}))  # fmt: skip
    made.append(Case("upper-case", "another case of letters", FULL, ["renamed-file"], {"PROBE.IPYNB": data}))
    made.append(Case("two-notebooks", "a second notebook beside", FULL, ["further-notebooks"],
                     {"probe.ipynb": data, "scratch.ipynb": b"{}"}))  # fmt: skip
    made.append(
        Case("no-notebook", "a folder without a notebook", None, ["no-notebook"], {"notes.txt": b"x"})
    )
    made.append(Case("renamed-folder", "a folder of another name", None, ["no-folder"], {"probe.ipynb": data},
                     folder="Probe_final"))  # fmt: skip
    made.append(Case("linked-notebook", "a symbolic link to another's work", None, ["symbolic-link"],
                     links={"probe.ipynb": "../../honest-a/probe/probe.ipynb"}))  # fmt: skip
    made.append(Case("linked-file", "a link to the gradebook beside the work", FULL, ["file-left-out"],
                     {"probe.ipynb": data}, links={"data.db": "../../../gradebook.db"}))  # fmt: skip
    made.append(Case("linked-folder", "a link to the course beside the work", FULL, ["file-left-out"],
                     {"probe.ipynb": data}, links={"course": "../../.."}))  # fmt: skip
    made.append(
        Case("unicode-n\u00e4me", "a student's folder with an accent", FULL, [], {"probe.ipynb": data})
    )
    made.append(Case("bad-timestamp", "a timestamp that is none", FULL, ["bad-timestamp"],
                     {"probe.ipynb": data, "timestamp.txt": b"yesterday; drop table grade"}))  # fmt: skip
    return made
