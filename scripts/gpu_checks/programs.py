"""What programs may use: shared memory, printf, variables, constants, cooperative and cluster launches."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gpu_checks import LIMITS, N, case, expect, item, kernel, launch, program, run
from grader.backends.base import Buffer
from grader.backends.gpu import GpuBackend
from grader.compile import compile_source
from grader.launch import Constant, Launch, LaunchPlan, TensorMap, Zero


@item
def dynamic_shared_memory_of_160_kib(backend: GpuBackend) -> Any:
    body = (
        "extern __shared__ float s[]; int at = 160 * 256 - 1 - threadIdx.x;"
        "s[at] = i; __syncthreads(); if (i < n) y[i] = s[at];"
    )
    found = run(backend, kernel(body), case(launch(shared_bytes=160 << 10)))
    return expect(np.array_equal(found.outputs["y"], np.arange(N)), (found.failure, found.diagnostics)) and "right"


@item
def printing(backend: GpuBackend) -> Any:
    found = run(backend, kernel('if (i == 7) printf("thread %d of %d: %f\\n", i, n, x[i]);', "#include <stdio.h>\n"))
    return expect(found.printed == "thread 7 of 1000: 7.000000\n", (found.printed, found.failure))


@item
def printing_too_much(backend: GpuBackend) -> Any:
    body = 'for (int k = 0; k < 100; ++k) printf("%d %d %d %d\\n", i, k, n, i);'
    found = run(backend, kernel(body, "#include <stdio.h>\n"))
    expect(found.failure == "limit", (found.failure, len(found.printed)))
    return found.diagnostics[0].message


@item
def variables_are_restored(backend: GpuBackend) -> Any:
    before = "__device__ int calls = 5; __device__ float kept[1000]; static __device__ int hidden;\n"
    body = "if (i == 0) { y[0] = calls++; y[1] = kept[3]; y[2] = hidden; kept[3] = 9; hidden = 7; }"
    with backend.open(kernel(body, before), LIMITS) as session:
        seen = [session.run(case()).outputs["y"][:3].tolist() for _ in range(3)]
        return expect(seen == [[5.0, 0.0, 0.0]] * 3, (seen, session.restored_by))[1]


@item
def strings_and_constants_are_restored(backend: GpuBackend) -> Any:
    """What C calls constant can be written by a program that insists; it must not carry anything over either."""
    before = '__constant__ int W[2] = {3, 4}; __device__ const char text[] = "abc"; __device__ float big[5000];\n'
    body = (
        "if (i == 0) { y[0] = text[1]; y[1] = W[1]; y[2] = big[4999]; *(volatile char*)(text + 1) = 'x';"
        ' big[4999] = 8; const char* s = n > 5 ? "pq" : "rs"; y[3] = *(volatile const char*)s;'
        " *(volatile char*)s = 'z'; }"
    )
    with backend.open(kernel(body, before), LIMITS) as session:
        seen = [session.run(case()).outputs["y"][:4].tolist() for _ in range(3)]
        return expect(seen == [[98.0, 4.0, 0.0, 112.0]] * 3, (seen, session.restored_by))[1]


@item
def variables_of_cooperative_groups_are_restored(backend: GpuBackend) -> Any:
    before = "#include <cooperative_groups.h>\n__device__ int calls;\n"
    body = "cooperative_groups::this_thread_block().sync(); if (i == 0) y[0] = calls++;"
    with backend.open(kernel(body, before), LIMITS) as session:
        start = time.perf_counter()
        seen = [float(session.run(case()).outputs["y"][0]) for _ in range(11)]
        each = (time.perf_counter() - start) / 11
        expect(seen == [0.0] * 11, (seen, session.restored_by))
        return f"{session.restored_by}; a case takes {each * 1e3:.2f} ms"


@item
def constants(backend: GpuBackend) -> Any:
    compiled = kernel("if (i < n) y[i] = W[i % 4];", "__constant__ float W[4];\n")
    weights = Buffer("w", "float32", 4, "in", np.array([1, 2, 3, 4], np.float32))
    plan = LaunchPlan(launch().steps, constants=(Constant("W", "w", 1),))
    found = run(backend, compiled, case(plan, w=weights))
    return expect(found.outputs["y"][:5].tolist() == [1, 2, 3, 4, 1], (found.failure, found.outputs["y"][:5]))


@item
def zero_steps(backend: GpuBackend) -> Any:
    compiled = kernel("if (i < n) atomicAdd(y, 1.0f);")
    plan = LaunchPlan((Zero("y"), *launch().steps))
    found = run(backend, compiled, case(plan))
    return expect(found.outputs["y"][0] == N, found.outputs["y"][:3])


@item
def cooperative_launch(backend: GpuBackend) -> Any:
    before = "#include <cooperative_groups.h>\n"
    body = "if (i < n) y[i] = i; cooperative_groups::this_grid().sync(); if (i == 0) y[0] = y[n - 1];"
    found = run(backend, kernel(body, before), case(launch(cooperative=True)))
    return expect(found.failure is None and found.outputs["y"][0] == N - 1, (found.failure, found.diagnostics))


@item
def cluster_launch(backend: GpuBackend) -> Any:
    source = "#include <cooperative_groups.h>\n"
    body = "if (i < n) y[i] = cooperative_groups::this_cluster().num_blocks();"
    head = 'extern "C" __global__ void k(float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; '
    compiled = compile_source((source + head + body + "}").encode(), "k.cu", target="sm_90")
    found = run(backend, compiled, case(launch(cluster=(2, 1, 1))))
    return expect(found.outputs["y"][0] == 2, (found.failure, found.diagnostics, found.outputs["y"][:3]))


@item
def half_arguments(backend: GpuBackend) -> Any:
    head = (
        '#include <cuda_fp16.h>\nextern "C" __global__ void k(float* x, float* y, int n, __half h, float f, double d)'
    )
    source = head + "{ y[threadIdx.x] = __half2float(h) + f + (float)d; }"
    plan = LaunchPlan((Launch("k", ("x", "y", N, 0.5, 2, 0.25), (1, 1, 1), (32, 1, 1)),))
    found = run(backend, program(source), case(plan))
    return expect(found.outputs["y"][0] == 2.75, found.outputs["y"][:3])


TILES = """
#include <cuda.h>
extern "C" __global__ void k(const __grid_constant__ CUtensorMap tiles, float* y, int n)
{
    __shared__ alignas(128) float tile[8 * 32];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned to = __cvta_generic_to_shared(tile), at = __cvta_generic_to_shared(&barrier), arrived = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&tiles), "r"(32), "r"(20), "r"(at) : "memory");
    }
    __syncthreads();
    while (!arrived)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(arrived) : "r"(at) : "memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");  // assembles for sm_90a alone
    for (int i = threadIdx.x; i < n; i += 256)
        y[i] = i < 256 ? tile[i] : -1;
}
"""


@item
def tensor_map_of_a_matrix_with_a_ragged_edge(backend: GpuBackend) -> Any:
    """The box at row 20, column 32 of 25 × 40: 5 rows and 8 columns lie inside, the rest reads as zero."""
    if backend.gpu.compute_capability != (9, 0):
        return "not of capability 9.0"
    tiles = TensorMap("tiles", "x", "float32", (25, 40), (160,), (8, 32))
    expected = np.full(N, -1, np.float32)
    expected[:256] = 0
    expected[:256].reshape(8, 32)[:5, :8] = np.arange(N, dtype=np.float32).reshape(25, 40)[20:, 32:]
    compiled = compile_source(TILES.encode(), "tiles.cu", target="sm_90a")
    for cooperative in (False, True):
        step = Launch("k", ("tiles", "y", N), (1, 1, 1), (256, 1, 1), cooperative=cooperative)
        found = run(backend, compiled, case(LaunchPlan((step,), tensor_maps=(tiles,))))
        assert found.failure is None
        np.testing.assert_array_equal(found.outputs["y"], expected)
    return "zeros outside"
