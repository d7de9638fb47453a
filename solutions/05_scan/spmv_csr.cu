// spmv_csr: y = A · x. A is sparse: values and columns of its non-zeros, row after row, and where each row ends.
//
// A list of nnz products and rows row ends is cut into tiles of equal length (a merge path). So a block's work depends on
// neither the longest row nor the number of empty ones. Its products become the leaves of a tree of sums, whichever rows
// they belong to. Then each row is the sum of a few nodes. A row that crosses tiles is added up by atomics, one for each.

constexpr int THREADS = 512;
constexpr int PACKS = 2;                     // of a thread: two loads of 16 bytes, for four products
constexpr int LEAVES = 4 * PACKS * THREADS;  // of a block's tree
constexpr int LINE = 32;                     // floats of a cache line
constexpr int TILE = LEAVES - (LINE - 1);    // of a block, products and row ends: its first line may begin before it
constexpr int WAYS = 4;                      // of a step of the search: three loads in flight

// scratch starts: int[cdiv(rows + nnz, TILE) + 1]
// launch find_starts(offsets, starts, y, rows, nnz): grid=cdiv(cdiv(rows + nnz, TILE) + 1, 128) block=128
// launch spmv_csr(offsets, columns, values, x, starts, y, rows, nnz): grid=cdiv(rows + nnz, TILE) block=THREADS

// The row of an item: as many row ends come before it. Row r has items offsets[r] + r to offsets[r + 1] + r; the last is its
// end.
__device__ int row_of(const int* __restrict__ offsets, int rows, int item)
{
    int row = 0;
    for (int step = 1 << 30; step > 0; step /= WAYS) {  // 0 to WAYS - 1 steps more
        int steps = 0;
#pragma unroll
        for (int i = 1; i < WAYS; ++i) {
            long long last = row + (long long)i * step - 1;
            if (last < rows && offsets[last + 1] + last < item)
                steps = i;
        }
        row += steps * step;
    }
    return row;
}

extern "C" __global__ void find_starts(const int* __restrict__ offsets, int* starts, float* y, int rows, int nnz)
{
    int tile = blockIdx.x * blockDim.x + threadIdx.x;
    if (tile > (rows + nnz + TILE - 1) / TILE)
        return;
    int first = min(tile * TILE, rows + nnz), row = row_of(offsets, rows, first);
    starts[tile] = row;

    // Two tiles may add to a row. Its first such tile is the one for which the row begins after the tile before.
    if (row < rows && offsets[row] + row > (tile - 1) * TILE)
        y[row] = 0.0f;
}

// Elements k to k + 3; zeros from `count` on. They are read once, so they leave the caches first (__ldcs) and x stays.
template <typename Pack, typename T>
__device__ Pack load_pack(const T* from, int k, int count)
{
    if (k + 4 <= count)
        return __ldcs(reinterpret_cast<const Pack*>(from + k));
    Pack pack = {};
    if (k < count)
        pack.x = from[k];
    if (k + 1 < count)
        pack.y = from[k + 1];
    if (k + 2 < count)
        pack.z = from[k + 2];
    return pack;
}

// Four leaves, and all nodes above them up to the warp's sum. The children of node i are nodes 2i and 2i + 1.
__device__ void grow(float* tree, unsigned pack, float4 p)
{
    float2 pairs = {p.x + p.y, p.z + p.w};
    reinterpret_cast<float4*>(tree + LEAVES)[pack] = p;
    reinterpret_cast<float2*>(tree + LEAVES / 2)[pack] = pairs;

    float sum = pairs.x + pairs.y;
    unsigned node = LEAVES / 4 + pack;
    tree[node] = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        sum += __shfl_down_sync(~0u, sum, step);
        node /= 2;
        if (threadIdx.x % (2 * step) == 0)
            tree[node] = sum;
    }
}

// The sum of leaves begin to end - 1.
__device__ float sum_of(const float* tree, unsigned begin, unsigned end)
{
    float sum = 0.0f;
    begin += LEAVES;
    end += LEAVES;
    while (begin < end && begin >= 2 * LEAVES / 128) {  // there are parents: a warp has 128 leaves
        if (begin % 2)
            sum += tree[begin++];  // a right child: the left one is not the row's
        if (end % 2)
            sum += tree[--end];  // a left child: the right one is not the row's
        begin /= 2;
        end /= 2;
    }
    while (begin < end)
        sum += tree[begin++];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)  // 4 blocks, 2048 threads: all that an SM can hold
    spmv_csr(const int* __restrict__ offsets, const int* __restrict__ columns, const float* __restrict__ values,
             const float* __restrict__ x, const int* __restrict__ starts, float* y, int rows, int nnz)
{
    __shared__ __align__(16) float tree[2 * LEAVES];
    int row0 = starts[blockIdx.x], row1 = starts[blockIdx.x + 1];  // row1 goes on in the next tile
    int first = blockIdx.x * TILE, k0 = first - row0, k1 = min(first + TILE, rows + nnz) - row1;
    int base = k0 / LINE * LINE;  // of the leaves

    // A thread's columns and values are all in flight before its first load of x.
    int4 column[PACKS];
    float4 p[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
        int k = base + 4 * (i * THREADS + threadIdx.x), count = k + 4 > k0 && k < k1 ? nnz : 0;
        column[i] = load_pack<int4>(columns, k, count);
        p[i] = load_pack<float4>(values, k, count);
    }
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
        p[i].x *= x[column[i].x];
        p[i].y *= x[column[i].y];
        p[i].z *= x[column[i].z];
        p[i].w *= x[column[i].w];
    }
#pragma unroll
    for (int i = 0; i < PACKS; ++i)
        grow(tree, i * THREADS + threadIdx.x, p[i]);
    __syncthreads();  // a row's nodes are from many warps

    for (int row = row0 + threadIdx.x; row <= row1 && row < rows; row += THREADS) {
        float sum = sum_of(tree, max(offsets[row], k0) - base, min(offsets[row + 1], k1) - base);
        if (row == row0 || row == row1)
            atomicAdd(&y[row], sum);  // may have a part in another tile
        else
            y[row] = sum;
    }
}
