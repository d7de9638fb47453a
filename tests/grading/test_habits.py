"""Notes on kernels that work without a promise: what they speak of, and where they are silent."""

from __future__ import annotations

import pytest

from grader.api import grade
from grader.compile.toolchain import find_toolchain
from grader.grading.habits import notes
from grader.verdict import LaunchRecord
from tests.grading.test_beginners_mistakes import edited


def of(body: str, barriers: int = 30) -> list[tuple[str, int | None]]:
    """The notes on a kernel whose body begins in line 3, for one block of 8 warps."""
    text = f"__global__ void k(float* x, int n) {{\nint t = threadIdx.x, lane = t % 32;\n{body}\n}}\n"
    launch = LaunchRecord("k", (1, 1, 1), (256, 1, 1), 0, {"barriers": barriers})
    return [(one.kind, one.line) for one in notes(text, "k.cu", (launch,))]


@pytest.mark.parametrize(
    ("body", "barriers", "speaks"),
    [
        ("if (t < 32) {\n    __syncthreads();\n}", 30, True),
        ("if (lane == t) {\n    for (int s = 1; s < n; ++s)\n        __syncthreads();\n}", 30, True),
        ("if (t < 32) {\n    __syncthreads();\n}", 32, False),  # all warps came to as many
        ("if (t >= n) return;\n__syncthreads();", 30, False),  # a habit of many kernels
        ("if (blockIdx.x < n) {\n    __syncthreads();\n}", 30, False),  # whole blocks
        ("if (t < 32) {\n    __syncwarp();\n}\n__syncthreads();", 30, False),
    ],
)
def test_a_barrier_in_a_branch_is_noted_where_warps_skip_it(body: str, barriers: int, speaks: bool) -> None:
    assert [kind for kind, _ in of(body, barriers)] == ["barrier_in_branch"] * speaks


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("x[t] = __shfl_down_sync(__activemask(), x[t], 1);", 3),
        ("unsigned m = __activemask();\nif (t < n)\n    x[t] = __ballot_sync(m, x[t] > 0);", 5),
        ("unsigned m = 0xffffffff;\nx[t] = __shfl_down_sync(m, x[t], 1);", None),
        ("x[t] = __activemask();\nx[t] = __shfl_down_sync(0xffffffff, x[t], 1);", None),
        ("unsigned m = __activemask();\nint first = __ffs(m) - 1;\nx[t] = __shfl_sync(m, x[t], first);", None),
        ("unsigned m = __match_any_sync(__activemask(), n);\nx[t] = __popc(m);", 3),
        ("// not __activemask()\nx[t] = __shfl_down_sync(0xffffffff, x[t], 1);", None),
    ],
)
def test_a_mask_of_lanes_that_happen_to_be_together_is_noted(body: str, line: int | None) -> None:
    assert of(body, barriers=0) == ([("active_mask", line)] if line else [])


@pytest.mark.slow
@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_kernel_with_a_note_passes() -> None:
    solution = edited("reduce_v5")
    assert "__syncwarp();" in solution
    verdict = grade("reduce_v5", source=solution.replace("__syncwarp();", "__syncthreads();"), backend="sim", seed=5)
    assert [(found.kind, found.severity) for found in verdict.diagnostics] == [("barrier_in_branch", "note")]
    assert verdict.passed
    assert not grade("reduce_v5", source=solution, backend="sim", seed=5).diagnostics
    masked = edited("reduce_v9").replace("0xffffffff", "__activemask()")
    verdict = grade("reduce_v9", source=masked, backend="sim", seed=5)
    assert (verdict.passed, [found.kind for found in verdict.diagnostics]) == (True, ["active_mask"])
