"""Exercises that the simulator is too old for: their files are compiled, assembled and laid out, and nothing is run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.catalog.courses import CourseExercise
from grader.dev import check
from grader.dev.assembling import assembly_problems, limits_of
from grader.dev.laboratory import Laboratory, request
from grader.dev.wrong import wrong_answers
from grader.grading.grade import grade


@pytest.fixture
def hopper(scale: CourseExercise) -> CourseExercise:
    """The exercise, as if only compute capability 9.0 could run it."""
    return replace(scale, exercise=replace(scale.exercise, requires="sm_90a"))


def said(one: CourseExercise) -> list[str]:
    answers, problems = wrong_answers(one)
    return [str(problem) for problem in (*problems, *assembly_problems(one, answers))]


def spoil(one: CourseExercise, old: str, new: str) -> None:
    assert one.solution is not None
    text = one.solution.read_text()
    assert old in text
    one.solution.write_text(text.replace(old, new, 1))


def test_files_that_only_a_gpu_runs_compile_and_assemble(hopper):
    assert said(hopper) == []


def test_the_check_says_that_nothing_ran(hopper):
    with Laboratory(workers=1) as laboratory:
        report = check.check_exercise(hopper, laboratory)
    assert report.problems == ()
    assert report.summary == "sim: SKIPPED, it needs sm_90a; all files compiled and assembled"
    assert report.solution is None  # so that no ladder counts it


def test_what_ptxas_refuses_is_a_problem(hopper):
    spoil(hopper, "{\n", '{\n    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");\n')
    (found,) = said(hopper)
    assert "for sm_90a: compile_error" in found


def test_a_launch_that_no_such_gpu_could_make_is_a_problem(hopper):
    spoil(hopper, "block=", "shared=228*1024 block=")
    (found,) = said(hopper)
    assert "a block of the GPU of capability 9.0 has 232448" in found


def test_spilled_registers_are_a_problem(hopper):
    extra = """
extern "C" __global__ void __launch_bounds__(1024, 1) more(volatile int* x)
{
    int v[96];
    for (int i = 0; i < 96; ++i)
        v[i] = x[i];
    __syncthreads();
    for (int i = 0; i < 96; ++i)
        x[95 - i] = v[i];
}
"""
    hopper.solution.write_text(hopper.solution.read_text() + extra)
    (found,) = said(hopper)
    assert "bytes of registers are spilled" in found


def test_too_few_wrong_answers_are_a_problem(hopper):
    for path in (hopper.folder / "wrong").iterdir():
        path.write_text(path.read_text().replace("// expect: ", "// expect: slow\n// was ", 1))
    assert any("0 wrong answers fail on a GPU; it must be 2 or more" in one for one in said(hopper))


def test_a_submission_is_unsupported_without_such_a_gpu_and_that_is_nobodys_fault(hopper):
    verdict = grade(request(hopper, hopper.solution, "sim"))
    assert (verdict.verdict, verdict.exit_code) == ("unsupported", 4)
    found = verdict.diagnostics[0]
    assert "needs sm_90a, newer than the simulated sm_80" in found.message
    assert "a GPU of compute capability 9.0 (no older one, and no newer one)" in found.hint
    assert verdict.stage("compiles").status == "passed"


def test_what_does_not_compile_is_a_compile_error_even_there(hopper):
    spoil(hopper, "{\n", "{\n    nothing;\n")
    assert grade(request(hopper, hopper.solution, "sim")).verdict == "compile_error"


def test_limits_are_the_generations():
    assert [limits_of(name).max_shared_bytes >> 10 for name in ("sm_90a", "sm_100", "sm_120")] == [227, 227, 99]
