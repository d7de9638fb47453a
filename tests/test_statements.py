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


@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_a_statement_has_the_form(one: CourseExercise) -> None:
    parts = form_of(one.statement.read_text(encoding="utf-8")).parts
    assert ([*parts] or [str(problem) for problem in form_problems(one)[0]]) == []
