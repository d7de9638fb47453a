"""Slips that the source shows by itself: told where it is certain, and never about code that means what it says."""

from __future__ import annotations

import pytest

from grader.catalog.exercises import load_catalog
from grader.findings.record import Finding
from grader.grading.hints import hint
from grader.grading.hints.rules import Seen
from grader.grading.source_view import SourceView
from grader.launch import Launch, LaunchPlan

FACTS = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "0.0", "expected": "5.5"}
HEAD = 'extern "C" __global__ void k(const float* x, float* out, int n) {'


def told(source: str, kind: str = "wrong", block: tuple[int, int, int] = (16, 16, 1)) -> tuple[str, str]:
    """The hint on a wrong output, or on another finding, and the rule."""
    plan = LaunchPlan((Launch(kernel="k", args=("x", "out", 9), grid=(1, 1, 1), block=block, line=2),))
    return hint(Finding(kind, array="out", index=0, facts=FACTS), Seen(SourceView(source), plan))


def edited(exercise: str, old: str, new: str) -> str:
    solution = load_catalog([]).find(exercise).solution
    assert solution is not None
    before, found, after = solution.read_text(encoding="utf-8").rpartition(old)
    assert found, f"{exercise} has no {old!r}"
    return before + new + after


@pytest.mark.parametrize(
    ("exercise", "old", "new", "rule", "says"),
    [
        ("saxpy_grid_stride", "i += step)", "i += step);", "loop_of_a_lone_semicolon", "whole body of the `for`"),
        ("reduce_v4", "if (t == 0)", "if (t = 0)", "assignment_for_a_comparison", "write `==`"),
        ("saxpy_grid_stride", "i < n; i += step", "i = n; i += step", "assignment_for_a_comparison", "or `<`"),
        ("sgemm_v3", "for (int l = 0", "float sum = 0.0f;\n        for (int l = 0", "variable_of_an_inner_block",
         "`sum` in line"),
        ("reduce_v4", "float sum = i < m ? src[i] : 0.0f;", "float sum;\n    if (i < m)\n        sum = src[i];",
         "value_under_a_condition", "where `i < m` is false"),
        ("sgemm_v3", "sum += a", "sum = a", "value_of_the_last_iteration", "is `+=` meant"),
        ("softmax_v1", "sum += expf", "sum = expf", "value_of_the_last_iteration", "only the last one counts"),
        ("softmax_v1", "sum = block_sum", "block_sum", "value_that_is_dropped", "calls block_sum"),
        ("softmax_v1", "largest = fmaxf", "fmaxf", "value_that_is_dropped", "calls fmaxf"),
        ("transpose_v2", "__shared__ float tile", "float tile", "array_of_each_thread", "`tile`"),
        ("sgemm_v3", "__shared__ float a", "float a", "array_of_each_thread", "`a`"),
        ("sgemm_v3", "__shared__ float a", "__shared__ int a", "whole_number_for_a_fraction", "`int`"),
        ("reduce_v4", "float sum", "int sum", "whole_number_for_a_fraction", "`sum`"),
        ("softmax_v1", "float largest", "int largest", "whole_number_for_a_fraction", "`largest`"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_its_line(exercise: str, old: str, new: str, rule: str, says: str) -> None:
    text, name = told(edited(exercise, old, new))
    assert name == f"slips.{rule}"
    assert says in text


def test_a_call_that_gives_its_result_in_another_way_is_no_slip() -> None:
    rest = f"{HEAD}\n    float sum;\n    CALL;\n    out[0] = sum;\n}}\n"
    for returned, call in (
        ("float f(float v, float& sum) { sum = v; return v; }", "f(x[0], sum)"),
        ("float f(float v, float* sum) { *sum = v; return v; }", "f(x[0], &sum)"),
        ("int f(int* tickets) { return atomicAdd(tickets, 1); }", "f((int*)out)"),
    ):
        assert told(f"__device__ {returned}\n{rest.replace('CALL', call)}")[1] != "slips.value_that_is_dropped"
    dropped = "__device__ float f(float v) { return 2 * v; }\n" + rest.replace("CALL", "f(x[0])")
    assert told(dropped)[1] == "slips.value_that_is_dropped"


def test_rows_of_another_kernel_say_nothing_about_a_block_of_one_row() -> None:
    other = f"__global__ void other(float* x) {{\n    x[threadIdx.y] = 1;\n}}\n{HEAD}\n    out[threadIdx.x] = 1;\n}}\n"
    assert told(other, "out_of_bounds", (256, 1, 1))[1] != "slips.block_of_one_row"


def test_a_kernel_of_rows_and_columns_in_a_block_of_one_row_is_named() -> None:
    source = f"{HEAD}\n    int y = threadIdx.y;\n    out[y] = x[y];\n}}\n"
    text, name = told(source, "out_of_bounds", (256, 1, 1))
    assert name == "slips.block_of_one_row"
    assert "line 2 are one row of 256 threads" in text
    assert told(source, "out_of_bounds", (16, 16, 1))[1] != name


@pytest.mark.parametrize(
    "body",
    [
        "while (flag[0] == 0);\n    out[0] = 1;",
        "int s = 1;\n    for (; s < n; s *= 2);\n    out[0] = s;",
        "if (int c = n; c < 9)\n        out[c] = 1;",
        "for (int i = 0; i < 9; ++i) out[i] = 1;\n    for (int i = 0; i < 9; ++i) out[i] = 1;",
        "int s = 0;\n    for (int j = 0; j < n; ++j) {\n        int s = j;\n        put(s);\n    }\n    out[++s] = 1;",
        "float v;\n    if (n > 9)\n        v = x[9];\n    __syncthreads();\n    if (n > 9)\n        out[9] = v;",
        "float v;\n    if (n > 9)\n        v = x[9];\n    else\n        v = 0;\n    out[9] = v;",
        "float v;\n    load(&v);\n    v += 1;\n    out[9] = v;",
        "float u[4];\n    for (int i = 0; i < 4; ++i)\n        u[i] = x[threadIdx.x + i];\n    out[0] = u[3];",
        "int bin = (int)x[0], sign = x[0] > 0, place = __float2int_rd(x[1]);\n    out[bin] = sign + place;",
        "put(x, out);",
        "int at = 0;\n    for (int i = 0; i < 9; ++i)\n        if (x[i] > 0)\n            at = i;\n    out[at] = 1;",
        "float v = 0;\n    for (int i = 0; i < 9; ++i) {\n        v = x[i];\n        out[i] = v;\n    }",
        "__shared__ float v;\n    if (threadIdx.x == 0)\n        v = x[0];\n    __syncthreads();\n    out[1] = v;",
        "float sum = x[0];\n    unsigned ticket = draw_ticket(out, sum);\n    out[ticket] = sum;",
        "int r = n / 9;\n    for (;;) {\n        int r = n % 9;\n        put(r);\n    }\n    out[r] = 1;",
        "int i = threadIdx.x;\n    for (int i = 0; i < 9; ++i)\n        put(i);\n    out[i] = 1;",
    ],
)
def test_honest_code_is_told_nothing(body: str) -> None:
    helper = "__device__ void put(const float* x, float* out) { out[0] = x[0]; }\n"
    assert not told(f"{helper}{HEAD}\n    {body}\n}}\n")[1].startswith("slips.")


@pytest.mark.parametrize("exercise", ["reduce_v10", "sgemm_v8", "hgemm_mma", "splitk_gemm"])
def test_a_solution_is_told_nothing(exercise: str) -> None:
    solution = load_catalog([]).find(exercise).solution
    assert solution is not None
    assert not told(solution.read_text(encoding="utf-8"))[1].startswith("slips.")
