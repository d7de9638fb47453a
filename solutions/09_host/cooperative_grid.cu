// cooperative_grid: a rod that is heated at one end, all steps in one launch, and the rod on the chip meanwhile.
//
// In each step a point takes a quarter of its left neighbour, half of itself and a quarter of its right neighbour, all
// as they were before the step. Left of point 0 is heat[step]; the last point is its own right neighbour.
//
// A warp owns a piece of the rod, and holds a halo of HALO more points on either side, which other warps own. A step
// makes the outermost of them wrong, since their neighbours are not here, and the next step one more. After HALO steps
// the halo is used up, and the piece is still right. Only then do warps exchange their edges.
//
// The launch is in cooperative_grid_host.py. All blocks of the grid are on the GPU at the same time, so they may wait
// for each other.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// cooperative_grid_host.py computes the grid from these.
constexpr int THREADS = 256;
constexpr int POINTS = 9;                    // consecutive points of a thread
constexpr int EDGE = 2;                      // lanes that hold a halo
constexpr int HALO = EDGE * POINTS;          // points of a halo, and steps for one barrier of the grid
constexpr int OWN = 32 * POINTS - 2 * HALO;  // points that a warp owns

// A thread's points, the first of which is point `first` of the rod. What lies outside of the rod stays as it is.
__device__ void load(float (&rod)[POINTS], const float* from, int first, int n)
{
#pragma unroll
    for (int j = 0; j < POINTS; ++j)
        if (0 <= first + j && first + j < n)
            rod[j] = from[first + j];
}

__device__ void store(const float (&rod)[POINTS], float* to, int first, int n)
{
#pragma unroll
    for (int j = 0; j < POINTS; ++j)
        if (first + j < n)
            to[first + j] = rod[j];
}

// One step of all points of a warp, without memory. end: the place of point n among the thread's points, if it is there.
__device__ void take_step(float (&rod)[POINTS], float heat, bool has_start, bool has_end, int end)
{
    constexpr unsigned ALL = 0xffffffff;

    // Points -1 and n are not of the rod; they get what its two ends take for a neighbour.
    if (has_start && threadIdx.x % 32 == EDGE - 1)
        rod[POINTS - 1] = heat;
    float left = __shfl_up_sync(ALL, rod[POINTS - 1], 1);
    if (has_end) {
#pragma unroll
        for (int j = 0; j < POINTS; ++j)
            if (j == end)
                rod[j] = j > 0 ? rod[j - 1] : left;
    }
    float right = __shfl_down_sync(ALL, rod[0], 1);

#pragma unroll
    for (int j = 0; j < POINTS; ++j) {
        float here = rod[j];
        float next = j + 1 < POINTS ? rod[j + 1] : right;
        rod[j] = 0.25f * left + 0.5f * here + 0.25f * next;
        left = here;
    }
}

// x: the rod before the first step. heat: the temperature left of it, for each step. out: the rod after the last step.
// even, odd: room for a rod each, through which neighbours exchange their edges.
extern "C" __global__ void __launch_bounds__(THREADS)
    cooperative_grid(const float* x, const float* heat, float* even, float* odd, float* out, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    int lane = threadIdx.x % 32;
    int piece = (blockIdx.x * THREADS + threadIdx.x) / 32;

    // Lane EDGE has the first point that the warp owns; the lanes before it have the halo on the left.
    int first = piece * OWN + (lane - EDGE) * POINTS;
    bool owner = EDGE <= lane && lane < 32 - EDGE;
    bool on_edge = owner && (lane < 2 * EDGE || lane >= 32 - 2 * EDGE);
    bool has_start = piece == 0;
    bool has_end = __any_sync(0xffffffff, first <= n && n < first + POINTS);

    float rod[POINTS] = {};
    load(rod, x, first, n);

    for (int done = 0; done < steps; done += HALO) {
        if (done > 0) {
            // Two places in turn: while a warp stores the next edges, a slow neighbour may still load these. Before
            // this place is used again there is another barrier, and the neighbour has loaded before it comes there.
            if (on_edge)
                store(rod, even, first, n);

            // Barrier of the whole grid: the edges of all warps are there. Every thread of every block has to come,
            // also those without a point.
            grid.sync();

            if (!owner)
                load(rod, even, first, n);
            float* filled = even;
            even = odd;
            odd = filled;
        }

        // Lane s loads the heat of step s: one load for all steps of this round.
        int count = min(HALO, steps - done);
        float heats = has_start && lane < count ? heat[done + lane] : 0.0f;
        for (int s = 0; s < count; ++s)
            take_step(rod, __shfl_sync(0xffffffff, heats, s), has_start, has_end, n - first);
    }

    if (owner)
        store(rod, out, first, n);
}
