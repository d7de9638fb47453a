"""Hints that look at the source and at the launch lines: which condition, which barrier, which line is at fault."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.sim.session import SimBackend
from grader.compile import compile_source
from grader.findings.record import Finding
from grader.grading.causes import uneven_passes
from grader.grading.hints import hint, in_words
from grader.grading.hints.rules import Seen, stray
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
    assert one.rule == "bounds.length_of_a_row"
    assert quoted(one) == ["r * 9 + c", "9", "c", "7", "c"]


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("r < 8 || c < 8", "all_must_be_inside"),
        ("r < 8 || c < 8 && t > 0", "condition_lets_it_through"),
        ("c < 2 || c > 2", "condition_lets_it_through"),
        ("t == 0 || c < 8", "condition_lets_it_through"),
    ],
)
def test_a_condition_that_joins_row_and_column_by_or_is_named(condition: str, rule: str) -> None:
    one = first(f"int r = t / 4, c = t % 4;\nif ({condition})\n    src[r * 8 + c] = 1;")
    assert one.rule == f"bounds.{rule}"


LOOP = "for (int k = 0; k < 4; ++k)\n    if (t < 60) {\n        "


@pytest.mark.parametrize(
    ("stores", "quotes"),
    [
        ("int i = t + 1;\nif (i < 60) {\n    src[i] = 1; src[4 * i] = 2;\n}", ["i < 60", "4 * i"]),
        ("int i = 2 * t;\nif (t < 60) {\n    src[t] = 1; src[i + 1] = 2;\n}", ["t < 60", "i + 1"]),
        (
            "for (int k = 0; k < 4; ++k)\n    if (t < 60) {\n    src[t] = 1; src[t + k * 16] = 2;\n}",
            ["t < 60", "t + k * 16"],
        ),
        (LOOP + "src[t + k] = 1; src[t + k * 16] = 2;\n}", ["t < 60"]),
    ],
)
def test_of_several_indices_that_is_named_which_leads_there(stores: str, quotes: list[str]) -> None:
    one = first(stores)
    assert (one.kind, one.rule) == ("out_of_bounds", "bounds.condition_lets_it_through")
    assert quoted(one) == quotes


def test_variables_that_lead_to_each_other_many_times_end() -> None:
    chain = "".join(f"int v{n} = v{n + 1} + v{n + 2} * v{n + 3} + v{n + 4};\n" for n in reversed(range(200)))
    source = f'extern "C" __global__ void k(float* src) {{\n{chain}if (v0 < 9) {{ src[v0] = src[v1 + v2]; }}\n}}\n'
    found = Finding("out_of_bounds", "beyond_end", line=202, index=99, array="x", names=("src",), kernel="k",
                    thread=(5, 0, 0), block=(0, 0, 0), facts={"array_bytes": 16, "element_bytes": 4})  # fmt: skip
    assert hint(found, Seen(SourceView(source), PLAN))[1] == "bounds.condition_lets_it_through"


def test_an_index_before_the_array_is_quoted() -> None:
    assert quoted(first("src[t - 1] = 1;")) == ["t - 1"]


def test_loop_around_the_access_is_asked_about() -> None:
    one = first("for (int s = 1; s <= 64; s *= 2)\n    if (t % s == 0)\n        part[t] = part[t + s];")
    assert "line 3" in one.hint
    assert "condition" not in one.hint


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
    assert one.rule == "extents.scratch_for_fewer_blocks"
    assert "line 5" in one.hint


def test_pass_whose_grid_and_by_disagree_is_blamed_and_noted() -> None:
    launch = replace(PLAN.launches[0], grid=(2, 1, 1), line=5, leaves=1)
    plan = LaunchPlan((launch,))
    one = first("if (t == 0) src[blockIdx.x] = 1;", plan, count=1)
    assert one.rule == "extents.uneven_pass"
    (note,) = uneven_passes(plan)
    assert (note.severity, note.facts) == ("note", {"line": 5, "blocks": 2, "leaves": 1})
    assert uneven_passes(LaunchPlan((replace(launch, leaves=2),))) == ()


# --------------------------------------------------------------------------------------------------------------- races

SUM = "if (t == 0) for (int k = 0; k < 64; ++k) src[0] += part[k];"


def test_return_before_the_barrier_is_named() -> None:
    one = first(f"part[t] = 1;\nif (t >= 32) return;\n__syncthreads();\n{SUM}")
    assert one.rule == "barriers.return_before_the_barrier"
    assert "return in line 4" in one.hint


def test_barrier_without_brackets_is_named() -> None:
    one = first(f"part[t] = 1;\n__syncthreads;\n{SUM}")
    assert one.rule == "barriers.barrier_that_is_not_called"
    assert "line 4" in one.hint


def test_barrier_of_one_warp_is_not_one_of_the_block() -> None:
    one = first(f"part[t] = 1;\n__syncwarp();\n{SUM}")
    assert one.rule == "barriers.barrier_of_one_warp"
    assert "line 4" in one.hint


def test_loop_that_comes_back_without_a_barrier_is_told_so() -> None:
    body = "for (int k = 1; k < 9; ++k) {\n    part[t] = k;\n    __syncthreads();\n    src[t] = part[t ^ 32];\n}"
    one = first(body)
    assert one.rule == "barriers.barrier_of_one_round"
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
    assert one.rule == "barriers.barrier_of_one_round"
    assert ("line 8" in one.hint, "line 4" in one.hint) == (True, True)


@pytest.mark.parametrize("inline", ["__forceinline__", "__noinline__"])
def test_accesses_in_two_calls_of_a_function_are_told_by_their_calls(inline: str) -> None:
    one = of_function(inline, "src[t] = f(part, t);\nsrc[t] += f(part, t + 1);")
    assert one.rule == "barriers.barrier_of_one_call"
    assert {int(line) for line in re.findall(r"the call in line (\d+)", one.hint)} == {8, 9}
    assert "the __syncthreads() in line 3 orders the accesses of one call of f() only" in one.hint


def test_a_call_in_a_loop_is_told_that_the_next_one_follows() -> None:
    one = of_function("__noinline__", "for (int k = 0; k < 3; ++k)\n    src[t] += f(part, t + k);")
    assert one.rule == "barriers.barrier_of_one_call"
    assert "the one in line 9 is in the loop in line 8" in one.hint


def of_function(inline: str, body: str) -> Diagnostic:
    """The first race of a kernel that calls a function, whose barrier is in line 3; the body begins in line 8."""
    source = (
        f"{inline} __device__ float f(float* of_warps, float v) {{\n"
        "    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = v;\n__syncthreads();\n"
        "    return of_warps[threadIdx.x % 2];\n}\n"
        'extern "C" __global__ void k(float* src) {\n'
        f"extern __shared__ float part[]; int t = threadIdx.x;\n{body}\n}}\n"
    )
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        execution = session.run(CaseRun(PLAN, (Buffer("x", "float32", COUNT, "out"),)))
    return next(one for one in all_said(execution, source, PLAN) if one.kind == "race")


def test_a_barrier_elsewhere_is_not_blamed_for_what_a_lambda_does() -> None:
    one = first(
        "float sum = 0;\nauto put = [&](float v) {\n    part[t] = v;\n};\nput(1);\n__syncthreads();\n"
        "for (int l = 0; l < 4; ++l) {\n    sum += part[t ^ 33];\n    put(l);\n    __syncthreads();\n}\nsrc[t] = sum;"
    )
    assert one.kind == "race"
    assert one.rule not in ("barriers.way_around_the_barrier", "barriers.barrier_of_one_round")


def test_without_any_barrier_one_is_advised() -> None:
    assert first(f"part[t] = 1; // __syncthreads();\n\n{SUM}").rule == "races.barrier_of_the_block"


# ------------------------------------------------------------------------------------------------------- never written


def test_return_before_the_store_is_asked_about() -> None:
    found = Finding("wrong", array="out", index=0, names=("out",), facts={"count": 1, "value": "unwritten"})
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
    assert one.rule == "barriers.no_barrier_before_the_next_round"
    assert ("line 6" in one.hint, "line 4" in one.hint) == (True, True)


def test_a_line_in_which_threads_share_one_element_is_no_matter_of_rounds() -> None:
    one = first("for (int s = 0; s < 2; ++s) {\n    part[0] += t;\n}\nsrc[t] = part[0];")
    assert one.kind == "race"
    assert one.rule == "races.one_line_in_shared"


def test_lanes_of_the_last_warp_are_told_that_they_do_not_run_in_step() -> None:
    one = first("part[t] = src[t]; __syncthreads();\nif (t < 32) {\n    part[t] += part[t + 32];\n"
                "    part[t] += part[t + 16];\n}\nif (t == 0) src[0] = part[0];")  # fmt: skip
    assert one.kind == "race"
    assert one.rule == "barriers.step_of_one_warp"


@pytest.mark.parametrize(
    ("steps", "begin"),
    [
        ("p[t] += p[t + 32]; p[t] += p[t + 16];", "both threads"),
        ("p[t] += p[t + 32]; __syncwarp();\n    p[t] += p[t + 16]; __syncwarp();", "within one step"),
        ("for (int s = 32; s > 0; s /= 2) {\n    p[t] += p[t + s];\n    __syncwarp();\n}", "within one step"),
    ],
)
def test_steps_of_a_warp_through_a_volatile_pointer_are_told_of_lanes(steps: str, begin: str) -> None:
    one = first(f"part[t] = src[t]; __syncthreads();\nif (t < 32) {{\n    volatile float* p = part;\n    {steps}\n}}\n"
                "if (t == 0) src[0] = part[0];")  # fmt: skip
    assert (one.kind, one.rule) == ("race", "barriers.step_of_one_warp")
    assert one.hint.startswith(begin)
    assert "__syncwarp()" in one.hint


def test_a_barrier_of_a_warp_for_one_iteration_does_not_order_the_next() -> None:
    one = first("float sum = src[t];\nif (t < 32) {\n    for (int s = 16; s > 0; s /= 2) {\n        part[t] = sum;\n"
                "        __syncwarp();\n        sum += part[t ^ s];\n    }\n}\nsrc[t] = sum;")  # fmt: skip
    assert (one.kind, one.rule) == ("race", "barriers.steps_of_one_warp")
    assert ("line 7" in one.hint, "line 5" in one.hint, "next iteration" in one.hint) == (True, True, True)


@pytest.mark.parametrize(
    ("store", "says"),
    [
        ("src[t / 2] = t;", "work out the index for both threads"),
        ("if (t < 60) src[t / 2] = t;", "look at the condition"),
    ],
)
def test_a_condition_is_asked_about_where_there_is_one(store: str, says: str) -> None:
    one = first(store)
    assert (one.kind, one.rule) == ("race", "overlaps.same_index_twice")
    assert one.hint.endswith(says) or f"{says}:" in one.hint


def test_threads_of_rows_are_told_how_rows_are_counted() -> None:
    plan = LaunchPlan((Launch("k", ("x",), (1, 1, 1), (8, 2, 1), shared_bytes=256),))
    one = first("int i = threadIdx.y * 4 + t;\nif (i < 64) src[i] = t + 100 * threadIdx.y;", plan)
    assert (one.kind, one.rule) == ("race", "overlaps.same_index_twice")
    assert "y by the length of a row" in one.hint


@pytest.mark.parametrize(
    ("begins", "rule"),
    [
        ("part + 32 * sizeof(float)", "extents.bytes_added_to_a_pointer"),
        ("part + sizeof(part[0]) * 32", "extents.bytes_added_to_a_pointer"),
        ("part + 128", "bounds.pointer_into_the_array"),
        ("(float*)((char*)part + 128 * sizeof(float))", "bounds.pointer_into_the_array"),
    ],
)
def test_bytes_that_are_added_to_a_pointer_are_named(begins: str, rule: str) -> None:
    plan = LaunchPlan((Launch("k", ("x",), (1, 1, 1), (32, 1, 1), shared_bytes=256),))
    one = first(f"float* high = {begins};\nhigh[t] = 1;", plan)
    assert (one.kind, one.rule) == ("out_of_bounds", rule)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("if (t < 9)\n    part[t] = 1; src[t + 9] = 1;", "statement_that_is_not_in_the_if"),
        ("if (t < 9)\n    part[t] = 1;\n    src[t + 9] = 1;", "statement_that_is_not_in_the_if"),
        ("if (t < 9) part[t] = 1; src[t + 9] = 1;", "length_of_the_array"),
        ("if (t < 9)\n    part[t] = 1;\nsrc[t + 9] = 1;", "length_of_the_array"),
        ("if (t < 9) {\n    part[t] = 1;\n} src[t + 9] = 1;", "length_of_the_array"),
        ("if (t < 9)\n    part[t] = 1;\nelse\n    part[t] = 2;\n    src[t + 9] = 1;", "length_of_the_array"),
    ],
)
def test_a_statement_that_only_looks_as_if_it_were_in_the_if_is_named(body: str, rule: str) -> None:
    one = first(body)
    assert (one.kind, one.rule.partition(".")[2]) == ("out_of_bounds", rule)


@pytest.mark.parametrize(
    ("condition", "speaks"), [("threadIdx.x < 40", True), ("int(threadIdx.x) < n", True), ("n > 0", False)]
)
def test_a_function_with_a_barrier_is_for_all_threads(condition: str, speaks: bool) -> None:
    source = (
        "__device__ float sum(float v, float* part) {\n    part[threadIdx.x] = v;\n    __syncthreads();\n"
        "    return part[threadIdx.x ^ 63];\n}\n"
        'extern "C" __global__ void k(float* src) {\n    extern __shared__ float part[];\n    int n = 40;\n'
        f"    if ({condition})\n        src[threadIdx.x] = sum(1, part);\n}}\n"
    )
    found = Finding("uninitialised_read", line=4, space="shared", array="part", kernel="k", index=9)
    rule = hint(found, Seen(SourceView(source), PLAN))[1]
    assert (rule == "unwritten.call_by_some_threads") is speaks


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        ("if (t >= s) part[t] += part[t - s];", "barriers.read_and_write_of_one_step"),
        ("part[t] = part[t] + part[(t + s) % 64];", "barriers.read_and_write_of_one_step"),
        ("part[0] += part[0] + t;", "races.one_line_in_shared"),
        ("part[t / 2] += 1;", "races.one_line_in_shared"),
    ],
)
def test_an_atomic_is_not_advised_where_a_step_reads_another_element_than_it_writes(step: str, rule: str) -> None:
    one = first(f"part[t] = src[t]; __syncthreads();\nfor (int s = 1; s < 64; s *= 2) {{\n    {step}\n"
                "    __syncthreads();\n}\nsrc[t] = part[t];")  # fmt: skip
    assert (one.kind, one.rule) == ("race", rule)


# ------------------------------------------------------------------------------------ which index and which condition

GRID = LaunchPlan((Launch(kernel="k", args=("x",), grid=(2, 1, 1), block=(COUNT, 1, 1), shared_bytes=4 * COUNT),))
WHERE = "int r = t / 8, c = t % 8, rows = 7, cols = 5;\n"


@pytest.mark.parametrize(
    ("body", "rule", "quotes"),
    [
        ("if (r < rows && c < cols) src[r * rows + c * 9] = 1;", "condition_lets_it_through", 2),
        ("if (r < rows && c < cols) src[c * rows + r] = 1;", "condition_lets_it_through", 2),
        ("if (r < rows && cols > c) src[(size_t)c * cols + r] = 1;", "length_of_a_row", 5),
        ("if (r >= rows || c >= cols) return;\nsrc[c * cols + r] = 1;", "length_of_a_row", 5),
        ("if (r <= 7 && c < 5) src[r * 5 + c] = 1;", "one_too_many", 4),
        ("if (r < 7 && c <= 5) src[r * 5 + c] = 1;", "one_too_many", 4),
        ("if (r <= 6 && c < 5) src[r * 5 + c] = 1;", "condition_lets_it_through", 2),
        ("if (r < rows) src[r * cols + c] = 1;", "row_or_column_that_nothing_bounds", 2),
        ("if (c < cols) src[r * cols + c] = 1;", "row_or_column_that_nothing_bounds", 2),
        ("if (t > 8) src[r * cols + c] = 1;", "condition_lets_it_through", 2),
    ],
)
def test_of_a_matrix_that_part_is_named_which_is_wrong(body: str, rule: str, quotes: int) -> None:
    one = first(WHERE + body, count=26 if "<= 6" in body or "c * " in body else 35)
    assert (one.rule, len(quoted(one))) == (f"bounds.{rule}", quotes), one


@pytest.mark.parametrize("condition", ["if (t <= 9) src[t] = 1;", "if (t > 9) return;\nsrc[t] = 1;"])
def test_a_condition_that_lets_one_too_many_through_is_told_so(condition: str) -> None:
    one = first(condition, count=9)
    assert one.rule == "bounds.one_too_many"
    assert quoted(one)[-1] in ("t < 9", "t >= 9")


def test_a_bound_that_is_no_length_is_not_called_one_too_many() -> None:
    assert first("int n = 9;\nif (t <= n - 1) src[t] = 1;", count=5).rule == "bounds.condition_lets_it_through"
    assert first("if (t <= 9) src[t] = 1;", count=5).rule == "bounds.condition_lets_it_through"


def test_a_thread_that_should_have_returned_is_not_told_to_compare() -> None:
    assert first("if (t >= 60) return;\nsrc[t] = 1;", count=9).rule == "bounds.bound_lets_it_through"


def test_shared_memory_does_not_go_by_the_number_of_the_block() -> None:
    body = "int i = blockIdx.x * blockDim.x + t;\nint j = i + 1;\nif (t < 60)\n    part[j] = 1;"
    one = first(body, GRID)
    assert (one.rule, quoted(one)) == ("extents.index_made_of_the_block", ["j"])


@pytest.mark.parametrize(("type_name", "rule"), [
    ("short", "extents.variable_too_short_for_the_grid"), ("signed char", "extents.variable_too_short_for_the_grid"),
    ("int", "bounds.before_the_array"),
])  # fmt: skip
def test_a_variable_too_short_to_number_the_threads_is_named(type_name: str, rule: str) -> None:
    plan = LaunchPlan((replace(GRID.launches[0], grid=(1024, 1, 1)),))
    one = first(f"{type_name} i = blockIdx.x * blockDim.x + t;\nif (i < 65000) src[i - 1] = 1;", plan, 65000)
    assert one.rule == rule


@pytest.mark.parametrize(("offset", "says"), [(56, "whole groups"), (57, "multiple of 16")])
def test_a_wide_access_between_two_groups_is_told_so_first(offset: int, says: str) -> None:
    assert says in first(f"if (t == 0) *(float4*)(src + {offset}) = make_float4(0, 0, 0, 0);", count=58).hint


@pytest.mark.parametrize(
    ("store", "rule"),
    [
        ("if (t == 0) src[0] = 1 + blockIdx.x;", "one_element_of_all_blocks"),
        ("if (t == 0) *src = 1 + blockIdx.x;", "one_element_of_all_blocks"),
        ("int s = 0;\nif (t < 9) src[s + t] = 1 + blockIdx.x;", "one_index_in_all_blocks"),
        ("src[t] = 1 + blockIdx.x;", "one_index_in_all_blocks"),
        ("int s = blockIdx.x / 2;\nsrc[s + t] = 1 + blockIdx.x;", "same_index_in_two_blocks"),
        ("if (blockIdx.x)\n    src[t] = 1;\nelse\n    src[63 - t] = 2;", "two_indices_that_meet"),
        (
            "float* own = src + t / 2;\nif (blockIdx.x == 1)\n    own[1] = t;\nelse if (t == 9)\n    src[t] = 2;",
            "two_indices_that_meet",
        ),
    ],
)
def test_an_index_that_is_the_same_in_two_blocks_is_no_matter_of_atomics(store: str, rule: str) -> None:
    one = first(store, GRID)
    assert (one.kind, one.rule) == ("race", f"overlaps.{rule}")
    assert ("atomic" in one.hint) == (rule == "one_element_of_all_blocks")


def test_two_arrays_that_overlap_are_no_matter_of_barriers() -> None:
    overlap = "float* low = part; float* high = part + 4;\nif (t < 40) {\nlow[t] = t;\nhigh[t] = t + 1;\n}"
    rest = "\n__syncthreads();\nsrc[t] = low[t % 9];"
    assert first(f"{overlap}{rest}").rule == "overlaps.arrays_that_overlap"
    again = overlap.replace("\nhigh", "\nfloat own = low[t];\nif (own < 9)\n    high")
    assert first(f"{again}{rest}").rule != "overlaps.arrays_that_overlap"


def test_a_store_before_the_atomics_of_other_blocks_is_no_matter_of_fences() -> None:
    one = first("src[t] = 0;\n__syncthreads();\natomicAdd(&src[t], 1.0f);", GRID)
    assert (one.kind, one.rule) == ("missing_fence", "races.number_before_the_atomics")
    assert "// zero x" in one.hint


@pytest.mark.parametrize("store", ["*src = blockIdx.x;", "float* own = src + t / 2;\n*own = blockIdx.x + t;"])
def test_two_stores_in_a_kernel_with_tickets_are_no_matter_of_fences_alone(store: str) -> None:
    one = first(f"if (t == 0) atomicAdd(src + 40, 1.0f);\nif (t == 2) {{\n    {store}\n}}", GRID)
    assert (one.kind, one.rule) == ("missing_fence", "races.one_block_should_store")


def test_a_pointer_that_begins_inside_the_array_is_told_in_place_of_its_index() -> None:
    one = first("float* p = src + t * 4;\npart[t] = 1;\nif (t < 40)\n    p[0] = part[t] + 1;")
    assert one.rule == "bounds.pointer_into_the_array"
    assert "src + t * 4" in one.hint


def test_a_length_of_the_row_is_not_doubted_where_another_bound_has_it() -> None:
    one = first(
        "int r = t / 8, c = t % 8;\nif (r < 9)\n    for (int k = c; k < c + 2 && k < 8; ++k)\n"
        "        src[r * 8 + k + 8] = 1;"
    )
    assert one.rule != "bounds.length_of_a_row"


def test_a_scratch_array_may_be_too_short() -> None:
    launch = replace(PLAN.launches[0], args=("ping",))
    plan = LaunchPlan((launch,), (Scratch("ping", "float32", 9),))
    assert "`// scratch`" in first("if (t < 64) src[t] = 1;", plan).hint
    assert "`// scratch`" in first("src[t] = 1;", plan).hint


def test_a_warp_without_all_lanes_is_a_matter_of_the_launch_line() -> None:
    plan = LaunchPlan((replace(PLAN.launches[0], block=(40, 1, 1), line=5),))
    one = first("src[t] = __shfl_xor_sync(0xffffffff, t, 16);", plan)
    assert (one.kind, one.rule) == ("inactive_lane", "faults.warp_that_is_not_whole")
    assert "line 5" in one.hint
    whole = first("if (t < 9) src[t] = __shfl_xor_sync(0x1ff, t, 16);")
    assert whole.rule != "faults.warp_that_is_not_whole"


def test_threads_that_left_before_their_own_store_explain_what_nobody_wrote() -> None:
    found = first("if (t >= 9) return;\npart[t] = 1;\n__syncthreads();\nsrc[t] = part[t + 9];")
    assert (found.kind, found.rule) == ("uninitialised_read", "unwritten.return_before_ones_own_store")
    assert "line 3" in found.hint


@pytest.mark.parametrize(
    ("store", "read", "rule"),
    [
        ("part[t] = 1;", "part[t + 33]", "element_beyond_the_threads"),
        ("part[threadIdx.x] = 1;", "part[t + 33]", "element_beyond_the_threads"),
        ("part[t ^ 1] = 1;", "part[t + 33]", "write_before_the_read"),  # a swizzled index may be meant to go further
        ("part[t / 32 * 33 + t % 32] = 1;", "part[t + 33]", "write_before_the_read"),
        ("if (t < 16) { part[t] = 1; part[t + 16] = 1; }", "part[t + 33]", "write_before_the_read"),
    ],
)
def test_the_number_of_threads_matters_where_each_stores_the_element_of_its_number(
    store: str, read: str, rule: str
) -> None:
    plan = LaunchPlan((Launch("k", ("x",), (1, 1, 1), (32, 1, 1), shared_bytes=4 * 128),))
    one = first(f"{store}\n__syncthreads();\nsrc[t] = {read};", plan)
    assert (one.kind, one.rule) == ("uninitialised_read", f"unwritten.{rule}")


@pytest.mark.parametrize(
    ("body", "begin"),
    [
        ("src[t] += 1;", "is `=` meant"),
        ("for (int l = 0; l < 4; ++l)\n    src[t] += l;", "in the loop in line 3"),
        ("int i = t + 1;\nfor (int l = 0; l < 4; ++l) {\n    src[i - 1] += l;\n}", "in the loop in line 4"),
        ("for (int i = t; i < 64; i += 64)\n    src[i] += 1;", "is `=` meant"),
        ("for (int l = 0; l < 1; ++l) {\n    int i = t + l;\n    src[i] += 1;\n}", "is `=` meant"),
    ],
)
def test_a_sum_in_an_output_is_told_of_a_variable_where_a_loop_adds_up_in_one_element(body: str, begin: str) -> None:
    one = first(body)
    assert (one.kind, one.rule) == ("uninitialised_read", "unwritten.adds_to_what_is_there")
    assert one.hint.startswith(begin)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("float sum;\nfor (int i = 0; i < n; ++i)\n    sum += x[i];", 3),
        ("int count;\nif (x[t] > 0)\n    ++count;", 3),
        ("float sum;\nif (t == 0) sum = 0;\nsum += x[t];", None),
        ("float sum;\nset(sum);\nsum += x[t];", None),
        ("float sum, *p = &sum;\n*p = 0;\nsum += x[t];", None),
        ("float& sum = part[t];\nsum += x[t];", None),
        ("float sum;\n{\n    float sum = 0;\n    sum += x[t];\n}", None),
        ("static int calls;\n++calls;", None),
        ("Sum sum;\nsum += x[t];", None),
        ("float sum;\n#define START sum = 0\nSTART;\nsum += x[t];", None),
        ('float sum;\nasm("mov.f32 %0, 0f00000000;" : "=f"(sum));\nsum += x[t];', None),
    ],
)
def test_a_variable_that_is_added_to_before_it_has_a_value_is_named(body: str, line: int | None) -> None:
    facts = {"count": 1, "wrong": 1, "got": "3.0", "expected": "2.0", "size": {"n": 1}}
    source = f"__global__ void k(const float* x, float* out, int n) {{\n{body}\n}}\n"
    says, rule = hint(Finding("wrong", array="out", index=0, facts=facts), Seen(SourceView(source)))
    assert rule == ("outputs.variable_without_a_first_value" if line else "")
    assert line is None or f"line {line + 1}" in says


@pytest.mark.parametrize(
    ("body", "rule"),
    [("wmma::fill_fragment(sum, 0.0f);", ""), ("for (int i = 0; i < 8; ++i) sum.x[i] = 0;", ""),
     ("", "outputs.variable_without_a_first_value")],
)  # fmt: skip
def test_a_sum_of_tiles_that_nothing_fills_is_named(body: str, rule: str) -> None:
    facts = {"count": 1, "wrong": 1, "got": "3.0", "expected": "2.0", "size": {"n": 1}}
    fragment = "wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;"
    source = f"__global__ void k() {{\n{fragment}\n{body}\nwmma::mma_sync(sum, a, b, sum);\n}}\n"
    assert hint(Finding("wrong", array="out", index=0, facts=facts), Seen(SourceView(source)))[1] == rule


@pytest.mark.parametrize(("branches", "rule"), [
    ("if (t < 60);", "extents.condition_of_nothing"), ("if (t < 60) {}\nelse;", "bounds.length_of_the_array"),
    ("if (t < 60); else t = 0;", "bounds.length_of_the_array"), ("while (t > 99);", "bounds.length_of_the_array"),
])  # fmt: skip
def test_an_if_that_ends_with_its_semicolon_is_named(branches: str, rule: str) -> None:
    facts = {"element_bytes": 4, "array_bytes": 240, "offset": 240, "width": 4}
    place = {"line": 5, "index": 60, "thread": (60, 0, 0), "block": (0, 0, 0)}
    found = Finding("out_of_bounds", "beyond_end", space="global", array="x", names=("src",), facts=facts, **place)
    assert (
        hint(found, Seen(SourceView(f"__global__ void k(float* src) {{\nint t;\n{branches}\n\nsrc[t] = 1;\n}}\n")))[1]
        == rule
    )


def test_a_step_that_a_function_is_given_is_no_row() -> None:
    """The last of `first`, `first + step`, …, of which the first alone is compared."""
    body = "for (int k = 0; k < 8; ++k)\n    if (first < n)\n        src[first + k * step] = 1;"
    facts = {"element_bytes": 4, "array_bytes": 256, "offset": 256, "width": 4}
    found = Finding(
        "out_of_bounds", "beyond_end", "k.cu", 4, "k", (0, 0, 0), (0, 0, 0), "global", "x", ("src",), 64, facts=facts
    )
    source = f"__device__ void some(float* src, int n, int first, int step) {{\n{body}\n}}\n"
    assert hint(found, Seen(SourceView(source)))[1] == "bounds.condition_lets_it_through"


def test_a_return_is_not_blamed_where_the_store_has_a_condition_of_its_own() -> None:
    found = Finding("wrong", array="out", index=0, names=("out",), facts={"count": 1, "value": "unwritten"})
    source = "__global__ void k()\n{\n    if (j >= m) return;\n    if (t == 0) out[0] = 1;\n}\n"
    assert hint(found, Seen(SourceView(source))) == ("", "")


@pytest.mark.parametrize(("blocks", "body", "speaks"), [
    (1, "src[i] = 1;", True), (2, "src[i] = 1;", False), (1, "for (; i < n; i += 64) src[i] = 1;", False),
])  # fmt: skip
def test_the_grid_is_only_blamed_where_it_has_too_few_threads(blocks: int, body: str, speaks: bool) -> None:
    facts = {"count": 100, "value": "unwritten"}
    found = Finding("wrong", array="x", index=64, names=("src",), facts=facts)
    plan = LaunchPlan((replace(GRID.launches[0], grid=(blocks, 1, 1)),))
    source = SourceView('extern "C" __global__ void k(float* src) {\n' + body + "\n}\n")
    assert hint(found, Seen(source, plan))[1] == ("outputs.grid_that_ends_before_the_array" if speaks else "")


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("for (int i = t; i <= 9; i += 64) src[i] = 1;", "one_too_many"),
        ("for (int i = t; i < 60; i += 64) src[i] = 1;", "bound_lets_it_through"),
        ("float* p = src + 8 * t;\nfor (int i = 0; i < 8; i++)\n    p[i] = 1;", "pointer_into_the_array"),
        (
            "int step = blockDim.x;\nfor (int i = t; i < 70; i += 99)\n"
            "    for (int k = 0; k < 2; k++)\n        src[i + k * step] = 1;",
            "bound_lets_it_through",
        ),
        ("if (t > 3) { int i = 0; src[t] = i < 9 ? 1.0f : t; }", "condition_lets_it_through"),
    ],
)
def test_a_loop_that_goes_too_far_is_not_told_to_compare(body: str, rule: str) -> None:
    assert first(body, count=9).rule == f"bounds.{rule}"


# ------------------------------------------------------------------------------------------------------------- the line

MOVED = """int i = blockIdx.x * blockDim.x + t;
int j = i / 8;

if (j % 2 == 0)
    src[i] = sqrtf(src[i] + 1);
else
    src[i] = logf(src[i] + 2) + 3;"""


def test_a_load_that_the_compiler_moved_up_is_shown_where_the_source_has_it() -> None:
    one = first(MOVED, count=9)
    assert (one.kind, one.line) == ("out_of_bounds", 7)
    assert [place.line for place in one.places] == [7]


@pytest.mark.parametrize(("line", "shown"), [(3, 4), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (9, 9)])
def test_a_line_that_accesses_something_itself_stays(line: int, shown: int) -> None:
    body = "int i = 3;\nx[i] = 1;\nf(i);\n*y = 2;\nz->w = 3;\nq[i] = 1;\nint k = 1;"
    source = f"__global__ void k(float* x)\n{{\n{body}\n}}\n__device__ void g(float* x)\n{{\n    x[0] = 1;\n}}\n"
    assert SourceView(source).line_of_access(line, ["x"]) == shown


# --------------------------------------------------------------------------------------------------------- wrong values


def rule_of_a_wrong_value(body: str, **facts: Any) -> tuple[str, str]:
    """The rule that speaks of a wrong output of a kernel, and its hint."""
    known = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "nan", "expected": "5.0", "nan": 3, **facts}
    says, rule = hint(
        Finding("wrong", "nan", array="y", index=0, names=("y",), facts=known),
        Seen(SourceView(f"__global__ void k(const float* x, float* y, int n, float m) {{\n{body}\n}}")),
    )
    return rule, says


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("float sum = 0;\nfor (int i = 0; i < n; ++i)\n    sum += expf(x[i]);", "Subtract the largest value first"),
        ("float v = x[0];\ny[0] = expf(v) / (1 + expf(v));", "Divide both sides of the fraction"),
        ("float v = x[0] - m;\ny[0] = expf(v);", ""),
        ("float v = x[0];\nv -= m;\ny[0] = expf(v);", ""),
        ("y[0] = expf(m);", ""),  # what the kernel is given may be a difference
    ],
)
def test_only_an_exponential_of_a_value_that_was_loaded_overflows(body: str, says: str) -> None:
    rule, told = rule_of_a_wrong_value(body)
    assert (rule == "outputs.exponential_that_overflows") is bool(says)
    assert not says or told.endswith(says) or says in told


LARGEST = "float m = {};\nfor (int i = 0; i < n; ++i)\n    m = fmaxf(m, {});"


@pytest.mark.parametrize(
    ("begins", "value", "facts", "speaks"),
    [
        ("0.0f", "x[i]", {}, True),
        ("0", "x[i]", {"got": "0.0", "nan": 0, "expected": "-3.5"}, True),
        ("FLT_MIN", "x[i]", {}, True),
        ("0.0f", "fabsf(x[i])", {}, False),  # never negative
        ("-INFINITY", "x[i]", {}, False),
        ("0.0f", "x[i]", {"got": "2.0", "nan": 0}, False),  # it has found something larger
    ],
)
def test_a_maximum_that_begins_too_high_is_named_where_the_output_shows_it(
    begins: str, value: str, facts: dict[str, Any], speaks: bool
) -> None:
    rule, _ = rule_of_a_wrong_value(LARGEST.format(begins, value), **facts)
    assert (rule == "outputs.first_value_of_a_maximum") is speaks


@pytest.mark.parametrize(
    ("guard", "speaks"),
    [
        ("if (threadIdx.x >= 9) return;", True),
        ("bool last = false;\nif (threadIdx.x == 0) last = n > 1;\nif (!last) return;", True),
        ("if (blockIdx.x >= 9) return;", False),
        ("if (n < 2) return;", False),
    ],
)
def test_lanes_that_leave_before_a_shuffle_are_told_where(guard: str, speaks: bool) -> None:
    text = f"__global__ void k(int n) {{\n{guard}\nint v = __shfl_down_sync(0xffffffff, n, 16);\n}}"
    line = text.count("\n", 0, text.index("__shfl")) + 1
    found = Finding("inactive_lane", line=line, kernel="k", thread=(0, 0, 0), facts={"detail": (16,)})
    assert (hint(found, Seen(SourceView(text)))[1] == "faults.threads_that_have_left") is speaks


def said_of_packs(role: str) -> str:
    """The sentence about an access of 4 bytes at byte 64 of four `float4` in shared memory."""
    found = stray("beyond_end", 16, 16, space="shared", array="packs", role=role)
    return in_words(found, Seen(SourceView("__global__ void k() {\n__shared__ float4 packs[4];\n}"))).message


def test_an_element_of_a_shared_array_is_one_as_the_source_declares_it() -> None:
    assert "writes shared packs[4], but packs has 4 elements (0 to 3)" in said_of_packs("write")


def test_a_copy_past_the_end_of_a_shared_array_is_called_one() -> None:
    assert "copies to shared packs[4]" in said_of_packs("copy")
