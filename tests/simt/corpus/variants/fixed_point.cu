// expect: pass
// Sums in 64-bit integers, 24 bits behind the point: exact in any order.

// scratch total: long long[1]
// launch clear(total): grid=1 block=1
// launch add(x, total, n): grid=cdiv(n, 256) block=256
// launch finish(total, out): grid=1 block=1

extern "C" __global__ void clear(long long* total)
{
    *total = 0;
}

extern "C" __global__ void add(const float* x, long long* total, int n)
{
    __shared__ long long partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < n ? __float2ll_rn(x[i] * 16777216.0f) : 0;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(reinterpret_cast<unsigned long long*>(total), (unsigned long long)partial[0]);
}

extern "C" __global__ void finish(const long long* total, float* out)
{
    *out = (float)((double)*total / 16777216.0);
}
