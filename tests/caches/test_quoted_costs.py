"""What chapter 4 quotes of the cost of paging, against the table of measurements, which may be made anew."""

import re


def test_chapter_4_quotes_the_table(request):
    root = request.config.rootpath
    table = (root / "benchmarks/README.md").read_text(encoding="utf-8").split("## paged_decode.py")[1]
    rows = re.findall(r"^\| (.+?) \| ([\d.]+) \| ([\d.]+) \|$", table.split("\n## ")[0], re.MULTILINE)
    live, large = ({name: columns[at] for name, *columns in rows} for at in (0, 1))
    page = (root / "book/ch04.md").read_text(encoding="utf-8")
    quoted = re.search(r"Our own cache, on one CPU thread .*?README\.md", page)[0]
    attention = "attention of all layers alone, 1 thread, CPU time"
    step, two = "whole step, 1 thread, CPU time", "whole step, 2 threads, CPU time"
    for said in (
        f"{live[attention]} times as long for attention, and {live[step]} times for the whole step",
        f"{large[attention]} and {large[step]} times in a pool four times as large",
        f"On two threads the whole step takes {live[two]} and {large[two]} times",
    ):
        assert said in quoted
