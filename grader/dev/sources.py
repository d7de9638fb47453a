"""A stub is its solution minus lines: what a student starts from is what the solution is made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.dev.problem import Problem

MARKER = "YOUR CODE"
"""What stands in a comment where the student writes; such a line need not be in the solution."""


def source_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield what is wrong with the stub's text, and with the host file's, beside the solution's."""
    if not entry.stub.is_file():
        yield Problem(entry.stub.name, "the stub is missing")
    elif entry.solution is not None and not (entry.exercise.host and _given(entry.stub, entry.solution)):
        yield from pair_problems(entry.stub, entry.solution)
    if entry.exercise.host:
        yield from _host_problems(entry)


def _host_problems(entry: CourseExercise) -> Iterator[Problem]:
    if entry.host_file is None:
        yield Problem(f"{entry.name}_host.py", "the host file is missing")
    elif entry.solution is not None and entry.solution_host_file is None:
        yield Problem(f"{entry.name}_host.py", "the solution has no host file")
    elif entry.solution_host_file is not None:
        both_given = _given(entry.stub, entry.solution) and _given(entry.host_file, entry.solution_host_file)
        if both_given or not _given(entry.host_file, entry.solution_host_file):
            yield from pair_problems(entry.host_file, entry.solution_host_file)


def _given(stub: Path, solution: Path | None) -> bool:
    """Whether one of a host exercise's two files is given complete: the idea is in the other one then."""
    return solution is not None and stub.is_file() and stub.read_bytes() == solution.read_bytes()


def pair_problems(stub: Path, solution: Path) -> Iterator[Problem]:
    """Yield what keeps ``stub`` from being ``solution`` with lines taken out and markers put in."""
    stubbed, solved = _lines(stub), _lines(solution)
    if not any(MARKER in line for line in stubbed):
        yield Problem(stub.name, f"no `{MARKER}` says where to write")
    if any(MARKER in line for line in solved):
        yield Problem(stub.name, f"the solution still has a `{MARKER}`")
    kept = [line for line in stubbed if line and MARKER not in line]
    alien = first_alien(kept, solved)
    if alien is not None:
        number = stubbed.index(alien) + 1
        yield Problem(stub.name, f"line {number} is not in the solution, or in another place there: {alien.strip()!r}")
    elif len(kept) >= len([line for line in solved if line]):
        yield Problem(stub.name, "the stub is the whole solution")


def first_alien(lines: list[str], among: list[str]) -> str | None:
    """Return the first of ``lines`` that cannot be found in ``among`` behind the ones before it."""
    rest = iter(among)
    return next((line for line in lines if line not in rest), None)


def _lines(path: Path) -> list[str]:
    return [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
