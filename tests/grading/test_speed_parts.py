"""What makes the grader cheap changes nothing else: large pages, shared cores, kept checkers, packed code."""

import os
import sys

import nbformat
import pytest
from made_masters import make_master

from kvcourse.grading import large_pages
from kvcourse.grading.autograded import notebook_text
from kvcourse.grading.cell_code import packed, split_last, unpacked
from kvcourse.grading.plan import make_plan
from kvcourse.grading.runner import Job, Runner
from kvcourse.grading.submission import cells_of

MAPS = """\
55d0c0400000-55d0c5600000 rw-p 00000000 00:00 0                          [heap]
7f0000100000-7f0000d00000 rw-p 00000000 00:00 0
7f0001000000-7f0001800000 r-xp 00000000 fe:00 12 /usr/lib/libtorch cpu.so
7f0001800000-7f0001a00000 rw-p 00800000 fe:00 12 /usr/lib/libtorch cpu.so
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
"""


def test_only_memory_of_no_file_is_collapsed():
    assert list(large_pages._own_memory(MAPS)) == [
        (0x55D0C0400000, 0x55D0C5600000),
        (0x7F0000100000, 0x7F0000D00000),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: madvise's MADV_COLLAPSE")
def test_collapsing_changes_no_content():
    data = [bytes([number % 251]) * 1000 for number in range(20_000)]
    large_pages.large_pages()
    assert all(part == bytes([number % 251]) * 1000 for number, part in enumerate(data))


def test_elsewhere_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(large_pages.ctypes, "CDLL", lambda name: pytest.fail("asked for the C library"))
    large_pages.large_pages()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no way to choose a core here")
def test_the_two_processes_of_a_slot_share_a_core(run_cells):
    answer = "import os\ndef f(): return sorted(os.sched_getaffinity(0))"
    test = "import os\nmine = sorted(os.sched_getaffinity(0))\nassert len(mine) == 1\nassert f() == mine"
    assert run_cells(answer, test)["test"].passed


def job_of(answer, test, **more):
    master, submitted = make_master({"test": test}, answer), make_master({"test": test}, answer)
    plan = make_plan(master, cells_of(submitted))
    return Job(plan.jobs(), plan.exports, cell_seconds=2.0, **more)


def test_a_kept_checker_remembers_nothing_of_the_run_before(zygote):
    first = job_of("def f(): return 5", "kept = f()\nimport random\nrandom.seed(7)\nassert kept == 5")
    second = job_of("def f(): return 5", "assert 'kept' not in globals()\nassert f() == 5")
    drawn = job_of("def f(): return 5", "import random\nprint(random.random())")
    with Runner(zygote) as runner:
        assert runner.run(first)[-1].passed
        process = runner.checker()
        assert runner.run(second)[-1].passed
        texts = {runner.run(drawn)[-1].outputs[0]["text"] for _ in range(3)}
        assert runner.checker() is process
        assert len(texts) == 3
    assert runner.usage.checker > 0


def test_a_checker_that_hung_is_not_kept(zygote):
    deaf = "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"
    hangs = job_of("def f(): return 5", deaf)
    fine = job_of("def f(): return 5", "assert f() == 5")
    with Runner(zygote) as runner:
        process = runner.checker()
        assert not runner.run(hangs)[-1].passed
        assert runner.run(fine)[-1].passed
        assert runner.checker() is not process


def test_the_seed_of_each_job_holds(zygote):
    test = "import os\nassert os.environ.get('KVCOURSE_CLASS_SEED') == 'one', f()"
    with Runner(zygote) as runner:
        assert runner.run(job_of("def f(): return 5", test, seed="one"))[-1].passed
        assert not runner.run(job_of("def f(): return 5", test, seed="two"))[-1].passed
        assert not runner.run(job_of("def f(): return 5", test, seed=None))[-1].passed


def test_what_was_warned_of_in_one_run_is_warned_of_in_the_next(zygote):
    python = "import warnings\nwarnings.warn('old')"
    of_torch = "import torch\nfloat(torch.ones(1, requires_grad=True))"
    for test in (python, of_torch):
        with Runner(zygote) as runner:
            seen = [runner.run(job_of("def f(): return 5", test))[-1].outputs for _ in range(3)]
        assert seen[0] == seen[1] == seen[2], test
        assert "Warning" in str(seen[0])


def test_code_with_a_warning_is_compiled_without_a_word(recwarn):
    packed("f(1) is 1\n'\\d'", "<cell of a doubtful author>")
    assert not recwarn.list


@pytest.mark.parametrize("source", ["x = 1\nx + 1", "x = 1;", "", "def f():\n    return 1\nf()\n# end"])
def test_packed_code_is_the_cell_s(source):
    body, last, line, names = unpacked(packed(source, "<cell>"))
    expected = split_last(source, "<cell>")
    assert (body, last, line, names) == expected
    namespace = {}
    exec(body, namespace)
    if last is not None:
        assert eval(last, namespace) == {"x = 1\nx + 1": 2}.get(source, 1)


def test_what_is_no_python_is_said_once_it_is_packed():
    with pytest.raises(SyntaxError):
        packed("def broken(:", "<cell>")


def test_a_written_notebook_reads_as_nbformat_s_own():
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

    cells = [
        new_markdown_cell('# Ünïcode\n\nand "quotes" </script>'),
        new_code_cell("a = 1\nb", outputs=[new_output("stream", text="out\nput\n")], execution_count=3),
        new_code_cell(""),
    ]
    notebook = new_notebook(cells=cells, metadata={"kvcourse": {"version": 2}})
    text = notebook_text(notebook)
    assert nbformat.reads(text, as_version=4) == nbformat.reads(nbformat.writes(notebook), as_version=4)
    assert len(text.splitlines()) < len(cells) + 8
    empty = new_notebook()
    assert nbformat.reads(notebook_text(empty), as_version=4) == empty
