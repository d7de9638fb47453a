// profile_reading_1: the heights of particles, the first field of each record of four floats, scaled.
//
// bound: ?   YOUR CODE: what limits the kernel: memory, shared, instructions, special, double or shuffles
// predict: ?   YOUR CODE: the counter that the statement names, when CHANGED is defined

// launch heights(p, out, n): grid=cdiv(n, 256) block=256

// Records get shorter in the next version: two floats instead of four.
#ifdef CHANGED
constexpr int FIELDS = 2;
#else
constexpr int FIELDS = 4;
#endif

extern "C" __global__ void heights(const float* p, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 0.5f * p[FIELDS * i];
}
