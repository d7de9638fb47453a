// expect: sim=technique
// One thread of each block reads its 256 elements one by one: a request of global memory for each element.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v1(src, dst, m): grid=cdiv(m, 256) block=1

extern "C" __global__ void reduce_v1(const float* src, float* dst, int m)
{
    int first = blockIdx.x * 256;
    float sum = 0.0f;
    for (int i = first; i < min(first + 256, m); ++i)
        sum += src[i];
    dst[blockIdx.x] = sum;
}
