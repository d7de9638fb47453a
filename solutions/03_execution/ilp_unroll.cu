// ilp_unroll: hares and foxes on n islands, each island for itself, `steps` steps of h months. out[i] is how many hares
// live on island i at the end. In each step the hares change first, and the foxes then meet the new number of hares.
//
// The grid has one warp for each of a multiprocessor's four schedulers, and shall keep it. A thread goes from island to
// island, a grid's length at a time.
//
// Here OWN islands of a thread are under way at once.

// launch ilp_unroll(hares, foxes, out, n, steps, h): grid=sm_count block=128

// Islands of a thread at once. The result of an fma can be used four cycles later, so four chains are enough. How
// much more are worth depends on the order that ptxas finds: `grade tune ilp_unroll --set OWN=4,6,8` compares.
#define OWN 8

// One block on each multiprocessor is enough: ptxas reckons with many warps otherwise, and to save registers it may put
// the chains behind each other again.
extern "C" __global__ void __launch_bounds__(128, 1)
ilp_unroll(const float* hares, const float* foxes, float* out, int n, int steps, float h)
{
    // 64 bits: i may pass n by several grids, and close to 2^31 an int has no room for that.
    long long grid = gridDim.x * blockDim.x;
    long long first = blockIdx.x * blockDim.x + threadIdx.x;

    for (long long i = first; i < n; i += OWN * grid) {
        // Every loop over k is unrolled: only so do x and y stay in registers, which cannot be indexed at run time.
        float x[OWN], y[OWN];
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            // In the place of an island past the end the last one is taken again, which nobody stores.
            long long island = min(i + k * grid, (long long)n - 1);
            x[k] = hares[island];
            y[k] = foxes[island];
        }

        // The loop over the islands is the inner one now: between an fma and the next one that needs its result stand
        // the fma of seven other islands.
#pragma unroll 8
        for (int s = 0; s < steps; ++s) {
#pragma unroll
            for (int k = 0; k < OWN; ++k) {
                x[k] = fmaf(x[k], fmaf(-h, y[k], h), x[k]);  // x + h·x·(1 − y)
                y[k] = fmaf(y[k], fmaf(h, x[k], -h), y[k]);  // y + h·y·(x − 1)
            }
        }

#pragma unroll
        for (int k = 0; k < OWN; ++k)
            if (i + k * grid < n)
                out[i + k * grid] = x[k];
    }
}
