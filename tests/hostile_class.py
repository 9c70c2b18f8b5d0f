"""A class of attackers and accidents among honest students: nobody may gain a point, no honest student lose
one.

    python tests/hostile_class.py [DIR ...] [--level LEVEL] [--only NAME] [--keep]

Without DIR, the cases of tests/hostile/ are graded, all in one class. Each DIR holds more of them, one
folder a submission:

    DIR/NAME/expected.toml      points = 0.0                    of the whole notebook; absent: not graded
                                report = ["timeout"]            codes that the report must hold (optional)
                                assignment = "probe"            optional
    DIR/NAME/answers.txt        cells in the form of tests/hostile/cases/*.txt, put into the release; or
    DIR/NAME/...                the submission's files themselves (probe.ipynb, ...)

The assignment is tests/hostile/probe.md (13 autograded points). In the same class two honest students hand
in right answers, one sorted before and one after the others. Checked for each case: its points, the
report's codes, that its feedback page shows no hidden test and no script; and for the class: that the
honest students have all points, that nothing outside was touched or reached, and that no process is left.

Ends with one line of totals. Exit status: 0 all as must be, 1 otherwise, 2 for input that cannot be read.
"""

import argparse
import os
import re
import shutil
import socket
import sys
import tempfile
import time
import tomllib
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "hostile"))

import notebooks  # noqa: E402
from cases_format import FULL, RIGHT, Case, _case, notebook_bytes, read_cases  # noqa: E402

from kvcourse.course.authoring import released_notebook  # noqa: E402
from kvcourse.course.files import CONFIG  # noqa: E402
from kvcourse.course.stock import read_scores  # noqa: E402
from kvcourse.errors import UserError  # noqa: E402

# What no feedback may show: hidden lines, the class's seed, arguments of hidden calls (33 and 16 are
# visible).
SECRETS = re.compile(
    r"SECRET-OF-THE-TEST|hidden\.integer|hidden\.tensor|torch\.einsum|class-seed|"
    r"ARGUMENTS-OF-THE-TEST (?!33 16)\d"
)
SEED = "hidden-class-seed-of-hostile"
HONEST = ("honest-a", "zz-honest")
CELL_SECONDS, TOTAL_SECONDS = 4.0, 60.0


def make_course(folder: Path) -> None:
    """A course folder with the assignment, and nothing handed in yet."""
    (folder / "solutions" / "probe").mkdir(parents=True)
    shutil.copy(HERE.parent / CONFIG, folder / CONFIG)
    shutil.copy(HERE / "hostile" / "probe.md", folder / "solutions" / "probe" / "probe.md")
    (folder / "class.toml").write_text(f'seed = "{SEED}"\n')


def own_cases(release) -> list[Case]:
    """The cases of tests/hostile/."""
    made = notebooks.cases(release)
    for path in sorted((HERE / "hostile" / "cases").glob("*.txt")):
        made += read_cases(path, release)
    return made


def cases_of(folder: Path, release) -> list[Case]:
    """The cases of a folder of further ones."""
    made = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            expected = tomllib.loads((place / "expected.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{place}: expected a readable expected.toml ({error}).") from None
        text = place / "answers.txt"
        if text.is_file():
            case = _case(place.name, "", text.read_text(encoding="utf-8").split("\n"), release)
        else:
            case = Case(place.name, "", 0.0)
        for path in place.rglob("*"):
            if path.is_file() and path.name not in ("expected.toml", "answers.txt"):
                case.files[path.relative_to(place).as_posix()] = path.read_bytes()
        points = expected.get("points")
        if points is not None and (isinstance(points, bool) or not isinstance(points, int | float)):
            raise UserError(f"{place}: expected points as a number, got {points!r}.")
        case.points, case.report = points, list(expected.get("report", []))
        made.append(case)
    if not made:
        raise UserError(f"expected a folder for each submission in {folder}, found none.")
    return made


def hand_in(course: Path, case: Case, port: int) -> None:
    """Put a case's files where nbgrader looks for them."""
    place = course / "submitted" / case.name / (case.folder or "probe")
    place.mkdir(parents=True)
    for name, data in case.files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            data.replace(b"@COURSE@", str(course).encode()).replace(b"@PORT@", str(port).encode())
        )
    for name, target in case.links.items():
        (place / name).symlink_to(target)


def grade(course: Path, level: str, workers: int, say):
    """Grade the class; return nbgrader's scores and the grader's reports by student."""
    from kvcourse.grading.assignment import open_course
    from kvcourse.grading.course_run import Settings, grade_assignment

    settings = Settings(level, workers=workers, cell_seconds=CELL_SECONDS, total_seconds=TOTAL_SECONDS)
    summary = grade_assignment(open_course(course), "probe", settings, say)
    return read_scores(course, "probe"), {entry.student: entry for entry in summary.submissions}


def check_case(case: Case, course: Path, scores, reports) -> list[str]:
    """What is not as it must be with one case."""
    faults = []
    entry = reports.get(case.name)
    if entry is None:
        return ["is not in the report"]
    codes = {problem.code for problem in entry.problems}
    graded = entry.status == "graded"
    got = sum(cell.points or 0 for cell in scores[case.name].cells.values()) if case.name in scores else 0.0
    not_gradable = case.points is None and any(code in NOT_GRADED for code in case.report)
    if not_gradable and (graded or got):
        faults.append(f"was graded ({got:g} points), must not be")
    if not not_gradable and not graded:
        faults.append(f"was not graded ({', '.join(sorted(codes))})")
    if case.points is not None and abs(got - case.points) > 1e-9:
        faults.append(f"got {got:g} points, must get {case.points:g}")
    if case.points is None and not not_gradable and got > 3:
        faults.append(f"got {got:g} points")
    faults += [
        f"the report lacks {code} (it has {', '.join(sorted(codes)) or 'nothing'})"
        for code in case.report
        if code not in codes
    ]
    page = course / "feedback" / case.name / "probe" / "probe.html"
    if graded and not page.is_file():
        faults.append("has no feedback")
    elif graded:
        text = page.read_text(encoding="utf-8")
        found = SECRETS.search(_outputs(text))  # an answer's own code may say what it likes
        if found:
            faults.append(f"its feedback shows {found[0]}")
        faults += [f"its feedback holds {thing}" for thing in live_html(text)]
        if len(text) > 4_500_000:
            faults.append(f"its feedback has {len(text)} characters")
    return faults


NOT_GRADED = {
    "bad-json", "bad-encoding", "empty-file", "bad-notebook", "too-large", "too-many-cells", "no-notebook",
    "no-folder", "symbolic-link", "unknown-version", "bad-name",
}  # fmt: skip


def _outputs(body: str) -> str:
    """The parts of a page that a cell's source is not in."""
    return "".join(re.findall(r"<pre class='(?:out|err)'>.*?</pre>|<p class='hint'>.*?</p>", body, re.S))


def live_html(page: str) -> list[str]:
    """What in a page could run, or ask another host for something."""
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag in ("script", "iframe", "form", "input", "object", "embed", "link", "svg", "a", "base"):
                found.append(f"<{tag}>")
            for name, value in attributes:
                if name.startswith("on") or (
                    name in ("src", "href") and not (value or "").startswith("data:image/")
                ):
                    found.append(f"{tag} {name}={value!r:.60}")

    Reader().feed(page)
    return found


def children() -> set[int]:
    """The processes that exist now, by id."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()} if os.path.isdir("/proc") else set()


def run(
    folders: list[Path], level: str, only: str | None, workers: int, say=print, keep: bool = False
) -> tuple[int, int]:
    """Grade the cases; say what is not as it must be. Return how many cases, and how many faults."""
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix="kvcourse-hostile-", dir=os.environ.get("TMPDIR")))
    course = work / "course"
    make_course(course)
    release = released_notebook(course, "probe")
    cases = (
        [case for folder in folders for case in cases_of(folder, release)] if folders else own_cases(release)
    )
    cases = [case for case in cases if not only or re.search(only, case.name)]
    faults = 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        for name in HONEST:
            hand_in(course, Case(name, "", FULL, files={"probe.ipynb": notebook_bytes(release, RIGHT)}), port)
        for case in cases:
            hand_in(course, case, port)
        before = children()
        slow = time.monotonic()

        def progress(student: str, done: int, total: int) -> None:
            nonlocal slow
            now = time.monotonic()
            if now - slow > 8:
                say(f"  {student}: {now - slow:.0f} s")
            slow = now

        scores, reports = grade(course, level, workers, progress)
        for name in HONEST:
            cases.append(Case(name, "honest work in this class", FULL))
        for case in cases:
            for fault in check_case(case, course, scores, reports):
                faults += 1
                say(f"{case.name}: {fault}")
        try:
            server.accept()
            faults += 1
            say("something reached the network")
        except BlockingIOError:
            pass
    left = [pid for pid in children() - before if _ours(pid)]
    for pid in left:
        faults += 1
        say(f"process {pid} is left: {Path(f'/proc/{pid}/cmdline').read_bytes()[:100]!r}")
    if "was-here" in " ".join(str(path) for path in work.rglob("*kvcourse-hostile-was-here*")):
        faults += 1
        say("a file was written outside")
    if keep:
        say(f"kept in {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)
    say(f"{len(cases)} submissions graded at level {level} in {time.monotonic() - began:.0f} s")
    return len(cases), faults


def _ours(pid: int) -> bool:
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        named = b"kvcourse.grading.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()
        return named and parent in (1, os.getpid())  # another grading's processes are not ours to judge
    except OSError:
        return False


def main(argv: list[str] | None = None) -> int:
    """Grade the cases; return the exit status."""
    parser = argparse.ArgumentParser(description="Grade attackers and accidents among honest students.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="DIR", help="further cases (default: our own)"
    )
    parser.add_argument("--level", choices=("hardened", "basic"), default="hardened")
    parser.add_argument("--only", metavar="REGEX", help="only cases of such names")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="keep the course folder and say where it is")
    args = parser.parse_args(argv)
    try:
        for folder in args.folders:
            if not folder.is_dir():
                raise UserError(f"expected a folder of cases, got {folder}.")
        count, faults = run(args.folders, args.level, args.only, args.workers, keep=args.keep)
    except UserError as error:
        print(f"hostile_class: {error}", file=sys.stderr)
        return 2
    print(f"{count} submissions: {f'{faults} things not as must be' if faults else 'all as must be'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
