"""What students get: enough for `make lab`, and nothing that an instructor keeps."""

import os
import re
import subprocess
import sys
import zipfile

import pytest
from course_files import REPO, snapshot

from kvcourse.course.authoring import release
from kvcourse.course.bundle import make_bundle
from kvcourse.course.files import CourseError
from kvcourse.course.regions import MARKER
from kvcourse.course.source import assignments, read_source, source_text

HIDDEN_LINE = "assert pages(tokens_of_hidden_test, 16) == math.ceil(tokens_of_hidden_test / 16)"
CHAPTER = "---\njupytext: {text_representation: {format_name: myst}}\n---\n\n# One\n\n![x](figures/x.svg)\n"
FILES = {
    "Makefile": "lab:\n",
    "README.md": "# Course\n",
    "pyproject.toml": "[project]\n",
    "constraints.txt": "torch==2\n",
    "LICENSE": "Apache\n",
    "class.toml": 'seed = "secret"\n',
    "gradebook.db": "grades",
    "book/ch01.md": CHAPTER,
    "book/instructors.md": "# For instructors\n\nWrite ### BEGIN SOLUTION before a solution.\n",
    "book/figures/x.svg": "<svg/>",
    "src/kvcourse/__init__.py": 'MARKERS = ["BEGIN SOLUTION"]\n',
    "src/kvcourse/widgets/quiz.js": "export default {}\n",
    "src/kvcourse/__pycache__/x.pyc": "x",
    "tests/test_x.py": "x = 1\n",
}


@pytest.fixture
def whole(course):
    """A course folder with everything around its assignment, released."""
    for name, text in FILES.items():
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text(text)
    release(course)
    return course


def names(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return [name.removeprefix("kvcourse-student/") for name in archive.namelist()]


def test_what_is_in_it(whole):
    assert names(make_bundle(whole)) == [
        "LICENSE",
        "Makefile",
        "README.md",
        "book/ch01.md",
        "book/figures/x.svg",
        "constraints.txt",
        "exercises/tiny/tiny.ipynb",
        "nbgrader_config.py",
        "pyproject.toml",
        "src/kvcourse/__init__.py",
        "src/kvcourse/widgets/quiz.js",
    ]


def test_its_readme_names_only_what_students_have(whole):
    with zipfile.ZipFile(make_bundle(whole)) as archive:
        readme = archive.read("kvcourse-student/README.md").decode()
    assert readme != (whole / "README.md").read_text()
    assert re.findall(r"make ([a-z-]+)", readme) == ["lab", "lab"]
    assert not re.search(r"solutions/|tests/|benchmarks/|CONTRIBUTING", readme)


def test_the_same_course_gives_the_same_bytes(whole):
    first = make_bundle(whole).read_bytes()
    for path in whole.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    before = snapshot(whole)
    assert make_bundle(whole).read_bytes() == first
    assert snapshot(whole) == before  # not even written again
    assert make_bundle(whole, whole / "other.zip").read_bytes() == first


LEAKS = {
    "a hidden line in the package": (
        "src/kvcourse/x.py",
        f"def f():\n    {HIDDEN_LINE}\n",
        "hidden tests of cell q1-hidden",
    ),
    "a hidden line in a chapter": (
        "book/ch01.md",
        f"{CHAPTER}\n{HIDDEN_LINE}\n",
        "hidden tests of cell q1-hidden",
    ),
    "a marker in a chapter": (
        "book/ch01.md",
        f"{CHAPTER}\n### BEGIN HIDDEN TESTS\n",
        "the marker '### BEGIN HIDDEN",
    ),
    "a marker in the package": (
        "src/kvcourse/x.py",
        "    ### END SOLUTION\n",
        "the marker '### END SOLUTION'",
    ),
    "a marker in a release": (
        "exercises/tiny/x.txt",
        "### BEGIN SOLUTION\n",
        "the marker '### BEGIN SOLUTION'",
    ),
    "a solution in a release": ("exercises/tiny/x.py", "  return full + (rest > 0)\n", "solution of cell q1"),
    "a model answer in a release": (
        "exercises/tiny/x.txt",
        "Model answer: a page has a fixed size, and the last one is filled only as far as the sequence goes.",
        "solution of cell q3-sentence",
    ),
    "a source notebook as a release": ("exercises/tiny/tiny.ipynb", None, "would show"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_stops_it(whole, leak):
    name, text, sentence = LEAKS[leak]
    older = make_bundle(whole).read_bytes()
    source = (whole / "solutions" / "tiny" / "tiny.ipynb").read_text()
    (whole / name).write_text(source if text is None else text)
    with pytest.raises(CourseError) as caught:
        make_bundle(whole)
    assert sentence in str(caught.value) and name in str(caught.value) and "\n" not in str(caught.value)
    assert (whole / "build" / "kvcourse-student.zip").read_bytes() == older


def test_a_line_that_tells_nothing_may_stand_elsewhere(whole, edit):
    edit(
        "### BEGIN HIDDEN TESTS\nfor tokens",
        "### BEGIN HIDDEN TESTS\ncounted = pages(tokens, size)\nfor tokens",
    )
    release(whole)
    (whole / "src" / "kvcourse" / "x.py").write_text("counted = pages(tokens, size)\n")
    make_bundle(whole)
    (whole / "src" / "kvcourse" / "x.py").write_text(
        "for tokens_of_hidden_test in (0, 1, 15, 16, 17, 4096):\n"
    )
    with pytest.raises(CourseError, match=r"x.py would show a line of the hidden tests of cell q1-hidden"):
        make_bundle(whole)


def test_what_is_missing_is_one_sentence(whole):
    (whole / "exercises" / "tiny" / "tiny.ipynb").unlink()
    with pytest.raises(CourseError, match="expected releases in exercises/"):
        make_bundle(whole)
    (whole / "pyproject.toml").unlink()
    with pytest.raises(CourseError, match=r"needs pyproject.toml"):
        make_bundle(whole)


def hidden_lines(assignment):
    """Return the lines with a number or a text between hidden-test markers, in the source's plain text."""
    inside, found = False, set()
    for line in source_text(REPO, assignment).read_text().split("\n"):
        marker = MARKER.search(line)
        if marker:
            inside = marker[0] == "BEGIN HIDDEN TESTS"
        elif inside and len(line.strip()) > 25 and re.search(r"[0-9\"']", line):
            found.add(line.strip())
    return found


def test_the_courses_own_bundle(tmp_path):
    """On the real content: no hidden line in it, and `make lab`'s copies can be made from it alone."""
    path = make_bundle(REPO, tmp_path / "students.zip")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    student = tmp_path / "kvcourse-student"
    tops = {name.split("/")[0] for name in names(path)}
    assert tops.isdisjoint({"solutions", "tests", "class.toml", "gradebook.db", "build", "work"})
    texts = {p: p.read_text(errors="replace") for p in student.rglob("*") if p.is_file()}
    for assignment in assignments(REPO):
        shown = "\n".join(c.source for c in read_source(source_text(REPO, assignment)).cells)
        for line in hidden_lines(assignment):
            holders = [p for p, text in texts.items() if line in text.replace('\\"', '"')]
            assert shown.count(line) > 1 or not holders, (line, holders)
    ran = subprocess.run(
        [sys.executable, "-m", "kvcourse.course", "work"],
        cwd=student,
        env={**os.environ, "PYTHONPATH": str(student / "src")},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    for assignment in assignments(REPO):
        assert (student / "work" / assignment / f"{assignment}.ipynb").is_file()
