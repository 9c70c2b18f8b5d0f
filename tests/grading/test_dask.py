"""Grading on Dask workers: a real scheduler and real worker processes on this machine."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest
from class_of import hand_in, rows

from kvcourse.cli import main
from kvcourse.course.files import CourseError
from kvcourse.grading import dask_workers
from kvcourse.grading.assignment import open_course
from kvcourse.grading.course_run import Settings, grade_assignment
from kvcourse.grading.launcher import IsolationError

pytestmark = pytest.mark.full  # about two minutes: it starts schedulers and workers
pytest.importorskip("distributed", reason="install: distributed")
ENVIRONMENT = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
# What stands for a worker's machine that has no Landlock.
LACKING = """
from kvcourse.grading import sandbox
sandbox.missing = lambda: ["the kernel has no Landlock."]
"""


class Cluster:
    """A scheduler, and workers without a nanny, so that one that dies stays dead."""

    def __init__(self, folder):
        self.folder, self.workers = folder, []
        self.scheduler, line = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
        )
        self.address = re.search(r"tcp://127\.0\.0\.1:\d+", line)[0]

    def add(self, *more):
        process, _ = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *more
        )
        self.workers.append(process)
        return process

    def _start(self, *arguments):
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        log = self.folder / f"{arguments[0]}{len(self.workers)}.log"
        with log.open("w") as stream:
            process = subprocess.Popen(
                command, cwd=self.folder, env=ENVIRONMENT, stdout=stream, stderr=subprocess.STDOUT
            )
        wanted = "Scheduler at:" if arguments[0] == "scheduler" else "Registered to:"
        for _ in range(600):
            line = next((line for line in log.read_text().splitlines() if wanted in line), None)
            if line:
                return process, line
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        raise AssertionError(log.read_text())

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "dask").mkdir()
    made = Cluster(tmp_path / "dask")
    yield made
    made.close()


def settings(level, cluster, **more):
    return Settings(level, scheduler=cluster.address, **more)


def test_workers_grade_as_this_machine_does_and_say_their_level(course, tiny, grade, level, cluster, capsys):
    hand_in(course, tiny, "ada")
    place = hand_in(
        course, tiny, "ben", q1="def pages(t, s):\n    return len(open('data.txt').read()) - 1"
    ).parent
    (place / "data.txt").write_text("four")
    hand_in(course, tiny, "cleo", q1="import os\ndef pages(t, s): os._exit(1)")
    here = course.with_name("here")
    shutil.copytree(course, here)
    grade(here)
    cluster.add()
    cluster.add()
    command = ["grade", "--root", str(course), "--level", level, "--scheduler", cluster.address]
    assert main([*command]) in (0, 1)
    said = capsys.readouterr().out
    assert len(re.findall(rf"level: tcp://\S+ on \S+: {level} \(", said)) == 2
    assert rows(course) == rows(here)
    report = json.loads((course / "grading" / "tiny.report.json").read_text())
    assert len(report["workers"]) == 2 and report["level"] == level
    page = "feedback/{}/tiny/tiny.html"
    for student in ("ada", "ben", "cleo"):
        assert (course / page.format(student)).read_bytes() == (here / page.format(student)).read_bytes()


def test_jobs_of_a_lost_worker_run_on_another(course, tiny, level, cluster):
    slow = "import time\ntime.sleep(2)\ndef pages(t, s): return -(-t // s)"
    for n in range(4):
        hand_in(course, tiny, f"s{n}", q1=slow)
    first = cluster.add()
    second = []

    def replace():
        time.sleep(1)
        first.kill()
        second.append(cluster.add())

    def progress(student, done, total):
        if done == 1:
            threading.Thread(target=replace).start()

    summary = grade_assignment(open_course(course), "tiny", settings(level, cluster), progress)
    assert [entry.points for entry in summary.submissions] == [10] * 4 and second


def test_a_job_that_ends_every_worker_is_reported_and_taken_up_again(course, tiny, level, cluster):
    from distributed import Client

    hand_in(course, tiny, "ada", q1="import time\ntime.sleep(20)\ndef pages(t, s): return 1")
    done = threading.Event()

    def kill_whoever_runs_it():
        with Client(cluster.address, set_as_default=False) as client:
            while not done.is_set():
                if any(client.processing().values()):
                    cluster.workers[-1].kill()
                    cluster.add()
                time.sleep(0.2)

    cluster.add()
    thread = threading.Thread(target=kill_whoever_runs_it)
    thread.start()
    try:
        summary = grade_assignment(open_course(course), "tiny", settings(level, cluster))
    finally:
        done.set()
        thread.join()
    (ada,) = summary.submissions
    assert (ada.status, [problem.code for problem in ada.problems]) == ("not-graded", ["worker-lost"])
    hand_in(course, tiny, "ada")
    assert grade_assignment(open_course(course), "tiny", settings(level, cluster)).submissions[0].points == 10


def test_a_worker_with_less_isolation_stops_the_run_before_anything_is_graded(course, tiny, cluster):
    hand_in(course, tiny, "ada")
    (cluster.folder / "lacking.py").write_text(LACKING)
    cluster.add("--preload", str(cluster.folder / "lacking.py"))
    with pytest.raises(IsolationError, match="no Landlock"):
        grade_assignment(open_course(course), "tiny", settings("hardened", cluster))
    assert rows(course) == [] and not (course / "autograded").exists()


def test_a_worker_with_another_kvcourse_stops_the_run(course, tiny, level, cluster):
    hand_in(course, tiny, "ada")
    other = "from kvcourse.grading import run_step\nrun_step.package_digest = lambda: 'other'\n"
    (cluster.folder / "other.py").write_text(other)
    cluster.add("--preload", str(cluster.folder / "other.py"))
    with pytest.raises(IsolationError, match="not the same"):
        grade_assignment(open_course(course), "tiny", settings(level, cluster))


def test_a_scheduler_that_goes_away_and_workers_that_never_come_are_one_sentence(
    course, tiny, level, cluster, monkeypatch
):
    hand_in(course, tiny, "ada", q1="import time\ntime.sleep(8)\ndef pages(t, s): return -(-t // s)")
    monkeypatch.setattr(dask_workers, "PATIENCE", 1.0)
    with pytest.raises(CourseError, match="no worker"):
        grade_assignment(open_course(course), "tiny", settings(level, cluster))
    monkeypatch.undo()
    cluster.add()
    threading.Timer(6, cluster.scheduler.kill).start()
    with pytest.raises((CourseError, Exception), match="scheduler") as caught:
        grade_assignment(open_course(course), "tiny", settings(level, cluster))
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(dask_workers, "CONNECT_SECONDS", 1)
    with pytest.raises(CourseError, match="no answer"):
        grade_assignment(open_course(course), "tiny", settings(level, cluster))
