// reduce_v2: the sum of n floats, with a tree in shared memory, interleaved addressing and no idle lanes between.
//
// Each block adds up blockDim.x elements of src and writes one sum to dst. `grade reduce_v2` launches the kernel again
// on those sums until one number is left: src is x at first, then the dst of the launch before; m counts its elements.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v2(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v2(const float* src, float* dst, int m)
{
    // One word for each thread of the block: the launch line says how many bytes (shared=).
    extern __shared__ float partial[];

    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;

    // The last block may have fewer elements than threads: 0 leaves a sum as it is.
    partial[t] = i < m ? src[i] : 0.0f;

    // Barrier: from here on threads read words that other threads have stored.
    __syncthreads();

    // The steps of reduce_v1, s = 1, 2, 4, … 128: every second sum takes its right neighbour, s words away.
    for (int s = 1; s < blockDim.x; s *= 2) {
        // YOUR CODE: the same sums, but let the first threads of the block make them.

        // Barrier: the next step reads sums that other threads make in this one. It stands outside the `if`,
        // because every thread of the block has to arrive.
        __syncthreads();
    }

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
