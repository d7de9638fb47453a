// cooperative_grid: a rod that is heated at one end, all steps in one launch, and the rod on the chip meanwhile.
//
// In each step a point takes a quarter of its left neighbour, half of itself and a quarter of its right neighbour, all
// as they were before the step. Left of point 0 is heat[step]; the last point is its own right neighbour.
//
// The launch is in cooperative_grid_host.py. All blocks of the grid are on the GPU at the same time, so they may wait
// for each other.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// cooperative_grid_host.py computes the grid from these.
constexpr int THREADS = 256;

// x: the rod before the first step. heat: the temperature left of it, for each step. out: the rod after the last step.
// even, odd: room for a rod each, through which neighbours exchange their edges.
extern "C" __global__ void __launch_bounds__(THREADS)
    cooperative_grid(const float* x, const float* heat, float* even, float* odd, float* out, int n, int steps)
{
    // YOUR CODE: load a piece of the rod, with a halo on either side, into registers or shared memory.
    // YOUR CODE: as many steps as the halo allows, on the chip; mind both ends of the rod.
    // YOUR CODE: store the edges, let all blocks of the grid wait for each other, load the halo anew; and so on.
    // YOUR CODE: after the last step, store the piece into `out`.
}
