// expect: technique
// A warp takes a row of x, and each float is an atomic. A number that 32 lanes share is loaded 32 times.

// zero out
// launch float_atomics(x, index, out, n): grid=cdiv(n, 8) block=256

extern "C" __global__ void __launch_bounds__(256) float_atomics(const float* x, const int* index, float* out, int n)
{
    int i = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= n)
        return;
    int row = index[i];
    for (int c = 0; c < 64; c += 32)
        atomicAdd(&out[(size_t)row * 64 + c + lane], x[(size_t)i * 64 + c + lane]);
}
