// reduce_v4: the sum of n floats; each thread adds two of them while it loads, and the tree adds the rest.
//
// Each block adds up 2 * blockDim.x elements of src and writes one sum to dst. `grade reduce_v4` launches the kernel
// again on those sums until one number is left: src is x at first, then the dst of the launch before; m counts its
// elements.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v4(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

extern "C" __global__ void reduce_v4(const float* src, float* dst, int m)
{
    // One word for each thread of the block: the launch line says how many bytes (shared=).
    extern __shared__ float partial[];

    int t = threadIdx.x;

    // A block's share is 2 * blockDim.x elements: two for each thread. Here is the first.
    int i = blockIdx.x * (2 * blockDim.x) + t;
    float sum = i < m ? src[i] : 0.0f;

    // The second one lies a whole block further, so that the lanes of a warp again read 32 neighbouring floats. The sum
    // is made in a register: no shared memory, no barrier. Mind the end: there may be a first element and no second.
    int j = i + blockDim.x;
    if (j < m)
        sum += src[j];
    partial[t] = sum;

    // Barrier: from here on threads read words that other threads have stored.
    __syncthreads();

    // Each step adds the upper half of what is left onto the lower half: s = 128, 64, 32, … 1.
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        // Neighbouring threads use neighbouring words: no bank conflict. Nobody writes word t + s in this step.
        if (t < s)
            partial[t] += partial[t + s];

        // Barrier: the next step reads sums that other warps make in this one.
        __syncthreads();
    }

    // Thread 0 made the last sum itself.
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
