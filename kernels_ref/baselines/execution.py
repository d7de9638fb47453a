"""Controls: kernels that differ from a solution in the one thing that its exercise is about, timed beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]

ONE_ISLAND = r"""
extern "C" __global__ void one_island(const float* hares, const float* foxes, float* out, int n, int steps, float h)
{
    long long grid = gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += grid) {
        float x = hares[i], y = foxes[i];
#pragma unroll 16
        for (int s = 0; s < steps; ++s) {
            x = fmaf(x, fmaf(-h, y, h), x);
            y = fmaf(y, fmaf(h, x, -h), y);
        }
        out[i] = x;
    }
}
"""


def one_island_at_a_time(arrays: Arrays, numbers: Numbers) -> Run:
    """A CUDA kernel with one island a thread at a time, on the solution's grid: ilp_unroll's stub."""
    return _one_island(arrays, numbers, warps_of_sm=4)


def one_island_and_all_warps(arrays: Arrays, numbers: Numbers) -> Run:
    """The same kernel with all the warps that fit: 64 on a multiprocessor of an A100 or H200."""
    return _one_island(arrays, numbers, warps_of_sm=64)


def _one_island(arrays: Arrays, numbers: Numbers, warps_of_sm: int) -> Run:
    import cupy
    import numpy

    n, steps, h = numpy.int32(numbers["n"]), numpy.int32(numbers["steps"]), numpy.float32(numbers["h"])
    blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * warps_of_sm // 4
    kernel = cupy.RawKernel(ONE_ISLAND, "one_island")
    return partial(kernel, (blocks,), (128,), (arrays["hares"], arrays["foxes"], arrays["out"], n, steps, h))


ONE_TILE = r"""
__device__ int place(int r, int c) { return r * 16 + (c ^ r % 8); }
__device__ float limited(float x, float last, float rate) { return fmaxf(fminf(x, last + rate), last - rate); }

extern "C" __global__ void __launch_bounds__(256) one_tile(const float* x, float* y, float rate, int rows, int cols)
{
    __shared__ float4 tile[64 * 16];
    int row = blockIdx.x * 64, c = threadIdx.x % 16;
    float last = 0.0f;
    for (int start = 0; start < cols; start += 64) {
        float4 part[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int r = 16 * i + threadIdx.x / 16;
            if (row + r < rows && start + 4 * c < cols)
                part[i] = *(const float4*)(x + (size_t)(row + r) * cols + start + 4 * c);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i)
            tile[place(16 * i + threadIdx.x / 16, c)] = part[i];
        __syncthreads();
        int chunks = threadIdx.x < 64 ? min(64, cols - start) / 4 : 0;
        float4 next = tile[place(threadIdx.x % 64, 0)];
        for (int k = 0; k < chunks; ++k) {
            float4 now = next;
            if (k + 1 < chunks)
                next = tile[place(threadIdx.x, k + 1)];
            now.x = last = limited(now.x, last, rate);
            now.y = last = limited(now.y, last, rate);
            now.z = last = limited(now.z, last, rate);
            now.w = last = limited(now.w, last, rate);
            tile[place(threadIdx.x, k)] = now;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int r = 16 * i + threadIdx.x / 16;
            if (row + r < rows && start + 4 * c < cols)
                *(float4*)(y + (size_t)(row + r) * cols + start + 4 * c) = tile[place(r, c)];
        }
    }
}
"""


def one_tile_at_a_time(arrays: Arrays, numbers: Numbers) -> Run:
    """A CUDA kernel with async_copy's tiles and launch, through registers into a single stage: its stub."""
    import cupy
    import numpy

    rows, cols, rate = numpy.int32(numbers["rows"]), numpy.int32(numbers["cols"]), numpy.float32(numbers["rate"])
    kernel = cupy.RawKernel(ONE_TILE, "one_tile")
    return partial(kernel, ((int(rows) + 63) // 64,), (256,), (arrays["x"], arrays["y"], rate, rows, cols))
