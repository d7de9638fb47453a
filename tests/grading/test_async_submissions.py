"""A submission that copies asynchronously: right ones pass, and a wait that is missing or too weak is a race."""

from __future__ import annotations

import pytest

import grader
from grader.verdict import Verdict

COPIES = """#include <cuda_pipeline.h>
// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    __shared__ float left[256], right[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n) __pipeline_memcpy_async(&left[t], a + i, 4);
    __pipeline_commit();
    if (i < n) __pipeline_memcpy_async(&right[t], b + i, 4);
    __pipeline_commit();
    WAIT
    if (i < n) c[i] = left[t] + right[t];
}
"""
OBJECT = """#include <cuda/barrier>
// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    __shared__ float left[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) init(&arrived, COUNT);
    __syncthreads();
    if (i < n) cuda::memcpy_async(&left[t], a + i, 4, arrived);
    arrived.arrive_and_wait();
    if (i < n) c[i] = left[t] + b[i];
}
"""


def graded(source: str) -> Verdict:
    return grader.grade("vector_add", source=source, backend="sim")


@pytest.mark.parametrize(
    "source", [COPIES.replace("WAIT", "__pipeline_wait_prior(0);"), OBJECT.replace("COUNT", "blockDim.x")]
)
def test_copies_that_are_waited_for_pass(source: str) -> None:
    assert graded(source).verdict == "pass"


def test_without_a_wait_it_is_a_race_that_names_copy_and_read() -> None:
    verdict = graded(COPIES.replace("WAIT", ""))
    found = verdict.diagnostics[0]
    assert (verdict.verdict, found.kind) == ("race", "missing_async_wait")
    assert [access.kind for access in found.accesses] == ["copy", "read"]
    assert (found.accesses[0].line in (6, 8), found.accesses[1].line) == (True, 11)
    assert found.hint.startswith("before the access: __pipeline_wait_prior(0)")


def test_a_wait_for_one_group_too_few_is_quoted_with_its_line() -> None:
    verdict = graded(COPIES.replace("WAIT", "__pipeline_wait_prior(1);"))
    assert verdict.verdict == "race"
    assert verdict.diagnostics[0].accesses[0].line == 8
    assert verdict.diagnostics[0].hint.startswith("line 10 waits until at most 1 of the newest groups is in flight")


def test_an_object_that_expects_too_many_arrivals_is_a_timeout_that_counts_them() -> None:
    verdict = graded(OBJECT.replace("COUNT", "blockDim.x + 1"))
    assert (verdict.verdict, verdict.diagnostics[0].kind) == ("timeout", "deadlock")
    assert "expects 257 arrivals, and gets only 256" in verdict.diagnostics[0].message
