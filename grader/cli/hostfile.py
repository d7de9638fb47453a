"""A host exercise's Python file: read when the session opens, so that a missing one is a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.backends.gpu.host.backend import HostBackend, HostSession, host_file_beside
from grader.backends.sim.host.backend import HostSimBackend, HostSimSession
from grader.compile import read_submission
from grader.errors import SubmissionError

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.catalog import CourseExercise
    from grader.compile import Program


class HostFileBackend(HostBackend):
    """A `HostBackend` for the host file that belongs to ``path``; or for ``host`` itself."""

    def __init__(
        self, backend: GpuBackend, one: CourseExercise, path: Path, *, host: Path | None = None, sandbox: bool = True
    ) -> None:
        super().__init__(backend, one.exercise, b"", path.name, sandbox=sandbox, course=one.course)
        self._one = one
        self._path = path
        self._host = host

    def open(self, program: Program, limits: Limits) -> HostSession:
        """Start a child with module and host file. Raises SubmissionError ``invalid`` where there is no host file."""
        file = self._host or host_file(self._one, self._path)
        self._source, self._name = read_submission(file), file.name
        return super().open(program, limits)


class SimHostFileBackend(HostSimBackend):
    """The same on the simulator."""

    def __init__(
        self, one: CourseExercise, path: Path, *, host: Path | None = None, sandbox: bool = True, threads: int = 0
    ) -> None:
        courses = (one.course.exercises, one.course.solutions, one.course.kernels_ref)
        super().__init__(one.exercise, b"", path.name, threads=threads, sandbox=sandbox, courses=courses)
        self._one = one
        self._path = path
        self._host = host

    def open(self, program: Program, limits: Limits) -> HostSimSession:
        """Start both children with module and host file. Raises SubmissionError ``invalid`` where there is none."""
        file = self._host or host_file(self._one, self._path)
        self._source, self._name = read_submission(file), file.name
        return super().open(program, limits)


def host_file(one: CourseExercise, path: Path) -> Path:
    """The Python file for ``path``: M_host.py or NAME_host.py beside it; for a mutant without one, the solution's."""
    try:
        return host_file_beside(path, one.name)
    except SubmissionError:
        is_mutant = path.resolve() in {mutant.resolve() for mutant in one.mutants}
        if is_mutant and one.solution_host_file is not None:
            return one.solution_host_file
        raise
