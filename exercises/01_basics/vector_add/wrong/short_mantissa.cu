// expect: wrong
// It adds in a shorter format: 13 bits of each input are cut off, as tf32 does.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = __int_as_float(__float_as_int(a[i]) & ~0x1fff);
        float y = __int_as_float(__float_as_int(b[i]) & ~0x1fff);
        c[i] = x + y;
    }
}
