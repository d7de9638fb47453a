// expect: race
// line: 22
// kind: order_dependent
// Two atomics are two steps: another block may come in between.

// zero out
// launch reduce(x, out, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicExch(dst, atomicAdd(dst, 0.0f) + partial[0]);
}
