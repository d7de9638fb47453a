// scan_block: the exclusive prefix sum of each tile of 1024 floats, by Blelloch's tree in shared memory.
//
// Up the tree each node gets the sum of its half, down again each node gets the sum of all that is before it.

constexpr int TILE = 1024;
constexpr int THREADS = TILE / 2;

// launch scan_block(x, out, n): grid=cdiv(n, TILE) block=THREADS

// Where element i of the tile lies. One unused word after every 32: elements that are a power of two apart would
// otherwise share a bank.
__device__ int at(int i)
{
    int place = i;
    place += i / 32;
    return place;
}

extern "C" __global__ void scan_block(const float* x, float* out, int n)
{
    __shared__ float sums[TILE + TILE / 32];
    int t = threadIdx.x;
    int first = blockIdx.x * TILE;

    // Places behind the end hold 0: a barrier follows, so no thread may leave.
    sums[at(t)] = first + t < n ? x[first + t] : 0.0f;
    sums[at(t + THREADS)] = first + t + THREADS < n ? x[first + t + THREADS] : 0.0f;

    // Up: the right end of each group of 2d gets the sum of the group.
    for (int d = 1; d < TILE; d *= 2) {
        // Barrier: the sums of groups of d, by other threads, are stored.
        __syncthreads();
        if (t < TILE / (2 * d)) {
            int left = (2 * t + 1) * d - 1;
            sums[at(left + d)] += sums[at(left)];
        }
    }

    // Nothing is before the whole tile. The thread that stored the total there replaces it.
    if (t == 0)
        sums[at(TILE - 1)] = 0.0f;

    // Down: a group has at its right end what is before it. So has its left half; its right half has the left's sum more.
    for (int d = TILE / 2; d > 0; d /= 2) {
        // Barrier: what is before groups of 2d is stored.
        __syncthreads();
        if (t < TILE / (2 * d)) {
            int left = (2 * t + 1) * d - 1;
            float left_sum = sums[at(left)];
            sums[at(left)] = sums[at(left + d)];
            sums[at(left + d)] += left_sum;
        }
    }

    // Barrier: all elements have what is before them.
    __syncthreads();
    if (first + t < n)
        out[first + t] = sums[at(t)];
    if (first + t + THREADS < n)
        out[first + t + THREADS] = sums[at(t + THREADS)];
}
