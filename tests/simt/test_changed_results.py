"""A run in which one instruction's result is changed: the output shows it exactly where something is made of it."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simt.engine.changes import INVERTED, ZERO
from tests.simt.kernels import Ran, body, run

X = np.arange(1, 65, dtype=np.int32)
PARAMETERS = "const int* x, int* y, int n"
SHARED = "__shared__ volatile int s[64]; "


def ran(source: str, site: int | None = None, how: int = INVERTED) -> Ran:
    changed = () if site is None else (("k", site, how),)
    return run(source, {"x": X, "y": np.zeros(64, np.int32)}, 64, block=64, changed=changed)


def needed(source: str, counter: str) -> list[bool]:
    """Of the instructions behind a counter, in order: whether an output changes with the result."""
    usual = ran(source)
    sites = [site.site for site in usual.outcome.sites if counter in site.counters]
    return [any(ran(source, s, how).arrays["y"].tolist() != usual.arrays["y"].tolist() for how in (INVERTED, ZERO))
            for s in sites]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "counter", "which"),
    [
        ("y[i] = x[i];", "global_load_requests", [True]),
        ("int v = ((const volatile int*)x)[i]; y[i] = v == 99 ? v : t;", "global_load_requests", [False]),
        ("((volatile int*)y)[i] = 7; y[i] = x[i];", "global_store_requests", [False, True]),
        (SHARED + "s[t] = x[i]; __syncthreads(); y[i] = s[63 - t];", "shared_requests", [True, True]),
        (SHARED + "s[t] = x[i]; __syncthreads(); s[63 - t]; y[i] = t;", "shared_requests", [False, False]),
        ("atomicAdd(&y[t / 2], x[i]);", "global_atomic_requests", [True]),
        ("__shared__ int s[1]; atomicAdd(s, 0 * x[i] + 1); y[i] = t;", "shared_atomic_requests", [False]),
        ("y[i] = max(x[i], ((const volatile int*)x)[0] + 5);", "global_load_requests", [True, True]),
        ("int4 v = ((const int4*)x)[t % 16]; y[i] = v.x + v.w;", "global_load_requests", [True]),
        ("char v = ((const volatile char*)x)[4 * i]; y[i] = v;", "global_load_requests", [True]),
        ("long long v = ((const volatile long long*)x)[t / 2]; y[i] = v >> 40;", "global_load_requests", [True]),
    ],
)  # fmt: skip
def test_accesses_matter_where_an_output_is_made_of_them(statements: str, counter: str, which: list[bool]) -> None:
    assert needed(body(statements, PARAMETERS), counter) == which


def test_an_index_that_is_loaded_matters_although_the_run_ends_early() -> None:
    source = body("y[i] = x[x[i] - 1];", PARAMETERS)
    assert [event.kind for event in ran(source, 0).events] == ["out_of_bounds"]


COPY = """#include <cuda_pipeline.h>
extern "C" __global__ void k(const int* x, int* y, int n) {
    __shared__ int s[64], rest[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], 4);
    __pipeline_memcpy_async(&rest[t], &x[63 - t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = s[63 - t];
    if (rest[t] == 99) y[t] = 0;
}"""


def test_asynchronous_copies_matter_where_an_output_is_made_of_them() -> None:
    assert needed(COPY, "async_copy_bytes") == [True, False]
    assert ran(COPY, 1).arrays["y"].tolist() == [0] * 64
    assert ran(COPY, 1).kinds == []


MMA = """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* x, float* y, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a, zeros;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::fill_fragment(zeros, __int2half_rn(n));
    wmma::fill_fragment(sum, 2.0f);
    wmma::mma_sync(sum, a, b, sum);
    wmma::mma_sync(sum, zeros, b, sum);
    wmma::store_matrix_sync(y, sum, 16, wmma::mem_row_major);
}"""


def products(n: int) -> list[bool]:
    def outputs(*changed: tuple[str, int, int]) -> tuple[Ran, list[float]]:
        found = run(MMA, {"x": np.ones(256, np.float16), "y": np.zeros(256, np.float32)}, n, changed=changed)
        return found, found.arrays["y"].tolist()

    usual, values = outputs()
    sites = [site.site for site in usual.outcome.sites if "wmma_instructions" in site.counters]
    return [outputs(("k", site, INVERTED))[1] != values for site in sites]


def test_a_product_of_matrices_matters_where_it_adds_anything() -> None:
    assert set(products(1)) == {True}
    kinds = products(0)
    assert kinds.count(True) == kinds.count(False) == len(kinds) // 2
