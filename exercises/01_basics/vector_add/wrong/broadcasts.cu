// expect: technique
// Neighbouring threads use floats that lie eight apart. Loads that nobody needs, of one float for the whole warp, ask
// for four times what they move; that makes up for nothing.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

__device__ float any(const float* from)
{
    float value;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(from));
    return value;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t % 32 * 8 + t / 32;
    for (int k = 0; k < 32; ++k)
        any(a);
    if (i < n)
        c[i] = a[i] + b[i];
}
