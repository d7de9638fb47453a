// How fast can memory be read? Nothing is done with the values but what keeps the loads alive: their exclusive or is
// compared with a value that it takes once in 2^32 threads, and a store then does no harm.

#define NEVER 0x5ca1ab1eu

// One float a thread.
extern "C" __global__ void read_f32x1(const unsigned int* x, long long n, unsigned int* sink)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n && x[i] == NEVER)
        *sink = NEVER;
}

__device__ unsigned int mix(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Four floats a load, four loads in flight in each thread: one round of them if the grid is that large, more in a grid
// that is smaller. Up to 1024 threads a block, and 2048 on each multiprocessor. Also reads mapped host memory.
extern "C" __global__ void __launch_bounds__(1024, 2) read_f32x4(const uint4* x, long long n, unsigned int* sink)
{
    long long step = (long long)gridDim.x * blockDim.x;
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    unsigned int seen = 0;
    for (; i + 3 * step < n; i += 4 * step) {
        uint4 a = x[i], b = x[i + step], c = x[i + 2 * step], d = x[i + 3 * step];
        seen ^= mix(a) ^ mix(b) ^ mix(c) ^ mix(d);
    }
    for (; i < n; i += step)
        seen ^= mix(x[i]);
    if (seen == NEVER)
        *sink = seen;
}
