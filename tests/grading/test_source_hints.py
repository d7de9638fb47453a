"""Hints that look at the source and at the launch lines: which condition, which barrier, which line is at fault."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.sim.session import SimBackend
from grader.compile import compile_source
from grader.findings.record import Finding
from grader.grading.causes import uneven_passes
from grader.grading.hints import hint
from grader.grading.hints.rules import Seen
from grader.grading.source_view import SourceView
from grader.launch import Launch, LaunchPlan
from grader.launch.records import Scratch
from grader.verdict import Diagnostic
from tests.telling import all_said

COUNT = 64
PLAN = LaunchPlan((Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(COUNT, 1, 1), shared_bytes=4 * COUNT),))


def first(body: str, plan: LaunchPlan = PLAN, count: int = COUNT) -> Diagnostic:
    """The first finding of a kernel. Its body's first line is line 3, below shared ``part``."""
    head = 'extern "C" __global__ void k(float* src) {\nextern __shared__ float part[]; int t = threadIdx.x;\n'
    source = head + body + "\n}\n"
    scratch = tuple(Buffer(one.name, one.dtype, one.count, "scratch") for one in plan.scratch)
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        execution = session.run(CaseRun(plan, (Buffer("x", "float32", count, "out"), *scratch)))
    return all_said(execution, source, plan)[0]


def quoted(one: Diagnostic) -> list[str]:
    """What the hint quotes of the source."""
    return re.findall(r"`([^`]*)`", one.hint)


# ------------------------------------------------------------------------------------------------------- out of bounds


def test_condition_that_lets_the_index_through_is_quoted() -> None:
    one = first("if (t <= 62)\n    src[t + 1] = 1;", count=COUNT - 1)
    assert one.rule == "bounds.condition_lets_it_through"
    assert quoted(one) == ["t <= 62", "t + 1"]
    one = first("if (t < 64)\n    src[t] = 1;", count=COUNT - 1)
    assert quoted(one) == ["t < 64"]
    assert "src" in one.hint


def test_an_index_of_a_matrix_is_to_be_checked_by_row_and_column() -> None:
    one = first("int r = t / 8, c = t % 8;\nif (r < 8 && c < 7)\n    src[r * 9 + c] = 1;")
    assert quoted(one) == ["r < 8 && c < 7", "r * 9 + c"]
    assert "row" in one.hint


def test_loop_around_the_access_is_asked_about() -> None:
    one = first("for (int s = 1; s <= 64; s *= 2)\n    if (t % s == 0)\n        part[t] = part[t + s];")
    assert quoted(one) == ["t % s == 0"]
    assert "line 3" in one.hint


@pytest.mark.parametrize("body", ["src[t] = 1;", "if (t < 9) part[t] = 1;\nsrc[t] = 1;"])
def test_access_without_a_condition_is_told_the_length(body: str) -> None:
    one = first(body, count=COUNT - 1)
    assert one.rule == "bounds.length_of_the_array"
    assert "src has 63 elements" in one.hint


def test_condition_that_chooses_the_value_is_not_blamed_for_the_place() -> None:
    assert first("src[t] = t < 9 ? 1.0f : 2.0f;", count=9).rule == "bounds.length_of_the_array"


def test_index_of_a_member_is_not_given_as_the_elements() -> None:
    body = "float2* p = (float2*)src;\nif (t < 64)\n    p[t].y = 1;"
    assert quoted(first(body)) == ["t < 64"]


def test_launch_with_more_blocks_than_scratch_has_elements_is_blamed() -> None:
    launch = replace(PLAN.launches[0], args=("ping",), grid=(8, 1, 1), line=5)
    one = first("if (t == 0) src[blockIdx.x] = 1;", LaunchPlan((launch,), (Scratch("ping", "float32", 4),)))
    assert one.rule == "bounds.scratch_for_fewer_blocks"
    assert "line 5" in one.hint


def test_pass_whose_grid_and_by_disagree_is_blamed_and_noted() -> None:
    launch = replace(PLAN.launches[0], grid=(2, 1, 1), line=5, leaves=1)
    plan = LaunchPlan((launch,))
    one = first("if (t == 0) src[blockIdx.x] = 1;", plan, count=1)
    assert one.rule == "bounds.uneven_pass"
    (note,) = uneven_passes(plan)
    assert (note.severity, note.facts) == ("note", {"line": 5, "blocks": 2, "leaves": 1})
    assert uneven_passes(LaunchPlan((replace(launch, leaves=2),))) == ()


# --------------------------------------------------------------------------------------------------------------- races

SUM = "if (t == 0) for (int k = 0; k < 64; ++k) src[0] += part[k];"


def test_return_before_the_barrier_is_named() -> None:
    one = first(f"part[t] = 1;\nif (t >= 32) return;\n__syncthreads();\n{SUM}")
    assert one.rule == "races.return_before_the_barrier"
    assert "return in line 4" in one.hint


def test_barrier_without_brackets_is_named() -> None:
    one = first(f"part[t] = 1;\n__syncthreads;\n{SUM}")
    assert one.rule == "races.barrier_that_is_not_called"
    assert "line 4" in one.hint


def test_barrier_of_one_warp_is_not_one_of_the_block() -> None:
    one = first(f"part[t] = 1;\n__syncwarp();\n{SUM}")
    assert one.rule == "races.barrier_of_one_warp"
    assert "line 4" in one.hint


def test_loop_that_comes_back_without_a_barrier_is_told_so() -> None:
    body = "for (int k = 1; k < 9; ++k) {\n    part[t] = k;\n    __syncthreads();\n    src[t] = part[t ^ 32];\n}"
    one = first(body)
    assert one.rule == "races.barrier_of_one_round"
    assert ("line 5" in one.hint, "line 3" in one.hint) == (True, True)


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
    assert one.rule == "races.barrier_of_one_round"
    assert ("line 8" in one.hint, "line 4" in one.hint) == (True, True)


def test_a_barrier_elsewhere_is_not_blamed_for_what_a_lambda_does() -> None:
    one = first(
        "float sum = 0;\nauto put = [&](float v) {\n    part[t] = v;\n};\nput(1);\n__syncthreads();\n"
        "for (int l = 0; l < 4; ++l) {\n    sum += part[t ^ 33];\n    put(l);\n    __syncthreads();\n}\nsrc[t] = sum;"
    )
    assert one.kind == "race"
    assert one.rule not in ("races.way_around_the_barrier", "races.barrier_of_one_round")


def test_without_any_barrier_one_is_advised() -> None:
    assert first(f"part[t] = 1; // __syncthreads();\n\n{SUM}").rule == "races.barrier_of_the_block"


# ------------------------------------------------------------------------------------------------------- never written


def test_return_before_the_store_is_asked_about() -> None:
    found = Finding("wrong", array="out", index=0, facts={"count": 1, "value": "unwritten"})
    source = "__global__ void k()\n{\n    if (j >= m) return;\n    out[0] = 1;\n}\n"
    says, rule = hint(found, Seen(SourceView(source)))
    assert (rule, "line 3" in says) == ("outputs.return_before_the_store", True)
    assert hint(found, Seen(SourceView(source.replace("return", "// return")))) == ("", "")
    assert hint(found, Seen(SourceView(source), host=True)) == ("", "")


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
    assert one.rule == "races.no_barrier_before_the_next_round"
    assert ("line 6" in one.hint, "line 4" in one.hint) == (True, True)


def test_a_line_in_which_threads_share_one_element_is_no_matter_of_rounds() -> None:
    one = first("for (int s = 0; s < 2; ++s) {\n    part[0] += t;\n}\nsrc[t] = part[0];")
    assert one.kind == "race"
    assert one.rule == "races.one_line_in_shared"


def test_lanes_of_the_last_warp_are_told_that_they_do_not_run_in_step() -> None:
    one = first("part[t] = src[t]; __syncthreads();\nif (t < 32) {\n    part[t] += part[t + 32];\n"
                "    part[t] += part[t + 16];\n}\nif (t == 0) src[0] = part[0];")  # fmt: skip
    assert one.kind == "race"
    assert one.rule == "races.step_of_one_warp"
