// expect: sim=technique gpu=pass
// Right, with __syncthreads() between the steps of a single block: one multiprocessor works, the others have nothing to do.

// cooperative_grid: a rod that is heated at one end, all steps in one launch.
//
// In each step a point takes a quarter of its left neighbour, half of itself and a quarter of its right neighbour, all
// as they were before the step. Left of point 0 is heat[step]; the last point is its own right neighbour.
//
// The launch is in cooperative_grid_host.py. All blocks of the grid are on the GPU at the same time, so they may wait
// for each other.


// now: the rod before the first step. next: as much room. heat: the temperature left of the rod, for each step.
extern "C" __global__ void cooperative_grid(float* now, float* next, const float* heat, int n, int steps)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;

    for (int step = 0; step < steps; ++step) {
        // As many threads as fit on the GPU at once, and so perhaps fewer than points: each takes several.
        for (int i = thread; i < n; i += threads) {
            float left = i > 0 ? now[i - 1] : heat[step];
            float right = i + 1 < n ? now[i + 1] : now[i];
            next[i] = 0.25f * left + 0.5f * now[i] + 0.25f * right;
        }

        // Barrier of the block: the next step reads what other threads write in this one.
        __syncthreads();

        float* written = next;
        next = now;
        now = written;
    }
}
