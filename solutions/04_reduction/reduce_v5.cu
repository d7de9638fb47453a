// reduce_v5: the sum of n floats; the last six steps of the tree belong to one warp, and need no barrier of the block.
//
// Each block adds up 2 * blockDim.x elements of src and writes one sum to dst. `grade reduce_v5` launches the kernel
// again on those sums until one number is left: src is x at first, then the dst of the launch before; m counts its
// elements.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v5(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

extern "C" __global__ void reduce_v5(const float* src, float* dst, int m)
{
    // One word for each thread of the block: the launch line says how many bytes (shared=).
    extern __shared__ float partial[];

    int t = threadIdx.x;
    int i = blockIdx.x * (2 * blockDim.x) + t;
    int j = i + blockDim.x;

    // The first addition happens during the load. Each of the two elements may lie past the end.
    float sum = i < m ? src[i] : 0.0f;
    if (j < m)
        sum += src[j];
    partial[t] = sum;

    // Barrier: from here on threads read words that other threads have stored.
    __syncthreads();

    // The steps in which several warps work: s = 128 and 64.
    for (int s = blockDim.x / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];

        // Barrier: the next step, or the last warp, reads sums that other warps make in this one.
        __syncthreads();
    }

    // 64 words are left, and warp 0 adds them up: s = 32, 16, … 1. The other warps have nothing to wait for.
    if (t < 32) {
        // Six steps, a number that the compiler knows: it writes them out one after the other, without a loop.
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            if (t < s)
                partial[t] += partial[t + s];

            // Barrier of the warp: lanes have program counters of their own, so nothing else keeps a lane from reading
            // word t + s before lane t + s has written it. Outside the inner `if`: all 32 lanes have to arrive.
            __syncwarp();
        }
    }

    // Thread 0 made the last sum itself.
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
