// planes holds the n particles' fields one after the other: its element f * n + i is field f of particle i.

__device__ double field(const float* particles, long long index, long long n)
{
    return particles[4 * (index % n) + index / n];
}
