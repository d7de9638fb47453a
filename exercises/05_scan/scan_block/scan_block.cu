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

    // YOUR CODE: which places do not share a bank where elements are 2, 4, 8, … apart?

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

    // YOUR CODE: up the tree: the right end of each group of 2, 4, …, TILE elements gets the sum of the group.

    // YOUR CODE: down again: nothing is before the whole tile; what is before a group gives what is before its halves.

    // Barrier: all elements have what is before them.
    __syncthreads();
    if (first + t < n)
        out[first + t] = sums[at(t)];
    if (first + t + THREADS < n)
        out[first + t + THREADS] = sums[at(t + THREADS)];
}
