// profile_reading_2: the sum of each row of 32 floats. A warp loads 32 rows into a tile; then each lane adds up a row.
//
// bound: ?   YOUR CODE: what limits the kernel: memory, shared, instructions, special, double or shuffles
// predict: ?   YOUR CODE: the counter that the statement names, when CHANGED is defined

// launch row_sums(x, sums): grid=tiles block=32

// The words of a row's end: none in this version, one in the next.
#ifdef CHANGED
constexpr int WIDTH = 33;
#else
constexpr int WIDTH = 32;
#endif

extern "C" __global__ void row_sums(const float* x, float* sums)
{
    __shared__ float tile[32 * WIDTH];
    const float* from = x + (size_t)blockIdx.x * 1024;
    int lane = threadIdx.x;

    // A row at a time: neighbouring lanes load neighbouring floats.
    for (int row = 0; row < 32; row++)
        tile[row * WIDTH + lane] = from[32 * row + lane];

    // Barrier: each lane reads what the others have stored.
    __syncthreads();

    float sum = 0.0f;
    for (int k = 0; k < 32; k++)
        sum += tile[lane * WIDTH + k];
    sums[blockIdx.x * 32 + lane] = sum;
}
