// cooperative_grid: a rod that is heated at one end, all steps in one launch.
//
// In each step a point takes a quarter of its left neighbour, half of itself and a quarter of its right neighbour, all
// as they were before the step. Left of point 0 is heat[step]; the last point is its own right neighbour.
//
// The launch is in cooperative_grid_host.py. All blocks of the grid are on the GPU at the same time, so they may wait
// for each other.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// now: the rod before the first step. next: as much room. heat: the temperature left of the rod, for each step.
extern "C" __global__ void cooperative_grid(float* now, float* next, const float* heat, int n, int steps)
{
    // YOUR CODE: all steps, each from `now` to `next`; then the two change places.
    // YOUR CODE: between two steps, all blocks of the grid wait for each other.
}
