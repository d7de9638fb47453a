// expect: technique
// A warp takes 32 rows of x, and adds up neighbours with equal indices before the atomic: few if the indices are sorted.

#define PIECE 32
#define BATCH 8  // rows in flight

// zero out
// launch atomics_for_runs(x, index, out, n): grid=cdiv(n, 8 * PIECE) block=256

extern "C" __global__ void __launch_bounds__(256) atomics_for_runs(const float2* x, const int* index, float* out, int n)
{
    int lane = threadIdx.x % 32, first = (blockIdx.x * 8 + threadIdx.x / 32) * PIECE;
    int mine = first + lane < n ? index[first + lane] : -1;
    int row = -1;
    float2 sum = {0.0f, 0.0f};
    for (int i = 0; i < PIECE; i += BATCH) {
        float2 v[BATCH];
#pragma unroll
        for (int j = 0; j < BATCH; ++j)
            v[j] = first + i + j < n ? x[(size_t)(first + i + j) * 32 + lane] : float2{0.0f, 0.0f};
#pragma unroll
        for (int j = 0; j < BATCH; ++j) {
            int next = __shfl_sync(0xffffffff, mine, i + j);
            if (next != row) {
                if (row >= 0) {
                    atomicAdd(&out[(size_t)row * 64 + 2 * lane], sum.x);
                    atomicAdd(&out[(size_t)row * 64 + 2 * lane + 1], sum.y);
                }
                row = next;
                sum = {0.0f, 0.0f};
            }
            sum.x += v[j].x;
            sum.y += v[j].y;
        }
    }
    if (row >= 0) {
        atomicAdd(&out[(size_t)row * 64 + 2 * lane], sum.x);
        atomicAdd(&out[(size_t)row * 64 + 2 * lane + 1], sum.y);
    }
}
