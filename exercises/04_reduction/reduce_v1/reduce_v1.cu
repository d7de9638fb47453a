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

    // YOUR CODE: a barrier, and the tree that adds all words up into partial[0].

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
