"""A host exercise's Python file: read when the session opens, so that a missing one is a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.backends.gpu.hostfile.backend import HostfileBackend, HostfileSession
from grader.backends.sim.hostfile.backend import HostfileSimBackend, HostfileSimSession
from grader.errors import SubmissionError
from grader.grading.texts import NOTHING_READ, Texts

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.catalog.exercises import CourseExercise
    from grader.compile import Program


class HostFileBackend(HostfileBackend):
    """A `HostfileBackend` for the host file that belongs to ``path``; or for ``host`` itself."""

    def __init__(
        self,
        backend: GpuBackend,
        entry: CourseExercise,
        path: Path,
        *,
        host: Path | None = None,
        sandbox: bool = True,
        texts: Texts = NOTHING_READ,
    ) -> None:
        super().__init__(backend, entry.exercise, b"", path.name, sandbox=sandbox, course=entry.course)
        self._entry = entry
        self._path = path
        self._host = host
        self._texts = texts

    def open(self, program: Program, limits: Limits) -> HostfileSession:
        """Start a child with module and host file. Raises SubmissionError ``invalid`` where there is no host file."""
        file = self._host or host_file(self._entry, self._path)
        self._source, self._name = self._texts.read(file), file.name
        return super().open(program, limits)


class SimHostFileBackend(HostfileSimBackend):
    """The same on the simulator."""

    def __init__(
        self,
        entry: CourseExercise,
        path: Path,
        *,
        host: Path | None = None,
        sandbox: bool = True,
        threads: int = 0,
        texts: Texts = NOTHING_READ,
    ) -> None:
        courses = (entry.course.exercises, entry.course.solutions, entry.course.kernels_ref)
        super().__init__(entry.exercise, b"", path.name, threads=threads, sandbox=sandbox, courses=courses)
        self._entry = entry
        self._path = path
        self._host = host
        self._texts = texts

    def open(self, program: Program, limits: Limits) -> HostfileSimSession:
        """Start both children with module and host file. Raises SubmissionError ``invalid`` where there is none."""
        file = self._host or host_file(self._entry, self._path)
        self._source, self._name = self._texts.read(file), file.name
        return super().open(program, limits)


def host_file(entry: CourseExercise, path: Path) -> Path:
    """The Python file for ``path``: M_host.py or NAME_host.py beside it; in ``wrong/`` also the solution's.

    Raises SubmissionError (``invalid``) where there is none.
    """
    beside = next((place for place in places(entry, path) if place.is_file()), None)
    found = beside or (entry.solution_host_file if entry.is_wrong_answer(path) else None)
    if found is None:
        message = f"{path.name} needs its host file: there is no {entry.name}_host.py beside it"
        raise SubmissionError("invalid", message, hint=_how_to_get_one(entry, path))
    return found


def _how_to_get_one(entry: CourseExercise, path: Path) -> str:
    if path.absolute() == Path(f"{entry.name}.cu").absolute():
        return f"`grade start {entry.name}` puts the stub here, and keeps your ./{path.name}"
    return f"`grade start {entry.name}` copies the stubs of both files into this folder"


def places(entry: CourseExercise, path: Path) -> tuple[Path, Path]:
    """Where the Python file for ``path`` may lie beside it, the first that is there."""
    return path.with_name(f"{path.stem}_host.py"), path.with_name(f"{entry.name}_host.py")
