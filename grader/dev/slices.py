"""A check of the course in slices: reports are kept as they arrive, and a later slice goes on where one stopped.

A report holds while the exercise's files and the grader are as they were, on the same GPU model. What has changed since
it was last checked comes first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from time import perf_counter
from typing import Any

from grader.catalog.courses import CourseExercise
from grader.compile import cache
from grader.dev.problem import Problem
from grader.paths import PACKAGE
from grader.verdict import Verdict

AHEAD = 2
"""How many exercises of a slice are in flight: while one ends, the next keeps the processors busy."""


@dataclass(frozen=True)
class Report:
    """What the check of one exercise came to."""

    name: str
    problems: tuple[Problem, ...]
    summary: str = ""
    solution: Verdict | None = None  # on the simulator; a report that was kept has none


Check = Callable[[], Report]
"""Waits for an exercise that has begun."""


class KeptReports:
    """The reports of earlier checks on one ``machine``: the simulator alone, or a GPU model."""

    def __init__(self, machine: str) -> None:
        self._machine = machine

    def find(self, entry: CourseExercise) -> Report | None:
        """The report of an exercise that is as it was then."""
        kept = self._load(entry)
        if kept.get("files") != digest_of(entry) or kept.get("grader") != _grader():
            return None
        return Report(entry.name, tuple(Problem(*problem) for problem in kept["problems"]), kept["summary"])

    def rank(self, entry: CourseExercise) -> int:
        """0 where the exercise has changed since it was last checked, 1 where it never was, 2 where the grader has."""
        files = self._load(entry).get("files")
        return 1 if files is None else 2 * (files == digest_of(entry))

    def keep(self, entry: CourseExercise, report: Report, files: str) -> None:
        """Keep a report of the exercise as it was when its ``files`` had this digest."""
        problems = [[problem.place, problem.message] for problem in report.problems]
        record = {"files": files, "grader": _grader(), "problems": problems, "summary": report.summary}
        cache.store("check", self._key(entry), record)

    def _load(self, entry: CourseExercise) -> dict[str, Any]:
        return cache.load("check", self._key(entry)) or {}

    def _key(self, entry: CourseExercise) -> str:
        return cache.digest(self._machine, str(entry.folder))


def digest_of(entry: CourseExercise) -> str:
    """A hash of all that an exercise's verdicts come from, but for the grader."""
    beside = (entry.solution, entry.solution_host_file)
    files = [*_files(entry.folder), *(path for path in beside if path), *_files(entry.course.kernels_ref)]
    inherited = [repr(expect) for expect in entry.inherited]
    return cache.digest(*inherited, *(part for path in files for part in (path.name, path.read_bytes())))


@once
def _grader() -> str:
    return cache.digest(
        *(part for path in _files(PACKAGE) if "_course" not in path.parts for part in (str(path), path.read_bytes()))
    )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def checked(
    exercises: Sequence[CourseExercise], begin: Callable[[CourseExercise], Check], kept: KeptReports
) -> Iterator[Report]:
    """Check every exercise, all at once, and yield the reports in their order."""
    begun = [(entry, digest_of(entry), begin(entry)) for entry in exercises]
    for entry, files, check in begun:
        report = check()
        kept.keep(entry, report, files)
        yield report


def slice_of(
    exercises: Sequence[CourseExercise], begin: Callable[[CourseExercise], Check], kept: KeptReports, limit_s: float
) -> Iterator[Report]:
    """Yield the reports that are kept, then check in the time that there is; at least one exercise."""
    started = perf_counter()
    found = [(entry, kept.find(entry)) for entry in exercises]
    yield from (report for _, report in found if report is not None)
    waiting = deque(sorted((entry for entry, report in found if report is None), key=kept.rank))
    begun: deque[tuple[CourseExercise, str, Check]] = deque()
    last, longest_s = started, 0.0
    while waiting or begun:
        while waiting and len(begun) < AHEAD and _fits(perf_counter() - started, longest_s, limit_s):
            entry = waiting.popleft()
            begun.append((entry, digest_of(entry), begin(entry)))
        if not begun:
            return
        entry, files, check = begun.popleft()
        report = check()
        kept.keep(entry, report, files)
        longest_s, last = max(longest_s, perf_counter() - last), perf_counter()
        yield report


def _fits(spent_s: float, longest_s: float, limit_s: float) -> bool:
    """Whether another exercise, after the one in flight, is likely to end in time."""
    return spent_s + AHEAD * longest_s <= limit_s
