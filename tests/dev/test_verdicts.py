"""Exercises that the simulator is too old for: their files are compiled, assembled and laid out, and nothing is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from samples import COUNTED, ON_AN_UNKNOWN_GPU, WASTEFUL, verdict

from grader.catalog.courses import CourseExercise
from grader.dev import check
from grader.dev.grading import CourseGrader, request
from grader.dev.verdicts import GradedSubmission, assembly_problems, claim_problems, limits_of, verdict_problems
from grader.dev.wrong import wrong_answers
from grader.exercise import Expect
from grader.grading.grade import grade
from grader.verdict import Diagnostic

STRIDED, COPY = Path("wrong/strided.cu"), Path("wrong/copy.cu")
GOOD = GradedSubmission(
    "sim",
    stub=verdict("wrong"),
    solution=verdict("pass", launch=COUNTED),
    mutants={STRIDED: ("technique", verdict("technique", launch=WASTEFUL)), COPY: ("wrong", verdict("wrong"))},
)


def problems(one, graded: GradedSubmission) -> list[str]:
    return [str(problem) for problem in verdict_problems(one, graded)]


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
    (found,) = problems(scale, replace(GOOD, mutants={**GOOD.mutants, COPY: ("wrong", verdict("race"))}))
    assert found == "wrong/copy.cu: expected wrong on sim, got race: what is race (line 7)"


def test_one_rejected_answer_is_not_enough(scale):
    found = problems(scale, replace(GOOD, mutants={STRIDED: GOOD.mutants[STRIDED]}))
    assert found == ["wrong/: the simulator rejects 1 wrong answers; it must reject 2 or more"]


def test_an_expectation_that_no_wrong_answer_misses_is_a_problem(scale):
    found = problems(
        scale, replace(GOOD, mutants={**GOOD.mutants, STRIDED: ("technique", verdict("technique", launch=COUNTED))})
    )
    assert found == ["wrong/: no wrong answer misses the expectation on sector_efficiency: add one that does"]


def test_a_pass_line_that_was_set_on_another_gpu_binds_nobody(scale):
    slow = replace(verdict("slow"), measured=ON_AN_UNKNOWN_GPU, diagnostics=())
    quick = replace(verdict("pass"), measured=ON_AN_UNKNOWN_GPU)
    assert problems(scale, GradedSubmission("gpu", verdict("wrong"), slow, {STRIDED: ("slow", quick)})) == []
    sure = replace(ON_AN_UNKNOWN_GPU, provisional=False)
    graded = GradedSubmission(
        "gpu", verdict("wrong"), replace(slow, measured=sure), {STRIDED: ("slow", replace(quick, measured=sure))}
    )
    assert len(problems(scale, graded)) == 2


VERDICTS = {
    "stub": verdict("wrong"),
    "solution": verdict("pass", launch=COUNTED),
    "wrong/strided.cu": verdict("technique", launch=WASTEFUL),
}


def claims_problems(one, *claims: str) -> list[str]:
    one.statement.write_text("# scale\n\n" + "\n".join(f"Text. <!-- {claim} -->" for claim in claims))
    return [str(problem) for problem in claim_problems(one, VERDICTS)]


@pytest.mark.parametrize(
    "claim",
    ["claim: solution sectors = 1024", "claim: solution sectors per n = 1/4", "claim: solution launches = 1",
     "claim: wrong/strided.cu sectors per cdiv(n, 32) >= 64", "claim: wrong/strided.cu sector_efficiency <= 0.125",
     "claim: solution sectors per\n  n = 0.25", "nothing is claimed"],
)  # fmt: skip
def test_a_claim_that_holds_is_no_problem(scale, claim):
    assert claims_problems(scale, claim) == []


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("claim: solution sectors = 1000", "it is 1024"),
        ("claim: solution sectors per n >= 0.26", "it is 0.25"),
        ("claim: wrong/strided.cu sector_efficiency <= 0.12", "it is 0.125"),
        ("claim: wrong/copy.cu sectors = 1", "there is no wrong/copy.cu"),
        ("claim: stub sectors = 1", "it is wrong, so nothing was counted"),
        ("claim: solution sectors per m = 1", "m"),
        ("claim: solution electrons = 1", "electrons"),
        ("claim: solution sectors = many", "'many' is neither a number"),
        ("claim: solution is good", "not a valid claim"),
    ],
)
def test_a_claim_that_does_not_hold_is_a_problem_that_says_what_is_so(scale, claim, words):
    (found,) = claims_problems(scale, claim)
    assert found.startswith("README.md: ")
    assert words in found


def test_every_claim_is_looked_at(scale):
    assert len(claims_problems(scale, "claim: solution sectors = 1", "claim: solution sectors = 1024", "claim: x")) == 2


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
    with CourseGrader(workers=1) as grader:
        report = check.start_check(hopper, grader)()
    assert report.problems == ()
    assert report.summary == "sim: SKIPPED, it needs sm_90a; all files compiled and assembled"
    assert [(launch.kernel, launch.counters) for launch in report.launches] == [("scale", {})]


UNLAUNCHED = """
extern "C" __global__ void unused(float* x, int n)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    x[n] = 1;
}
"""


def asking_for_registers(one: CourseExercise) -> CourseExercise:
    """The exercise, whose technique asks for an instruction that its solution has, and its wrong answers lack."""
    spoil(one, "{\n", '{\n    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");\n')
    expect = Expect("setmaxnreg_in_code", at_least=1, why="No registers move.")
    return replace(one, exercise=replace(one.exercise, technique=(expect,)))


def test_the_technique_in_the_code_is_checked_without_a_gpu(hopper):
    found = said(asking_for_registers(hopper))
    assert found == ["wrong/: no wrong answer misses the expectation on setmaxnreg_in_code: add one that does"]


def test_a_solution_without_the_technique_in_its_code_is_a_problem(hopper):
    text = hopper.solution.read_text()
    asks = asking_for_registers(hopper)
    asks.solution.write_text(text + UNLAUNCHED)  # a kernel that no launch line names does not count
    assert "solution scale.cu: it misses the technique: setmaxnreg_in_code is 0" in said(asks)


@pytest.mark.parametrize("has", [False, True])
def test_a_wrong_answer_without_the_technique_has_to_miss_it_in_its_code(hopper, has):
    text, asks = hopper.solution.read_text(), asking_for_registers(hopper)
    wrong = asks.solution.read_text() if has else text
    (asks.folder / "wrong" / "lacking.cu").write_text(f"// expect: gpu=technique\n// It keeps its registers.\n{wrong}")
    problems = said(asks)
    assert any("wrong/lacking.cu: expected technique on gpu" in problem for problem in problems) == has
    assert any("no wrong answer misses the expectation" in problem for problem in problems) == has


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
    assert any("0 wrong answers fail on a GPU; 2 or more must fail" in one for one in said(hopper))


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
