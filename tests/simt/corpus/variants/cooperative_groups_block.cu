// expect: pass
// cooperative_groups: thread_block and its sync().

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ float partial[];
    int t = block.thread_rank();
    int i = block.group_index().x * block.size() + t;
    partial[t] = i < m ? src[i] : 0.0f;
    block.sync();
    for (int s = block.size() / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        block.sync();
    }
    if (t == 0)
        dst[block.group_index().x] = partial[0];
}
