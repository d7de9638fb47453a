"""Overlap: what a warp executes while a tile is on its way to shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.kernels import Ran, body, run

N = 64
TILE = 16

TILED = """
#define TILE 16
extern "C" __global__ void k(const float* A, const float* B, float* C, int n) {
    __shared__ float As[2][TILE][TILE], Bs[2][TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const float* a = A + (blockIdx.y * TILE + ty) * n + tx;
    const float* b = B + ty * n + blockIdx.x * TILE + tx;
    float sum = 0.0f;
    PRODUCT
    C[(blockIdx.y * TILE + ty) * n + blockIdx.x * TILE + tx] = sum;
}
"""
ARITHMETIC = "for (int k = 0; k < TILE; ++k) sum += As[s][ty][k] * Bs[s][k][tx];"

AT_ONCE = f"""
    const int s = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {{
        As[0][ty][tx] = a[k0];
        Bs[0][ty][tx] = b[k0 * n];
        __syncthreads();
        {ARITHMETIC}
        __syncthreads();
    }}
"""
TWO_BUFFERS_WITHOUT_PREFETCH = f"""
    As[0][ty][tx] = a[0];
    Bs[0][ty][tx] = b[0];
    __syncthreads();
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {{
        if (k0 + TILE < n) {{
            As[s ^ 1][ty][tx] = a[k0 + TILE];
            Bs[s ^ 1][ty][tx] = b[(k0 + TILE) * n];
        }}
        {ARITHMETIC}
        __syncthreads();
    }}
"""
A_FROM_GLOBAL_MEMORY = """
    const int s = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        Bs[0][ty][tx] = b[k0 * n];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[k0 + k - tx] * Bs[s][k][tx];
        __syncthreads();
    }
"""
THROUGH_REGISTERS = f"""
    float next_a = a[0], next_b = b[0];
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {{
        As[s][ty][tx] = next_a;
        Bs[s][ty][tx] = next_b;
        __syncthreads();
        if (k0 + TILE < n) {{
            next_a = a[k0 + TILE];
            next_b = b[(k0 + TILE) * n];
        }}
        {ARITHMETIC}
    }}
"""
ONE_TILE_OF_TWO = f"""
    const int s = 0;
    float next_a = a[0];
    for (int k0 = 0; k0 < n; k0 += TILE) {{
        As[0][ty][tx] = next_a;
        if (k0 + TILE < n) next_a = a[k0 + TILE];
        Bs[0][ty][tx] = b[k0 * n];
        __syncthreads();
        {ARITHMETIC}
        __syncthreads();
    }}
"""
LOADS_AMONG_THE_ARITHMETIC = """
    float next_a = a[0], next_b = b[0];
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {
        As[s][ty][tx] = next_a;
        Bs[s][ty][tx] = next_b;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            if (k == 1 && k0 + TILE < n) next_a = a[k0 + TILE];
            if (k == 5 && k0 + TILE < n) next_b = b[(k0 + TILE) * n];
            sum += As[s][ty][k] * Bs[s][k][tx];
        }
    }
"""
HALF_OF_THE_WARPS_FETCH = f"""
    const int t = ty * TILE + tx;
    float4 next = {{}};
    const float* from = t < 64 ? A + (blockIdx.y * TILE + t / 4) * n + t % 4 * 4
                               : B + (t - 64) / 4 * n + blockIdx.x * TILE + t % 4 * 4;
    float* to = t < 64 ? &As[0][0][0] + t * 4 : &Bs[0][0][0] + (t - 64) * 4;
    const int step = t < 64 ? TILE : TILE * n;
    if (t < 128) next = *(const float4*)from;
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {{
        if (t < 128) *(float4*)(to + s * TILE * TILE) = next;
        __syncthreads();
        from += step;
        if (t < 128 && k0 + TILE < n) next = *(const float4*)from;
        {ARITHMETIC}
    }}
"""

COPY = """
    auto copy = [&](int s, int k0) {
        unsigned to_a = __cvta_generic_to_shared(&As[s][ty][tx]), to_b = __cvta_generic_to_shared(&Bs[s][ty][tx]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to_a), "l"(a + k0) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to_b), "l"(b + k0 * n) : "memory");
    };
    auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
"""
COPIES_AT_ONCE = f"""
    {COPY}
    const int s = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {{
        copy(0, k0);
        commit();
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        {ARITHMETIC}
        __syncthreads();
    }}
"""
TWO_GROUPS = f"""
    {COPY}
    copy(0, 0);
    commit();
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {{
        if (k0 + TILE < n) copy(s ^ 1, k0 + TILE);
        commit();
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        {ARITHMETIC}
        __syncthreads();
    }}
"""
NEXT_GROUP_BEHIND_THE_WAIT = f"""
    {COPY}
    copy(0, 0);
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {{
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        if (k0 + TILE < n) copy(s ^ 1, k0 + TILE);
        {ARITHMETIC}
    }}
"""
MBARRIERS = """
    COPY
    __shared__ unsigned long long bars[2];
    unsigned bar = __cvta_generic_to_shared(bars);
    if (tx + ty == 0)
        for (int j = 0; j < 2; ++j)
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar + 8 * j), "r"(TILE * TILE) : "memory");
    __syncthreads();
    auto arrive = [&](int s) {
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(bar + 8 * s) : "memory");
    };
    auto wait = [&](int s, int parity) {
        asm volatile("{ .reg .pred p; again: mbarrier.test_wait.parity.shared.b64 p, [%0], %1; @!p bra again; }"
                     :: "r"(bar + 8 * s), "r"(parity) : "memory");
    };
    LOOP
""".replace("COPY", COPY)
MBARRIER_AT_ONCE = MBARRIERS.replace(
    "LOOP",
    f"""
    const int s = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {{
        copy(0, k0);
        arrive(0);
        wait(0, k0 / TILE & 1);
        {ARITHMETIC}
        __syncthreads();
    }}""",
).replace("again", "again_%=")
TWO_MBARRIERS = MBARRIERS.replace(
    "LOOP",
    f"""
    copy(0, 0);
    arrive(0);
    for (int k0 = 0, s = 0; k0 < n; k0 += TILE, s ^= 1) {{
        if (k0 + TILE < n) {{
            copy(s ^ 1, k0 + TILE);
            arrive(s ^ 1);
        }}
        wait(s, k0 / (2 * TILE) & 1);
        {ARITHMETIC}
        __syncthreads();
    }}""",
).replace("again", "again_%=")


def product(how: str) -> Ran:
    """Run a tiled product of 64 x 64 matrices; its result is checked."""
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-8, 8, (N, N)).astype(np.float32) for _ in range(2))
    arrays = {"A": a, "B": b, "C": np.zeros((N, N), np.float32)}
    source = TILED.replace("PRODUCT", how)
    ran = run(source, arrays, N, grid=(N // TILE, N // TILE, 1), block=(TILE, TILE, 1), budget=10**8)
    assert ran.kinds == []
    assert np.array_equal(ran.arrays["C"].reshape(N, N), a @ b)
    return ran


@pytest.mark.parametrize(
    "how", [AT_ONCE, TWO_BUFFERS_WITHOUT_PREFETCH, A_FROM_GLOBAL_MEMORY, COPIES_AT_ONCE, MBARRIER_AT_ONCE]
)
def test_a_tile_that_is_stored_as_soon_as_it_is_loaded_overlaps_with_nothing(how: str) -> None:
    assert product(how).total["overlap"] < 0.25


@pytest.mark.parametrize(
    "how",
    [
        THROUGH_REGISTERS,
        ONE_TILE_OF_TWO,
        LOADS_AMONG_THE_ARITHMETIC,
        HALF_OF_THE_WARPS_FETCH,
        TWO_GROUPS,
        NEXT_GROUP_BEHIND_THE_WAIT,
        TWO_MBARRIERS,
    ],
)
def test_a_tile_that_is_loaded_before_the_arithmetic_and_stored_after_it_overlaps(how: str) -> None:
    assert product(how).total["overlap"] > 0.6


def test_two_stages_have_one_group_in_flight_and_loads_have_none() -> None:
    assert 0.6 < product(TWO_GROUPS).total["groups_in_flight"] < 1.2
    assert product(COPIES_AT_ONCE).total["groups_in_flight"] < 0.25
    assert "groups_in_flight" not in product(THROUGH_REGISTERS).total


def test_warps_that_fetch_nothing_do_not_count() -> None:
    total = product(HALF_OF_THE_WARPS_FETCH).total
    assert total["fetching_instructions"] < 0.6 * total["instructions"]


X = np.arange(64, dtype=np.float32)


def test_exactly_the_instructions_between_load_and_store_are_counted() -> None:
    source = body(
        """
__shared__ float s[32];
float v;
asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(x + t));
asm volatile("{.reg .u32 r; mov.u32 r, 1; mov.u32 r, 2; mov.u32 r, 3;}");
asm volatile("st.shared.f32 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(s) + 4 * t), "f"(v) : "memory");
asm volatile("{.reg .u32 r; mov.u32 r, 1;}");
""",
        "float* x",
    )
    lines = run(source, {"x": X}, block=64).outcome.counters[0].lines
    counted = {n: row["overlapped_instructions"] for n, row in lines.items() if row.get("overlapped_instructions")}
    address = lines[9]["instructions"] - 2  # of the store, which is computed on its line
    assert lines[8]["instructions"] == 2 * 3
    assert counted == {9: 2 * 3 + address}


def test_a_store_of_something_else_ends_no_fetch() -> None:
    source = body("__shared__ float s[32];\ns[t] = t;\n__syncthreads();\nx[t] = x[t + 32] + s[t ^ 1];", "float* x")
    total = run(source, {"x": X}).total
    assert "overlapped_instructions" not in total
    assert "overlap" not in total


def test_loads_of_shared_memory_have_their_own_excess() -> None:
    source = body("__shared__ float s[1024];\ns[t * 32] = x[t];\n__syncthreads();\nx[t] = s[t * 16];", "float* x")
    total = run(source, {"x": X}).total
    assert total["shared_load_excess_wavefronts"] == 15
    assert total["excess_wavefronts"] == 31 + 15
