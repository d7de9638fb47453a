// spmv_csr: y = A · x. A is sparse: values and columns of its non-zeros, row after row, and where each row ends.
//
// A list of nnz products and rows row ends is cut into tiles of equal length (a merge path). So a block's work depends on
// neither the longest row nor the number of empty ones. A row that crosses tiles is added up by atomics, one for each.

constexpr int THREADS = 256;
constexpr int ITEMS = 9;               // of a thread, products and row ends together; odd: 32 lanes read 32 banks
constexpr int TILE = THREADS * ITEMS;  // of a block

// scratch starts: int[cdiv(rows + nnz, TILE) + 1]
// zero y
// launch find_starts(offsets, starts, rows, nnz): grid=cdiv(cdiv(rows + nnz, TILE) + 1, 256) block=256
// launch spmv_csr(offsets, columns, values, x, starts, y, rows, nnz): grid=cdiv(rows + nnz, TILE) block=THREADS

// How many of the first `item` items are row ends. The end of row r comes before product k if ends[r] <= k.
__device__ int rows_before(const int* ends, int rows, int products, int item)
{
    int low = max(0, item - products), high = min(item, rows);
    // YOUR CODE: a binary search between low and high
    return low;
}

extern "C" __global__ void find_starts(const int* offsets, int* starts, int rows, int nnz)
{
    int tile = blockIdx.x * blockDim.x + threadIdx.x;
    if (tile <= (rows + nnz + TILE - 1) / TILE)
        starts[tile] = rows_before(offsets + 1, rows, nnz, min(tile * TILE, rows + nnz));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    spmv_csr(const int* __restrict__ offsets, const int* __restrict__ columns, const float* __restrict__ values,
             const float* __restrict__ x, const int* __restrict__ starts, float* y, int rows, int nnz)
{
    __shared__ float products[TILE];  // and behind them the row ends: together they are one tile
    __shared__ int last_row[THREADS / 32];
    __shared__ float last_sum[THREADS / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int first = blockIdx.x * TILE, items = min(TILE, rows + nnz - first);
    int row0 = starts[blockIdx.x], k0 = first - row0;
    int tile_rows = starts[blockIdx.x + 1] - row0, tile_products = items - tile_rows;
    int* ends = reinterpret_cast<int*>(products + tile_products);

    // A thread's columns and values are all in flight before its first load of x. They are read once, so they leave the
    // caches first (__ldcs) and x stays.
    int column[ITEMS];
    float value[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        int k = i * THREADS + threadIdx.x;
        column[i] = k < tile_products ? __ldcs(columns + k0 + k) : 0;
        value[i] = k < tile_products ? __ldcs(values + k0 + k) : 0.0f;
    }
    for (int r = threadIdx.x; r < tile_rows; r += THREADS)
        ends[r] = offsets[row0 + r + 1] - k0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        int k = i * THREADS + threadIdx.x;
        if (k < tile_products)
            products[k] = value[i] * x[column[i]];
    }
    __syncthreads();  // all products and row ends of the tile are there

    // A thread walks along its items. `sum` belongs to row r, which is not finished.
    int item = min((int)threadIdx.x * ITEMS, items), stop = min(item + ITEMS, items);
    int r = rows_before(ends, tile_rows, tile_products, item), k = item - r;
    int begun = r;  // earlier threads, or tiles, may have a part of this row
    float sum = 0.0f, head = 0.0f;
    // YOUR CODE: sums of rows that end here; the first one's goes to `head`, for earlier threads have a part of it

    // What is carried to the next thread: a sum over the lanes, as far back as they end in the same row.
    float carry = sum;
    // YOUR CODE: shuffles, each with the sum and the row of an earlier lane
    if (lane == 31) {
        last_row[warp] = r;
        last_sum[warp] = carry;
    }
    __syncthreads();  // all warps' last sums are there

    // What this thread gets from earlier lanes, and from earlier warps for the row that this warp begins with.
    float before = __shfl_up_sync(~0u, carry, 1), earlier = 0.0f;
    if (lane == 0)
        before = 0.0f;
    int warp_row = __shfl_sync(~0u, begun, 0);
    // YOUR CODE: the sums of earlier warps, as far back as they end in warp_row
    if (r > begun) {
        float total = head + before + (begun == warp_row ? earlier : 0.0f);
        if (begun == 0)
            atomicAdd(&y[row0], total);  // may have begun in an earlier tile
        else
            y[row0 + begun] = total;
    }
    if (threadIdx.x == THREADS - 1 && row0 + r < rows)  // goes on in the next tile
        atomicAdd(&y[row0 + r], carry + (r == warp_row ? earlier : 0.0f));
}
