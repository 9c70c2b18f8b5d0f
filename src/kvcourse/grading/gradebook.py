"""nbgrader's gradebook, with one transaction a submission and each row read once."""

import contextlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy
from nbgrader.api import Gradebook, MissingEntry

from kvcourse.errors import UserError


class GradebookError(UserError):
    """A gradebook that cannot be used. Nothing was changed since the last submission that was recorded."""


class OneWriter(Gradebook):
    """A Gradebook whose look-ups by name are answered from memory, and whose commits wait for `submission`'s
    end.
    """

    def open_assignment(self, assignment: str, notebook: str) -> None:
        """Read an assignment's cells once for all submissions."""
        self.db().expire_on_commit = False
        found = self.find_notebook(notebook, assignment)
        self.source_cells = {cell.name: cell for cell in found.source_cells}
        self.graded_cells = {cell.name: cell for cell in [*found.grade_cells, *found.task_cells]}
        self._grades: dict[str, Any] = {}
        self._comments: dict[str, Any] = {}

    @contextlib.contextmanager
    def submission(self, assignment: str, notebook: str, student: str, **more: Any) -> Iterator[Any]:
        """The submission's row, made if need be, inside one transaction that ends with the block."""
        commit = self.db.commit
        self.db.commit = self.db.flush  # nbgrader commits after each cell
        try:
            with self.db.no_autoflush:
                self.update_or_create_student(student)
                row = self.update_or_create_submission(assignment, student, **more)
            rows = next(r for r in row.notebooks if r.name == notebook)
            self._grades = {grade.cell.name: grade for grade in rows.grades}
            self._comments = {comment.cell.name: comment for comment in rows.comments}
            self.db.commit = lambda: None  # from here on rows only change; they are sent together
            yield row
            commit()
        except BaseException:
            self.db.rollback()
            raise
        finally:
            self.db.commit = commit

    def find_source_cell(self, name: str, notebook: str, assignment: str) -> Any:
        return self._known(self.source_cells, name)

    def find_graded_cell(self, name: str, notebook: str, assignment: str) -> Any:
        return self._known(self.graded_cells, name)

    def find_grade(self, name: str, notebook: str, assignment: str, student: str) -> Any:
        return self._known(self._grades, name)

    def find_comment(self, name: str, notebook: str, assignment: str, student: str) -> Any:
        return self._known(self._comments, name)

    @staticmethod
    def _known(table: dict[str, Any], name: str) -> Any:
        if name not in table:
            raise MissingEntry(f"No such cell: {name}")
        return table[name]


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn what a database can say into one sentence."""
    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, ImportError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
        where = url.removeprefix("sqlite:///") if url.startswith("sqlite") else "the gradebook"
        advice = "; another program holds it, try again when that is done" if "locked" in reason else ""
        raise GradebookError(
            f"{where} cannot be used: {reason}{advice}. What was recorded before stands; "
            "nothing else changed."
        ) from None


def open_gradebook(url: str, course_id: str = "default_course") -> OneWriter:
    """Open a gradebook and make sure that it can be written, by a change that is taken back."""
    with explained(url):
        gradebook = OneWriter(url, course_id)
        if url.startswith("sqlite"):
            gradebook.db.execute(sqlalchemy.text("BEGIN IMMEDIATE"))
            # A read-only file, or a folder that takes no journal, shows only when something is written.
            gradebook.db.execute(sqlalchemy.text("CREATE TABLE kvcourse_can_write (x INTEGER)"))
        gradebook.db.rollback()
        return gradebook
