"""nbgrader's settings for the course: every stock command, Formgrader and Validate work from this folder."""

import os
import sys

c = get_config()  # noqa: F821  (nbgrader puts it here)

# nbgrader starts `alembic` by name to make a gradebook; without this, only an activated environment has it.
scripts = os.path.dirname(sys.executable)
if scripts not in os.environ.get("PATH", "").split(os.pathsep):
    os.environ["PATH"] = scripts + os.pathsep + os.environ.get("PATH", "")

c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# This replaces nbgrader's own list; without *.md the sources, hidden tests included, would be released.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "*.md"]

# The release: nbgrader's own steps, and ours: no explanations of wrong answers, stubs that name what is to be
# written, no mark of the source.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.InstantiateTests",
    "nbgrader.preprocessors.LockCells",
    "kvcourse.course.preprocessors.DropExplanations",
    "kvcourse.course.preprocessors.NameStubs",
    "nbgrader.preprocessors.ClearOutput",
    "kvcourse.course.preprocessors.ForgetSource",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.ClearSolutions.code_stub = {"python": '# YOUR CODE HERE\nraise NotImplementedError("{unwritten}")'}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"

# The first cell imports torch, which takes longest on a laptop just started: nbgrader's 30 s are too few.
c.Execute.timeout = 120
c.Execute.startup_timeout = 180
c.Execute.iopub_timeout = 30
c.Execute.shutdown_kernel = "immediate"  # a graceful stop waits a second for each submission
