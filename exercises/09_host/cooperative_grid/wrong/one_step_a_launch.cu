// expect: sim=technique gpu=pass
// Right, but the loop over the steps is on the host: a launch for each.

// cooperative_grid: a rod that is heated at one end, all steps in one launch.
//
// In each step a point takes a quarter of its left neighbour, half of itself and a quarter of its right neighbour, all
// as they were before the step. Left of point 0 is heat[step]; the last point is its own right neighbour.
//
// The launch is in cooperative_grid_host.py. All blocks of the grid are on the GPU at the same time, so they may wait
// for each other.

// now: the rod before the first step. next: as much room. heat: the temperature left of the rod, for each step.
extern "C" __global__ void cooperative_grid(float* now, float* next, float heat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float left = i > 0 ? now[i - 1] : heat;
    float right = i + 1 < n ? now[i + 1] : now[i];
    next[i] = 0.25f * left + 0.5f * now[i] + 0.25f * right;
}
