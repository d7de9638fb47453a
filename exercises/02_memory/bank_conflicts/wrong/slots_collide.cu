// expect: sim=race gpu=wrong
// The swizzle folds eight words onto four slots: two threads store into one word.

// launch split_pairs(x, planes, rows): grid=cdiv(rows, 8) block=256
// launch merge_eight(x, merged, rows): grid=cdiv(rows, 8) block=256
// launch transpose_rows(x, columns, rows): grid=cdiv(rows, 32) block=256

__device__ int pair_slot(int i)
{
    return i + i / 32;
}

extern "C" __global__ void split_pairs(const float* x, float* planes, int rows)
{
    __shared__ float tile[256 + 8];
    int t = threadIdx.x;
    int word = blockIdx.x * 256 + t;
    if (word < 32 * rows)
        tile[pair_slot(t)] = x[word];
    __syncthreads();
    int side = t / 128;
    int k = t % 128;
    int pair = blockIdx.x * 128 + k;
    if (pair < 16 * rows)
        planes[16 * rows * side + pair] = tile[pair_slot(2 * k + side)];
}

__device__ int eight_slot(int i)
{
    return i / 8 * 8 + (i + i / 32) % 4;
}

extern "C" __global__ void merge_eight(const float* x, float* merged, int rows)
{
    __shared__ float tile[256 + 8];
    int t = threadIdx.x;
    int plane = t / 32;
    int lane = t % 32;
    int record = blockIdx.x * 32 + lane;
    if (record < 4 * rows)
        tile[eight_slot(8 * lane + plane)] = x[4 * rows * plane + record];
    __syncthreads();
    int word = blockIdx.x * 256 + t;
    if (word < 32 * rows)
        merged[word] = tile[eight_slot(t)];
}

__device__ int tile_slot(int i)
{
    return i + i / 32;
}

extern "C" __global__ void transpose_rows(const float* x, float* columns, int rows)
{
    __shared__ float tile[1024 + 32];
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int first = blockIdx.x * 32;
    for (int r = warp; r < 32; r += 8)
        if (first + r < rows)
            tile[tile_slot(32 * r + lane)] = x[32 * (first + r) + lane];
    __syncthreads();
    for (int c = warp; c < 32; c += 8)
        if (first + lane < rows)
            columns[rows * c + first + lane] = tile[tile_slot(32 * lane + c)];
}
