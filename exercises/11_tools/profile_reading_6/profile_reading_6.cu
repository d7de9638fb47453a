// profile_reading_6: the squares of matrices of 64 x 64 floats, A times A. A block has one matrix, in shared memory.
//
// bound: ?   YOUR CODE: what limits the kernel: memory, shared, instructions, special, double or shuffles
// predict: ?   YOUR CODE: the counter that the statement names, when CHANGED is defined

// launch squares(a, out): grid=matrices block=256

constexpr int N = 64;

// A row has one word more: neighbouring rows begin in neighbouring banks.
constexpr int WIDTH = N + 1;

// A thread computes TILE x TILE elements of the result from 2 * TILE loads for each k.
#ifdef CHANGED
constexpr int TILE = 4;
#else
constexpr int TILE = 1;
#endif
constexpr int SIDE = N / TILE;

extern "C" __global__ void squares(const float* a, float* out)
{
    __shared__ float tile[N * WIDTH];
    const float* from = a + (size_t)blockIdx.x * N * N;
    float* to = out + (size_t)blockIdx.x * N * N;
    for (int i = threadIdx.x; i < N * N; i += 256)
        tile[i / N * WIDTH + i % N] = from[i];

    // Barrier: each thread reads rows and columns that others have stored.
    __syncthreads();

    for (int at = threadIdx.x; at < SIDE * SIDE; at += 256) {
        int row = at / SIDE, column = at % SIDE;
        const float* left = tile + row * WIDTH;
        const float* top = tile + column;
        float sum[TILE][TILE] = {};
#pragma unroll 16
        for (int k = 0; k < N; k++)
            for (int i = 0; i < TILE; i++)
                for (int j = 0; j < TILE; j++)
                    sum[i][j] += left[SIDE * i * WIDTH + k] * top[k * WIDTH + SIDE * j];
        for (int i = 0; i < TILE; i++)
            for (int j = 0; j < TILE; j++)
                to[(row + SIDE * i) * N + column + SIDE * j] = sum[i][j];
    }
}
