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
    // YOUR CODE: a search. Halves need one load a step; with quarters three are in flight, and there are half the steps
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
    // YOUR CODE: five levels more, each node the sum of two lanes' nodes
}

// The sum of leaves begin to end - 1.
__device__ float sum_of(const float* tree, unsigned begin, unsigned end)
{
    float sum = 0.0f;
    begin += LEAVES;
    end += LEAVES;
    // YOUR CODE: nodes that are no whole pair, on either side, then the same for the parents; a warp has 128 leaves
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
        // YOUR CODE: a row that may have a part in another tile is added to y, others are stored
    }
}
