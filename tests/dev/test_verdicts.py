from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from samples import COUNTED, ON_AN_UNKNOWN_GPU, WASTEFUL, verdict

from grader.dev.expectations import Expectation
from grader.dev.verdicts import Graded, verdict_problems
from grader.verdict import Diagnostic

STRIDED, COPY = Path("wrong/strided.cu"), Path("wrong/copy.cu")
EXPECTED = {
    STRIDED: Expectation({"sim": "technique", "gpu": "slow"}, "Strided."),
    COPY: Expectation({"sim": "wrong"}, "-"),
}
GOOD = Graded(
    "sim",
    stub=verdict("wrong"),
    solution=verdict("pass", launch=COUNTED),
    mutants={STRIDED: verdict("technique", launch=WASTEFUL), COPY: verdict("wrong")},
)


def problems(one, graded: Graded) -> list[str]:
    return [str(problem) for problem in verdict_problems(one, graded, EXPECTED)]


def test_nothing_is_wrong_where_everything_is_as_stated(scale):
    assert problems(scale, GOOD) == []


def test_a_stub_that_passes_is_a_problem(scale):
    (found,) = problems(scale, replace(GOOD, stub=verdict("pass")))
    assert found == "scale.cu: the untouched stub must not pass: pass"


def test_a_stub_that_does_not_compile_is_a_problem(scale):
    (found,) = problems(scale, replace(GOOD, stub=verdict("compile_error", compiles=False)))
    assert found == "scale.cu: the stub does not compile: compile_error: what is compile_error (line 7)"


def test_a_solution_that_does_not_pass_is_a_problem(scale):
    (found,) = problems(scale, replace(GOOD, solution=verdict("race")))
    assert found == "solution scale.cu: the solution does not pass: race: what is race (line 7)"


def test_a_warning_about_the_solution_is_a_problem(scale):
    warned = replace(verdict("pass"), diagnostics=(Diagnostic("same_value_write", "twice", severity="warning"),))
    assert problems(scale, replace(GOOD, solution=warned)) == ["solution scale.cu: warning: twice"]


def test_what_the_compiler_says_about_the_solution_is_a_problem(scale):
    noted = replace(verdict("pass"), notes=("the compiler says: unused",))
    assert problems(scale, replace(GOOD, solution=noted)) == ["solution scale.cu: the compiler says: unused"]


def test_a_wrong_answer_with_another_verdict_is_a_problem(scale):
    (found,) = problems(scale, replace(GOOD, mutants={**GOOD.mutants, COPY: verdict("race")}))
    assert found == "wrong/copy.cu: expected wrong on sim, got race: what is race (line 7)"


def test_one_rejected_answer_is_not_enough(scale):
    found = problems(scale, replace(GOOD, mutants={STRIDED: GOOD.mutants[STRIDED]}))
    assert found == ["wrong/: the simulator rejects 1 wrong answers; it must be 2 or more"]


def test_an_expectation_that_no_wrong_answer_misses_is_a_problem(scale):
    found = problems(scale, replace(GOOD, mutants={**GOOD.mutants, STRIDED: verdict("technique", launch=COUNTED)}))
    assert found == ["wrong/: no wrong answer misses what is expected of sector_efficiency: add one that does"]


def test_what_no_simulator_runs_needs_to_compile_and_no_more_without_a_gpu(scale):
    newer = replace(scale, exercise=replace(scale.exercise, requires="sm_90a"))
    here = Graded("sim", verdict("unsupported"), verdict("unsupported"))
    assert problems(newer, here) == []
    assert problems(newer, replace(here, solution=verdict("compile_error", compiles=False))) != []


def test_a_pass_line_that_was_set_on_another_gpu_binds_nobody(scale):
    slow = replace(verdict("slow"), measured=ON_AN_UNKNOWN_GPU, diagnostics=())
    quick = replace(verdict("pass"), measured=ON_AN_UNKNOWN_GPU)
    assert problems(scale, Graded("gpu", verdict("wrong"), slow, {STRIDED: quick})) == []
    sure = replace(ON_AN_UNKNOWN_GPU, provisional=False)
    graded = Graded("gpu", verdict("wrong"), replace(slow, measured=sure), {STRIDED: replace(quick, measured=sure)})
    assert len(problems(scale, graded)) == 2
