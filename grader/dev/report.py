"""The results of a check of the course: problems, and a report for each exercise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from grader.frozen import dataclass
from grader.verdict import LaunchRecord


@dataclass(frozen=True)
class Problem:
    """One problem of an exercise. ``place`` is one of its files, e.g. ``wrong/copy.cu``."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True)
class CheckReport:
    """The result of checking one exercise. ``launches`` are the solution's on the simulator, with their counters.

    ``advice`` is printed, but fails no check.
    """

    name: str
    problems: tuple[Problem, ...]
    summary: str = ""
    launches: tuple[LaunchRecord, ...] = ()
    advice: tuple[Problem, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the printed lines of the report."""
        yield f"{'FAIL' if self.problems else 'ok':<5} {self.name:<18} {self.summary}".rstrip()
        yield from (f"      {problem}" for problem in self.problems)
        yield from (f"      advice: {problem}" for problem in self.advice)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        lists = {"problems": self.problems, "advice": self.advice}
        pairs = {name: [[problem.place, problem.message] for problem in found] for name, found in lists.items()}
        return asdict(self) | pairs | {"launches": launches_to_json(self.launches)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CheckReport:
        """The report that `to_json` wrote."""
        problems, advice = (tuple(Problem(*problem) for problem in data[name]) for name in ("problems", "advice"))
        return cls(data["name"], problems, data["summary"], launches_from_json(data["launches"]), advice)


def launches_to_json(launches: tuple[LaunchRecord, ...]) -> list[Any]:
    """Each launch with its counters, without records of lines and requests."""
    return [
        [launch.kernel, launch.grid, launch.block, launch.shared_bytes, dict(launch.counters)] for launch in launches
    ]


def launches_from_json(data: list[Any]) -> tuple[LaunchRecord, ...]:
    """The launches that `launches_to_json` wrote."""
    return tuple(LaunchRecord(kernel, tuple(grid), tuple(block), *more) for kernel, grid, block, *more in data)
