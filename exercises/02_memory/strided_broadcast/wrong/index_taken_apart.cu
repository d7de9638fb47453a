// expect: technique
// A thread for each element: its index is taken apart by three divisions by numbers that the compiler does not know.

// strided_broadcast, with a thread for each element of out.

// launch strided_broadcast(a, b, out, n0, n1, n2, n3, a0, a1, a2, a3, b0, b1, b2, b3): grid=cdiv(n0 * n1 * n2 * n3, 256) block=256

extern "C" __global__ void strided_broadcast(const float* a, const float* b, float* out, int n0, int n1, int n2, int n3,
                                             long long a0, long long a1, long long a2, long long a3, long long b0,
                                             long long b1, long long b2, long long b3)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n0 * n1 * n2 * n3)
        return;
    int i3 = i % n3, i2 = i / n3 % n2, i1 = i / n3 / n2 % n1, i0 = i / n3 / n2 / n1;
    out[i] = a[i0 * a0 + i1 * a1 + i2 * a2 + i3 * a3] + b[i0 * b0 + i1 * b1 + i2 * b2 + i3 * b3];
}
