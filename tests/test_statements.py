"""What a terminal of 80 columns can show: code and drawings that stay in one piece."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.statement import form_of
from grader.dev.static import form_problems

# `grade show` and `grade hint` indent a fenced block, and 80 columns is the narrowest terminal that people still use.
WIDEST_LINE = 74
EXERCISES = load_catalog().exercises


def _fenced_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines between the fences of `text`, each with its line number from 1 up. A block without an end fails."""
    opened = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            opened = 0 if opened else number
        elif opened:
            yield number, line
    assert not opened, f"the block of line {opened} has no end"


def _too_wide(page: Path) -> list[str]:
    lines = _fenced_lines(page.read_text(encoding="utf-8"))
    return [f"{page.name}:{number}: {len(line)} characters" for number, line in lines if len(line) > WIDEST_LINE]


@pytest.mark.parametrize("page", ["statement", "hints", "interview"])
@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_no_drawing_is_wider_than_a_terminal_of_80_columns(one: CourseExercise, page: str) -> None:
    assert _too_wide(getattr(one, page)) == []


def test_a_line_is_measured_in_characters_and_only_inside_a_block(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    fits, sticks_out = "─" * WIDEST_LINE, "─" * (WIDEST_LINE + 1)
    page.write_text(f"{sticks_out}\n```\n{fits}\n{sticks_out}\n```\n{sticks_out}\n", encoding="utf-8")
    assert _too_wide(page) == ["README.md:4: 75 characters"]


def test_the_hints_of_streams_events_build_what_its_line_asks_for() -> None:
    exercise = load_catalog().find("streams_events")
    assert exercise.solution_host_file is not None
    solution = exercise.solution_host_file.read_text(encoding="utf-8")
    numbers = {name: int(value) for name, value in re.findall(r"^(\w+) = (\d+)", solution, re.MULTILINE)}
    hints = exercise.hints.read_text(encoding="utf-8")
    assert f"`RING = {numbers['RING']}`" in hints
    assert f"{numbers['CHUNKS']} chunks" in hints
    assert f"`kernels[i % {numbers['KERNELS']}]`" in hints


WORDS_OF = {
    "local_bytes": "local memory", "f64_instructions": "double|`f64_instructions`", "launches": "launch",
    "global_load_requests": "request|bytes a lane|loads of 16 bytes", "shared_atomic_requests": "atomic",
    "global_atomic_requests": "atomic", "global_atomic_bytes": "atomic", "divergent_branches": "diverge",
    "barriers": "barrier", "slow_divisions": "division", "excess_wavefronts": "conflict|wavefront",
    "shared_bytes": "shared", "shared_load_bytes": "shared", "shared_memory_bytes": "shared memory",
    "global_load_bytes": "loaded|load", "global_store_bytes": "stored|store", "sectors": "sector|coalesced",
    "sector_efficiency": "sector", "special_function_instructions": "special|exponential", "shuffles": "shuffle",
    "occupancy": "occupancy", "registers": "register", "spill_bytes": "spill", "threads": "thread",
}  # fmt: skip
"""What the row of the stage names for a counter that it grades: a pattern."""


@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_what_the_technique_grades_is_in_the_statement(one: CourseExercise) -> None:
    """A step of a ladder may name the steps before instead."""
    rows = re.findall(r"^\| technique \|.*$", one.statement.read_text(encoding="utf-8"), re.MULTILINE)
    row = rows[0] if rows else ""
    graded = {expect.counter for expect in one.exercise.technique} & WORDS_OF.keys()
    assert {counter for counter in graded if not re.search(WORDS_OF[counter], row, re.IGNORECASE)} == set()


SIZE = re.compile(r"\b([a-z_]\w*) = (\d+)")


@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_a_report_in_the_table_of_causes_names_sizes_that_are_graded(one: CourseExercise) -> None:
    """``right at n = 4`` matches no report if no case has n = 4."""
    exercise = one.exercise
    cases = [*exercise.small, exercise.simulated, *([exercise.large.size] if exercise.large else [])]
    graded = {(name, value) for case in cases for name, value in case.items()}
    causes = one.statement.read_text(encoding="utf-8").partition("## If it does not pass")[2]
    reports = [line.split(" | ")[0] for line in causes.splitlines() if line.startswith("| `")]
    named = {(name, int(value)) for report in reports for name, value in SIZE.findall(report)}
    names = {name for name, _ in graded}
    assert {(name, value) for name, value in named if name in names} <= graded


def test_a_bound_that_nobody_can_guess_is_in_the_statement_of_scan_block() -> None:
    entry = load_catalog().find("scan_block")
    [expect] = [one for one in entry.exercise.technique if one.counter == "shared_bytes"]
    assert f"at most {expect.at_most:g} `shared_bytes`" in entry.statement.read_text(encoding="utf-8")


@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_a_statement_has_the_form(one: CourseExercise) -> None:
    parts = form_of(one.statement.read_text(encoding="utf-8")).parts
    assert ([*parts] or [str(problem) for problem in form_problems(one)[0]]) == []
