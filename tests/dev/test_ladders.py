"""Ladders: what their steps share, and that each step tells the one before from itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import Course, CourseExercise
from grader.dev import ladders as module
from grader.dev.ladders import compared, ladder_problems, ladders, matrix
from grader.exercise import Array, Exercise, Expect, Tolerance
from grader.timing.pass_lines import PassLine
from grader.verdict import LaunchRecord

FAST = Expect("excess_wavefronts", at_most=0)
OTHER = Expect("sector_efficiency", at_least=0.9)


def step(
    name: str, order: int, *technique: Expect, course: str = "here", ladder: str = "sum", **fields
) -> CourseExercise:
    """One step with an array of ``n`` numbers."""
    exercise = Exercise(
        name=name, order=order, idea="a step", oracle="a:b", small=({"n": 1},), simulated={"n": 4}, timed={"n": 64},
        arrays=(Array("x", "float32", "n"), Array("out", "float32", "1", role="out")),
        technique=technique, ladder=ladder,
    )  # fmt: skip
    folders = Course(Path(course, "exercises"), Path(course, "solutions"), Path(course, "kernels_ref"))
    return CourseExercise(replace(exercise, **fields), Path(course, "exercises", name), "", folders)


def counted(excess: float, efficiency: float = 1.0) -> tuple[LaunchRecord, ...]:
    counters = {"excess_wavefronts": excess, "sector_efficiency": efficiency, "sectors": 8.0}
    return (LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, counters),)


V1, V2, V3 = step("v1", 401), step("v2", 402, FAST), step("v3", 403)
LAUNCHES = {"v1": counted(31), "v2": counted(0), "v3": counted(0)}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> dict[str, PassLine]:
    """The lines of the reference GPU, empty at first."""
    known: dict[str, PassLine] = {}
    monkeypatch.setattr(module, "lines_on", lambda gpu: known)
    return known


def said(*steps: CourseExercise, launches=LAUNCHES) -> list[str]:
    return [str(problem) for problem in ladder_problems(steps, launches)]


# ------------------------------------------------------------------------------------------------------------ grouping


def test_a_ladder_is_the_steps_of_one_name_in_one_course():
    stranger, alone = step("s1", 404, course="there"), step("plain", 405, ladder="")
    assert ladders([V1, stranger, V2, alone]) == [("sum", [V1, V2])]


def test_two_courses_have_a_ladder_of_the_same_name_each():
    theirs = [step("t1", 401, course="there"), step("t2", 402, course="there")]
    assert ladders([V1, theirs[0], V2, theirs[1]]) == [("sum", [V1, V2]), ("sum", theirs)]


# ------------------------------------------------------------------------------------------------------ what is shared


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arrays", (Array("y", "float32", "n"), Array("out", "float32", "1", role="out"))),
        ("oracle", "a:c"),
        ("small", ({"n": 2},)),
        ("secret", {"n": (1, 2, 1)}),
        ("simulated", {"n": 8}),
        ("timed", None),
        ("scalars", {"alpha": 2.0}),
        ("tolerance", Tolerance(relative=0.5)),
        ("exact", False),
        ("host", True),
    ],
)
def test_a_field_in_which_a_step_differs_is_named_with_both_steps(lines, field, value):
    odd = replace(V2, exercise=replace(V2.exercise, **{field: value}))
    assert said(V1, odd) == [f"exercise.py: v2 and v1 differ in {field}"]


def test_a_later_step_may_have_more_small_sizes(lines):
    assert said(V1, replace(V2, exercise=replace(V2.exercise, small=(*V1.exercise.small, {"n": 77})))) == []


def test_what_steps_may_differ_in_is_no_problem(lines):
    later = replace(V2, exercise=replace(V2.exercise, idea="another", points=(1, 2, 3), baseline="a:b"))
    assert said(V1, later) == []


# ----------------------------------------------------------------------------------------------------- told from before


def test_a_predecessor_that_misses_the_technique_is_told_apart(lines):
    assert said(V1, V2) == []


def test_a_predecessor_that_misses_only_an_inherited_technique_is_told_apart_too(lines):
    later = replace(V3, inherited=(OTHER,))
    assert said(V2, later, launches=LAUNCHES | {"v2": counted(0, efficiency=0.25)}) == []


def test_a_predecessor_that_passes_is_a_problem_that_names_both(lines):
    (problem,) = said(V1, V2, V3)
    assert "the solution of v2 passes v3: they differ neither in technique nor in time" in problem


@pytest.mark.parametrize(
    ("before", "of", "passes"),
    [(0.30, "peak", False), (0.90, "peak", True), (0.792, "peak", True), (0.30, "ceiling", True)],
)
def test_time_tells_apart_where_the_earlier_solution_is_slow_on_the_later_line(lines, before, of, passes):
    lines |= {"v2": PassLine(0.1, before, of), "v3": PassLine(0.8, 0.85)}
    assert bool(said(V2, V3)) == passes


def test_a_step_that_was_not_counted_is_not_judged(lines):
    assert compared(V2, V3, {"v2": (), "v3": counted(0)}) is None
    assert said(V2, V3, launches={}) == []


# -------------------------------------------------------------------------------------------------------------- matrix


def test_the_matrix_has_every_earlier_solution_under_every_later_step(lines):
    lines |= {"v1": PassLine(0.1, 0.2), "v3": PassLine(0.8, 0.9)}
    cells = {(cell.solution, cell.step): cell for cell in matrix([V1, V2, replace(V3, inherited=(FAST,))], LAUNCHES)}
    assert set(cells) == {("v1", "v2"), ("v1", "v3"), ("v2", "v3")}
    assert [miss.found for miss in cells["v1", "v3"].missed] == [31]
    assert (cells["v1", "v3"].slow, cells["v1", "v2"].slow, cells["v2", "v3"].slow) == (True, None, None)
    assert [cell.rejected for cell in cells.values()] == [True, True, False]


# ------------------------------------------------------------------------------------- a step that the simulator lacks


CODE = Expect("wgmma_in_code", at_least=1)


def in_code(**counters: float) -> tuple[LaunchRecord, ...]:
    return (LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, counters),)


def test_a_step_for_newer_devices_is_told_by_time_or_by_its_code(lines):
    newest, passes = step("v3", 403, requires="sm_90a"), "the solution of v2 passes v3"
    coded = step("v3", 403, CODE, requires="sm_90a")
    for line, told in ((None, False), (PassLine(0.52, 0.55, separated=False), False), (PassLine(0.8, 0.9), True)):
        lines |= {} if line is None else {"v2": PassLine(0.5, 0.53), "v3": line}
        assert any(passes in problem for problem in said(V1, V2, newest)) != told
        assert said(V1, V2, coded) == []


def test_between_steps_that_only_a_gpu_runs_nothing_but_code_is_compared(lines):
    v2, v3 = (step(name, order, requires="sm_90a") for name, order in (("v2", 402), ("v3", 403)))
    v3 = replace(v3, exercise=replace(v3.exercise, technique=(FAST, CODE)), inherited=(OTHER,))
    missed = compared(v2, v3, {"v2": in_code(tma_loads_in_code=2.0)})
    assert missed is not None
    assert [miss.expect for miss in missed.missed] == [CODE]
    met = compared(v2, v3, {"v2": in_code(wgmma_in_code=4.0)})
    assert met is not None
    assert not met.rejected
    simulated = compared(V2, v3, {"v2": counted(31, efficiency=0.1)})
    assert simulated is not None
    assert [miss.expect for miss in simulated.missed] == [CODE]
