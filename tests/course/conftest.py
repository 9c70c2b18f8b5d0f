"""A made-up course folder: one tiny assignment without torch, so that grading it takes seconds."""

import shutil
from pathlib import Path

import pytest
from course_files import FIXTURES, REPO


@pytest.fixture
def course(tmp_path) -> Path:
    """Root of a course with solutions/tiny, its answers and a sample class; nothing released yet."""
    root = tmp_path / "course"
    shutil.copytree(FIXTURES / "tiny", root / "solutions" / "tiny")
    shutil.copytree(FIXTURES / "answers", root / "tests" / "answers")
    shutil.copy(REPO / "nbgrader_config.py", root)
    return root


@pytest.fixture
def edit(course):
    """Replace text in the tiny assignment's source: edit(old, new)."""

    def replace(old: str, new: str) -> None:
        path = course / "solutions" / "tiny" / "tiny.md"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return replace
