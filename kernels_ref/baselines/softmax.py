"""Library calls that turn rows of numbers into shares of one, and a control: kernels without clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def rows(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's softmax along each row: four kernels, into an array of its own."""
    from cupyx.scipy.special import softmax

    return partial(softmax, arrays["x"].reshape(int(numbers["rows"]), int(numbers["cols"])), axis=1)


def topk(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy sorts each row, and computes the softmax of its end."""
    import cupy
    from cupyx.scipy.special import softmax

    logits = arrays["logits"].reshape(-1, 64)

    def run() -> Any:
        experts = cupy.argsort(logits, axis=1)[:, :-9:-1]
        return softmax(cupy.take_along_axis(logits, experts, axis=1), axis=1), experts

    return run


IN_TWO_KERNELS = """
#define NOTHING __int_as_float(0xff800000)  // -infinity

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;
constexpr int LOADS = 4;                // of a float4, by each thread, in flight together
constexpr int CHUNK = THREADS * LOADS;  // packs of 4 floats that a block takes

__device__ float warp_max(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, s));
    return v;
}

__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// The largest value of each chunk, and its sum of exp(x - largest).
extern "C" __global__ void __launch_bounds__(THREADS) parts(const float4* x, float2* of_chunks, int packs, int chunks)
{
    __shared__ float maxima[WARPS], sums[WARPS];
    int row = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float4* in = x + (size_t)row * packs;

    float4 v[LOADS];
    float largest = NOTHING;
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        int i = chunk * CHUNK + k * THREADS + threadIdx.x;
        v[k] = i < packs ? in[i] : make_float4(NOTHING, NOTHING, NOTHING, NOTHING);
    }
#pragma unroll
    for (int k = 0; k < LOADS; ++k)
        largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    largest = warp_max(largest);
    if (lane == 0)
        maxima[warp] = largest;
    __syncthreads();
    largest = warp_max(maxima[lane % WARPS]);

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < LOADS; ++k)
        sum += (__expf(v[k].x - largest) + __expf(v[k].y - largest)) +
               (__expf(v[k].z - largest) + __expf(v[k].w - largest));
    sum = warp_sum(sum);
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    sum = warp_sum(lane < WARPS ? sums[lane] : 0.0f);
    if (threadIdx.x == 0)
        of_chunks[blockIdx.x] = make_float2(largest, sum);
}

// The shares of each chunk. The last rows come first: they are the ones that L2 may still hold.
extern "C" __global__ void __launch_bounds__(THREADS) shares(const float4* x, const float2* of_chunks, float4* y,
                                                             int packs, int chunks)
{
    int block = gridDim.x - 1 - blockIdx.x;
    int row = block / chunks, chunk = block % chunks;
    int lane = threadIdx.x % 32;
    const float4* in = x + (size_t)row * packs;
    float4* out = y + (size_t)row * packs;

    float4 v[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        int i = chunk * CHUNK + k * THREADS + threadIdx.x;
        if (i < packs)
            v[k] = in[i];
    }

    float largest = NOTHING, sum = 0.0f;
    for (int c = lane; c < chunks; c += 32)
        largest = fmaxf(largest, of_chunks[row * chunks + c].x);
    largest = warp_max(largest);
    for (int c = lane; c < chunks; c += 32) {
        float2 of_chunk = of_chunks[row * chunks + c];
        sum += of_chunk.y * __expf(of_chunk.x - largest);
    }
    float scale = 1.0f / warp_sum(sum);

#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        int i = chunk * CHUNK + k * THREADS + threadIdx.x;
        if (i < packs)
            out[i] = {__expf(v[k].x - largest) * scale, __expf(v[k].y - largest) * scale,
                      __expf(v[k].z - largest) * scale, __expf(v[k].w - largest) * scale};
    }
}
"""


def in_two_kernels(arrays: Arrays, numbers: Numbers) -> Run:
    """A control for cluster_reduce, without clusters: what all blocks of a row must know goes through global
    memory between two kernels, and the second one reads the row again. ``cols`` is a multiple of 4.
    """
    import cupy

    rows, packs = int(numbers["rows"]), int(numbers["cols"]) // 4
    chunks = -(-packs // 2048)  # CHUNK packs
    module = cupy.RawModule(code=IN_TWO_KERNELS, options=("--std=c++17",))
    parts, shares = module.get_function("parts"), module.get_function("shares")
    of_chunks = cupy.empty((rows * chunks, 2), cupy.float32)
    sizes = cupy.int32(packs), cupy.int32(chunks)

    def run() -> None:
        parts((rows * chunks,), (512,), (arrays["x"], of_chunks, *sizes))
        shares((rows * chunks,), (512,), (arrays["x"], of_chunks, arrays["y"], *sizes))

    return run
