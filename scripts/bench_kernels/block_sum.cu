// sums[b] = the sum of block b's 256 elements of x: a tree in shared memory.
extern "C" __global__ void block_sum(const float* x, float* sums, int n)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}
