// expect: pass
// cooperative_groups: tiles of 32 threads with shfl_down, then one atomicAdd per tile.

// zero out
// launch reduce(x, out, n): grid=cdiv(n, 256) block=256

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < m ? src[i] : 0.0f;
    for (int s = tile.size() / 2; s > 0; s /= 2)
        sum += tile.shfl_down(sum, s);
    if (tile.thread_rank() == 0)
        atomicAdd(dst, sum);
}
