// expect: pass
// atomicAdd made by hand from atomicCAS.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

__device__ void add(float* address, float value)
{
    int* word = reinterpret_cast<int*>(address);
    int seen = *reinterpret_cast<volatile int*>(word);
    int expected;
    do {
        expected = seen;
        seen = atomicCAS(word, expected, __float_as_int(__int_as_float(expected) + value));
    } while (seen != expected);
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float total;
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    if (t == 0)
        total = 0.0f;
    __syncthreads();
    float v = i < m ? src[i] : 0.0f;
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    if (t % 32 == 0)
        add(&total, v);
    __syncthreads();
    if (t == 0)
        dst[blockIdx.x] = total;
}
