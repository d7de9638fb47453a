// ilp_unroll: hares and foxes on n islands, each island for itself, `steps` steps of h months. out[i] is how many hares
// live on island i at the end. In each step the hares change first, and the foxes then meet the new number of hares.
//
// The grid has one warp for each of a multiprocessor's four schedulers, and shall keep it. A thread goes from island to
// island, a grid's length at a time.

// launch ilp_unroll(hares, foxes, out, n, steps, h): grid=sm_count block=128

// One block on each multiprocessor is enough: ptxas reckons with many warps otherwise, and to save registers it may put
// the chains behind each other again.
extern "C" __global__ void __launch_bounds__(128, 1)
ilp_unroll(const float* hares, const float* foxes, float* out, int n, int steps, float h)
{
    // 64 bits: i may pass n by several grids, and close to 2^31 an int has no room for that.
    long long grid = gridDim.x * blockDim.x;
    long long first = blockIdx.x * blockDim.x + threadIdx.x;

    // YOUR CODE: the result is right, one island after the other. Let several be under way at once.
    for (long long i = first; i < n; i += grid) {  // YOUR CODE: how far does a thread with several islands move on?
        float x = hares[i], y = foxes[i];          // YOUR CODE: which islands, and where there are none?

#pragma unroll 16                                  // YOUR CODE: so that counting and jumping are not what takes the time
        for (int s = 0; s < steps; ++s) {
            x = fmaf(x, fmaf(-h, y, h), x);        // YOUR CODE: x + h·x·(1 − y), for each of the islands
            y = fmaf(y, fmaf(h, x, -h), y);        // YOUR CODE: y + h·y·(x − 1)
        }
        out[i] = x;                                // YOUR CODE: where does each one's result go?
    }
}
