"""Hints that look at the source and at the launch lines: which condition, which barrier, which line is at fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.sim.session import SimBackend
from grader.compile import compile_source
from grader.grading.clearer import clearer, uneven_passes
from grader.launch import Launch, LaunchPlan
from grader.launch.records import Scratch
from grader.verdict import Diagnostic

COUNT = 64
PLAN = LaunchPlan((Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(COUNT, 1, 1), shared_bytes=4 * COUNT),))


def first(body: str, plan: LaunchPlan = PLAN, count: int = COUNT) -> Diagnostic:
    """The first finding of a kernel, made clearer. Its body's first line is line 3, below shared ``part``."""
    head = 'extern "C" __global__ void k(float* src) {\nextern __shared__ float part[]; int t = threadIdx.x;\n'
    source = head + body + "\n}\n"
    scratch = tuple(Buffer(one.name, one.dtype, one.count, "scratch") for one in plan.scratch)
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        execution = session.run(CaseRun(plan, (Buffer("x", "float32", count, "out"), *scratch)))
    return clearer(execution.diagnostics[0], source, plan)


# ------------------------------------------------------------------------------------------------------- out of bounds


def test_condition_that_lets_the_index_through_is_quoted() -> None:
    one = first("if (t <= 62)\n    src[t + 1] = 1;", count=COUNT - 1)
    assert one.hint.startswith("the condition `t <= 62` looks at something else than the index `t + 1`, which is 63")
    one = first("if (t < 64)\n    src[t] = 1;", count=COUNT - 1)
    through = "the condition `t < 64` lets thread 63 through to index 63 of src"
    assert one.hint == f"{through}: which threads should it let through?"


def test_an_index_of_a_matrix_is_to_be_checked_by_row_and_column() -> None:
    one = first("int r = t / 8, c = t % 8;\nif (r < 8 && c < 7)\n    src[r * 9 + c] = 1;")
    assert one.hint == (
        "the condition `r < 8 && c < 7` looks at something else than the index `r * 9 + c`, which is 64 for thread 57: "
        "its row and its column must be inside, each by itself"
    )


def test_loop_around_the_access_is_asked_about() -> None:
    one = first("for (int s = 1; s <= 64; s *= 2)\n    if (t % s == 0)\n        part[t] = part[t + s];")
    assert "the condition `t % s == 0` lets thread 0 through to index 64 of part" in one.hint
    assert one.hint.endswith("Or does the loop in line 3 go on for too long?")


@pytest.mark.parametrize("body", ["src[t] = 1;", "if (t < 9) part[t] = 1;\nsrc[t] = 1;"])
def test_access_without_a_condition_is_told_the_length(body: str) -> None:
    one = first(body, count=COUNT - 1)
    assert one.hint == "compare the index with the array's length before the access: here src has 63 elements, 0 to 62"


def test_condition_that_chooses_the_value_is_not_blamed_for_the_place() -> None:
    assert "condition" not in first("src[t] = t < 9 ? 1.0f : 2.0f;", count=9).hint


def test_index_of_a_member_is_not_given_as_the_elements() -> None:
    body = "float2* p = (float2*)src;\nif (t < 64)\n    p[t].y = 1;"
    assert "looks at something else" not in first(body).hint


def test_launch_with_more_blocks_than_scratch_has_elements_is_blamed() -> None:
    launch = replace(PLAN.launches[0], args=("ping",), grid=(8, 1, 1), line=5)
    one = first("if (t == 0) src[blockIdx.x] = 1;", LaunchPlan((launch,), (Scratch("ping", "float32", 4),)))
    assert one.hint == (
        "the launch in line 5 starts 8 blocks, but scratch ping has 4 elements: "
        "make the `// scratch` array larger, or the grid smaller"
    )


def test_pass_whose_grid_and_by_disagree_is_blamed_and_noted() -> None:
    launch = replace(PLAN.launches[0], grid=(2, 1, 1), line=5, leaves=1)
    plan = LaunchPlan((launch,))
    one = first("if (t == 0) src[blockIdx.x] = 1;", plan, count=1)
    assert one.hint.startswith("grid= and `by` in line 5 disagree: a pass starts 2 blocks, but `by` leaves 1")
    assert uneven_passes((one,), plan) == ()
    assert uneven_passes((), plan)[0].severity == "note"
    assert uneven_passes((), LaunchPlan((replace(launch, leaves=2),))) == ()


# --------------------------------------------------------------------------------------------------------------- races

SUM = "if (t == 0) for (int k = 0; k < 64; ++k) src[0] += part[k];"


def test_return_before_the_barrier_is_named() -> None:
    one = first(f"part[t] = 1;\nif (t >= 32) return;\n__syncthreads();\n{SUM}")
    assert one.hint.startswith("the __syncthreads() in line 5 does not order these two: threads that return in line 4")


def test_barrier_without_brackets_is_named() -> None:
    assert "line 4 says `__syncthreads` without ()" in first(f"part[t] = 1;\n__syncthreads;\n{SUM}").hint


def test_barrier_of_one_warp_is_not_one_of_the_block() -> None:
    one = first(f"part[t] = 1;\n__syncwarp();\n{SUM}")
    assert one.hint.startswith("the __syncwarp() in line 4 orders the lanes of one warp only")


def test_loop_that_comes_back_without_a_barrier_is_told_so() -> None:
    body = "for (int k = 1; k < 9; ++k) {\n    part[t] = k;\n    __syncthreads();\n    src[t] = part[t ^ 32];\n}"
    assert first(body).hint == (
        "the __syncthreads() in line 5 orders one round of the loop in line 3, but not the next round after it: "
        "end the loop's body with a __syncthreads() too"
    )


TILED = """for (int l0 = 0; l0 < 256; l0 += 64) {
#pragma unroll
    for (int e = t; e < 64; e += 64)
        part[e] = l0 + e;
    __syncthreads();
#pragma unroll
    for (int l = 0; l < 64; ++l)
        sum += part[l];
}
src[t] = sum;"""


def test_the_loop_that_comes_back_is_the_one_that_both_lines_are_in() -> None:
    one = first("float sum = 0;\n" + TILED)
    assert one.hint == (
        "the __syncthreads() in line 8 orders one round of the loop in line 4, but not the next round after it: "
        "end the loop's body with a __syncthreads() too"
    )


def test_a_barrier_elsewhere_is_not_blamed_for_what_a_lambda_does() -> None:
    one = first(
        "float sum = 0;\nauto put = [&](float v) {\n    part[t] = v;\n};\nput(1);\n__syncthreads();\n"
        "for (int l = 0; l < 4; ++l) {\n    sum += part[t ^ 33];\n    put(l);\n    __syncthreads();\n}\nsrc[t] = sum;"
    )
    assert one.kind == "race"
    assert "way around" not in one.hint
    assert "one round" not in one.hint


def test_without_any_barrier_one_is_advised() -> None:
    assert first(f"part[t] = 1; // __syncthreads();\n\n{SUM}").hint == "put a __syncthreads() between the two accesses"


# ------------------------------------------------------------------------------------------------------- never written


def test_return_before_the_store_is_asked_about() -> None:
    said = Diagnostic("wrong", "out[0] at n=1: it was never written; expected 1.0", array="out", index=0)
    source = "void k()\n{\n    if (j >= m) return;\n    out[0] = 1;\n}\n"
    assert (
        clearer(said, source, PLAN).hint == "does the thread that should write out[0] return before it does, in line 3?"
    )
    assert clearer(said, source.replace("return", "// return"), PLAN) == said


# ----------------------------------------------------------------------------------------------------- rounds of a loop

TREE = """part[t] = src[t]; __syncthreads();
for (int s = 32; s > 0; s /= 2) {
    if (t < s)
        part[t] += part[t + s];
%s}
if (t == 0) src[0] = part[0];"""


def test_a_line_that_runs_again_without_a_barrier_is_told_so() -> None:
    one = first(TREE % "")
    assert one.kind == "race"
    assert one.hint.startswith("line 6 runs again in the next round of the loop in line 4")
    assert one.hint.endswith("end the loop's body with __syncthreads()")


def test_a_line_in_which_threads_share_one_element_is_no_matter_of_rounds() -> None:
    one = first("for (int s = 0; s < 2; ++s) {\n    part[0] += t;\n}\nsrc[t] = part[0];")
    assert one.kind == "race"
    assert "runs again in the next round" not in one.hint


def test_lanes_of_the_last_warp_are_told_that_they_do_not_run_in_step() -> None:
    one = first("part[t] = src[t]; __syncthreads();\nif (t < 32) {\n    part[t] += part[t + 32];\n"
                "    part[t] += part[t + 16];\n}\nif (t == 0) src[0] = part[0];")  # fmt: skip
    assert one.kind == "race"
    assert one.hint.startswith("both threads are lanes of one warp")
    assert "__syncwarp()" in one.hint
    assert "__syncthreads" not in one.hint
