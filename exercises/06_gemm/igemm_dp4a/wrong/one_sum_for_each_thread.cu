// expect: sim=technique gpu=slow
// Each thread has one sum: two words come from shared memory for each dp4a.

#define TILE 32    // rows and columns of C in a block, and bytes along k in a step
#define WORDS (TILE / 4)

// launch igemm_dp4a(A, B, C, m, n, k): grid=(cdiv(n, TILE), cdiv(m, TILE)) block=(TILE, TILE)

extern "C" __global__ void igemm_dp4a(const signed char* A, const signed char* B, int* C, int m, int n, int k)
{
    __shared__ int a_tile[TILE][WORDS + 1];
    __shared__ int b_tile[TILE][WORDS + 1];

    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    int t = threadIdx.y * TILE + threadIdx.x;
    int line = t / WORDS % TILE;
    int word = t % WORDS;
    int sum = 0;
    for (int at = 0; at < k; at += TILE) {
        // The first 256 threads load a word of A each, the next 256 a word of B.
        const signed char* matrix = t < TILE * WORDS ? A : B;
        int first = t < TILE * WORDS ? blockIdx.y * TILE : blockIdx.x * TILE;
        int lines = t < TILE * WORDS ? m : n;
        bool inside = first + line < lines && at + 4 * word < k;
        int v = t < 2 * TILE * WORDS && inside
                    ? *reinterpret_cast<const int*>(matrix + (size_t)(first + line) * k + at + 4 * word)
                    : 0;
        if (t < TILE * WORDS)
            a_tile[line][word] = v;
        else if (t < 2 * TILE * WORDS)
            b_tile[line][word] = v;

        // Barrier: both tiles are stored before any thread reads them.
        __syncthreads();

#pragma unroll
        for (int w = 0; w < WORDS; ++w)
            sum = __dp4a(a_tile[threadIdx.y][w], b_tile[threadIdx.x][w], sum);

        // Barrier: all threads have read the tiles before the next step overwrites them.
        __syncthreads();
    }
    if (row < m && col < n)
        C[(size_t)row * n + col] = sum;
}
