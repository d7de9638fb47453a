// reduce_v1: the sum of n floats, with a tree in shared memory and interleaved addressing.
//
// Each block adds up blockDim.x elements of src and writes one sum to dst. `grade reduce_v1` launches the kernel again
// on those sums until one number is left: src is x at first, then the dst of the launch before; m counts its elements.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v1(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v1(const float* src, float* dst, int m)
{
    // One word for each thread of the block: the launch line says how many bytes (shared=).
    extern __shared__ float partial[];

    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;

    // The last block may have fewer elements than threads: 0 leaves a sum as it is.
    partial[t] = i < m ? src[i] : 0.0f;

    // Barrier: from here on threads read words that other threads have stored.
    __syncthreads();

    // Before the step with distance s, every s-th word is the sum of s elements. s = 1, 2, 4, … 128.
    for (int s = 1; s < blockDim.x; s *= 2) {
        // Of these sums every second one takes its right neighbour, s words away. Nobody writes that neighbour in this
        // step, because t + s is no multiple of 2 * s.
        if (t % (2 * s) == 0)
            partial[t] += partial[t + s];

        // Barrier: the next step reads sums that other threads make in this one. It stands outside the `if`,
        // because every thread of the block has to arrive.
        __syncthreads();
    }

    // Thread 0 made the last sum itself.
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
