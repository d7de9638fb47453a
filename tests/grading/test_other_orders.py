"""Whole submissions whose blocks may come in any order: a result that CUDA allows passes, one of luck is a race.

No exercise takes outputs in any order: what may come in any order is put together by a further launch, or a statement
says which order is right (the smallest index, the order of the inputs), as `argmax` and `compaction` will.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.backends.base import CaseRun, Execution
from grader.backends.sim.session import SimBackend, SimSession
from grader.compile.toolchain import find_toolchain
from grader.exercise import Array, Exercise, Values
from grader.grading.grade import grade
from grader.verdict import Verdict
from tests.grading.requests import request_of

pytestmark = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")

Arrays = Mapping[str, np.ndarray]

BASE = Exercise(
    name="any_order", order=1, idea="blocks in any order", oracle="none", exact=False,
    arrays=(Array("x", "int32", "n", values=Values(0, 9)), Array("out", "int32", "n", role="out")),
    small=({"n": 1}, {"n": 700}), simulated={"n": 1024},
)  # fmt: skip
ONE = replace(BASE, arrays=(BASE.arrays[0], Array("out", "int32", "1", role="out")))


def scan(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"out": np.cumsum(inputs["x"]).astype(np.float64)}


def kept(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """The elements above 5, in their order, then zeros."""
    x = inputs["x"]
    return {"out": np.concatenate([x[x > 5], np.zeros((x <= 5).sum())]).astype(np.float64)}


def squares(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x = inputs["x"].astype(np.float64)
    return {"out": np.array([(x[x > 5] ** 2).sum()])}


def first_largest(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"out": np.array([inputs["x"].argmax()], np.float64)}


def largest(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"out": np.array([inputs["x"].max()], np.float64)}


LOOK_BACK = """\
// scratch flags, sums: int[cdiv(n, 64)]
// zero flags
// launch scan(x, out, flags, sums, n): grid=cdiv(n, 64) block=64
extern "C" __global__ void scan(const int* x, int* out, int* flags, int* sums, int n)
{
    __shared__ int s[64], base;
    int t = threadIdx.x, b = blockIdx.x, i = 64 * b + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        base = 0;
        if (b > 0) {
            while (((volatile int*)flags)[b - 1] == 0)
                ;
            __threadfence();
            base = ((volatile int*)sums)[b - 1];
        }
        ((volatile int*)sums)[b] = base + s[63];
        __threadfence();
        ((volatile int*)flags)[b] = 1;
    }
    __syncthreads();
    if (i < n)
        out[i] = base + s[t];
}
"""
NO_FENCE = LOOK_BACK.replace("base + s[63];\n        __threadfence();", "base + s[63];")

COMPACT = """\
extern "C" __global__ void compact(const int* x, int* list, int* count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 5)
        list[atomicAdd(count, 1)] = x[i];
}
extern "C" __global__ void squares(const int* list, const int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < *count)
        atomicAdd(out, list[i] * list[i]);
}
"""
LIST = """\
// scratch count: int[1]
// zero count, out
// launch compact(x, out, count, n): grid=cdiv(n, 64) block=64
"""
SQUARES = """\
// scratch count: int[1]
// scratch list: int[n]
// zero count, out
// launch compact(x, list, count, n): grid=cdiv(n, 64) block=64
// launch squares(list, count, out): grid=cdiv(n, 64) block=64
"""

TIES = """\
// scratch best, where: int[1]
// zero best
// launch largest(x, best, where, n): grid=cdiv(n, 64) block=64
// launch first(x, best, where, n): grid=cdiv(n, 64) block=64
// launch told(x, where, out): grid=1 block=32
extern "C" __global__ void largest(const int* x, int* best, int* where, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        *where = 2147483647;
    if (i < n)
        atomicMax(best, x[i]);
}
extern "C" __global__ void first(const int* x, const int* best, int* where, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] == *best)
        CHOICE;
}
extern "C" __global__ void told(const int* x, const int* where, int* out)
{
    if (threadIdx.x == 0)
        *out = TOLD;
}
"""
WHOEVER_COMES_FIRST = "atomicCAS(where, 2147483647, i)"


def ties(choice: str, told: str) -> str:
    return TIES.replace("CHOICE", choice).replace("TOLD", told)


ALLOWED = {
    "a scan that looks back by the number of the block": (BASE, scan, LOOK_BACK),
    "a list in any order, of which the order does not matter": (ONE, squares, SQUARES + COMPACT),
    "the smallest index of several": (ONE, first_largest, ties("atomicMin(where, i)", "*where")),
    "any index of several, and the value there": (ONE, largest, ties(WHOEVER_COMES_FIRST, "x[*where]")),
}  # fmt: skip
OF_LUCK = {
    "a scan that looks back without a fence": (BASE, scan, NO_FENCE),
    "a list in any order where the order of the inputs is asked": (BASE, kept, LIST + COMPACT),
    "whoever comes first where the smallest index is asked": (ONE, first_largest, ties(WHOEVER_COMES_FIRST, "*where")),
}


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The orders of warps and blocks in which cases have run."""
    seen: set[str] = set()
    run = SimSession.run

    def watched(session: SimSession, case: CaseRun) -> Execution:
        seen.add(case.conditions.order)
        return run(session, case)

    monkeypatch.setattr(SimSession, "run", watched)
    return seen


def graded(folder: Path, exercise: Exercise, oracle: object, source: str) -> Verdict:
    path = folder / "any_order.cu"
    path.write_text(source)
    return grade(request_of(exercise, path, oracle=lambda: oracle, simulator=SimBackend(threads=1)))


@pytest.mark.parametrize("what", ALLOWED)
def test_what_may_come_in_any_order_passes_in_each(what: str, tmp_path: Path, orders: set[str]) -> None:
    verdict = graded(tmp_path, *ALLOWED[what])
    assert (verdict.verdict, verdict.diagnostics) == ("pass", ())
    assert len(orders) > 2


@pytest.mark.parametrize("what", OF_LUCK)
def test_what_is_right_in_the_usual_order_alone_is_a_race(what: str, tmp_path: Path) -> None:
    verdict = graded(tmp_path, *OF_LUCK[what])
    assert verdict.verdict == "race"
    assert verdict.diagnostics[0].kind in ("order_dependent", "missing_fence")


LAST_BY_NUMBER = """\
// scratch sums: int[cdiv(n, 64)]
// launch total(x, sums, out, n): grid=cdiv(n, 64) block=64
extern "C" __global__ void total(const int* x, volatile int* parts, int* out, int n)
{
    int b = blockIdx.x, sum = 0;
    if (threadIdx.x > 0)
        return;
    for (int i = 64 * b; i < min(n, 64 * b + 64); i++)
        sum += x[i];
    parts[b] = sum;
    __threadfence();
    if (b < gridDim.x - 1)
        return;
    for (int k = 0; k < b; k++)
        sum += parts[k];
    *out = sum;
}
"""


def total(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"out": np.array([inputs["x"].sum()], np.float64)}


def test_two_accesses_that_nothing_orders_are_named_where_they_are_known(tmp_path: Path) -> None:
    found = graded(tmp_path, ONE, total, LAST_BY_NUMBER).diagnostics[0]
    assert (found.kind, found.cause, found.array) == ("order_dependent", "volatile", "out")
    assert [(place.role, place.line, place.thread) for place in found.places] == [
        ("read", 15, (0, 0, 0)), ("write", 10, (0, 0, 0)),
    ]  # fmt: skip
    reader, writer = (place.block[0] for place in found.places if place.block)
    assert (
        f"nothing orders two accesses of parts: read by thread 0 of block {reader} at any_order.cu:15" in found.message
    )
    assert f"written by thread 0 of block {writer} at any_order.cu:10" in found.message
