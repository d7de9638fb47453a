"""Work on a course in slices: results are stored as they arrive, and a later slice continues where one stopped.

    stored = StoredResults("check", "NVIDIA H200", Report.to_json, Report.from_json)
    for entry, report in slice_of(exercises, begin, stored, limit_s=480): ...

A result is valid while the exercise's files, the grader and the machine are the same. Exercises that have changed since
their last result come first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache as once
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, TypeVar

from grader.catalog.courses import CourseExercise
from grader.compile import cache
from grader.frozen import dataclass
from grader.paths import PACKAGE

AHEAD = 2
"""The number of exercises of a slice in flight: while one ends, the next keeps the processors busy."""

LEFT = 3
"""The exit code of a slice that leaves exercises."""

T = TypeVar("T")


@dataclass(frozen=True)
class StoredResults(Generic[T]):
    """The results of one job (``check``, ``bench``, ``ladders``) on one ``machine``: the simulator, or a GPU model."""

    job: str
    machine: str
    to_json: Callable[[T], Any]
    from_json: Callable[[Any], T]

    def find(self, entry: CourseExercise) -> T | None:
        """The stored result of an exercise; None if there is none, or the exercise or the grader has changed."""
        stored = self._load(entry)
        if stored.get("files") != digest_of(entry) or stored.get("grader") != _grader():
            return None
        return self.from_json(stored["result"])

    def rank(self, entry: CourseExercise) -> int:
        """The order of work: 0 if the exercise has changed since its last result, 1 without a result, 2 otherwise."""
        files = self._load(entry).get("files")
        return 1 if files is None else 2 * (files == digest_of(entry))

    def store(self, entry: CourseExercise, result: T, files: str) -> None:
        """Store a result of the exercise; ``files`` is the digest of its files before the work began."""
        record = {"files": files, "grader": _grader(), "result": self.to_json(result)}
        cache.store(self.job, self._key(entry), record)

    def _load(self, entry: CourseExercise) -> dict[str, Any]:
        return cache.load(self.job, self._key(entry)) or {}

    def _key(self, entry: CourseExercise) -> str:
        return cache.digest(self.machine, str(entry.folder))


def digest_of(entry: CourseExercise) -> str:
    """A hash of everything that an exercise's results depend on, except the grader."""
    solutions = (entry.solution, entry.solution_host_file)
    files = [*_files(entry.folder), *(path for path in solutions if path), *_files(entry.course.kernels_ref)]
    inherited = [repr(expect) for expect in entry.inherited]
    return cache.digest(*inherited, *(part for path in files for part in (path.name, path.read_bytes())))


@once
def _grader() -> str:
    return cache.digest(
        *(part for path in _files(PACKAGE) if "_course" not in path.parts for part in (str(path), path.read_bytes()))
    )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts and path.is_file())


def slice_of(
    exercises: Sequence[CourseExercise],
    begin: Callable[[CourseExercise], Callable[[], T]],
    stored: StoredResults[T],
    limit_s: float | None,
) -> Iterator[tuple[CourseExercise, T]]:
    """Yield the stored results, then those of as many exercises as the time allows; at least one.

    ``begin`` starts an exercise and returns a function that waits for it. Without ``limit_s`` (seconds) all are started
    at once, in their order, and stored results are not used.
    """
    started = last = perf_counter()
    results = {} if limit_s is None else {id(entry): stored.find(entry) for entry in exercises}
    yield from ((entry, result) for entry in exercises if (result := results.get(id(entry))) is not None)
    waiting = deque(entry for entry in exercises if results.get(id(entry)) is None)
    if limit_s is not None:
        waiting = deque(sorted(waiting, key=stored.rank))
    in_flight: deque[tuple[CourseExercise, str, Callable[[], T]]] = deque()
    longest_s = 0.0
    while waiting or in_flight:
        while waiting and (limit_s is None or _fits(len(in_flight), perf_counter() - started, longest_s, limit_s)):
            entry = waiting.popleft()
            in_flight.append((entry, digest_of(entry), begin(entry)))
        if not in_flight:
            return
        entry, files, finish = in_flight.popleft()
        result = finish()
        stored.store(entry, result, files)
        longest_s, last = max(longest_s, perf_counter() - last), perf_counter()
        yield entry, result


def _fits(in_flight: int, spent_s: float, longest_s: float, limit_s: float) -> bool:
    """Whether another exercise, after the one in flight, will probably end in time."""
    return in_flight < AHEAD and spent_s + AHEAD * longest_s <= limit_s
