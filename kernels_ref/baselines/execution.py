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
