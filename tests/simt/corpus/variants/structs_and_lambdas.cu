// expect: pass
// An accumulator type with operators, and a lambda that loads.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce(src, dst, m): grid=cdiv(m, 512) block=256

struct Sum {
    float value = 0.0f;
    int count = 0;

    __device__ Sum& operator+=(const Sum& other)
    {
        value += other.value;
        count += other.count;
        return *this;
    }
};

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float values[256];
    __shared__ int counts[256];
    const int t = threadIdx.x;
    auto at = [&](int k) {
        Sum s;
        if (k < m) {
            s.value = src[k];
            s.count = 1;
        }
        return s;
    };
    Sum mine = at(blockIdx.x * 512 + t);
    mine += at(blockIdx.x * 512 + 256 + t);
    values[t] = mine.value;
    counts[t] = mine.count;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s && counts[t + s] > 0) {
            values[t] += values[t + s];
            counts[t] += counts[t + s];
        }
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = counts[0] > 0 ? values[0] : 0.0f;
}
