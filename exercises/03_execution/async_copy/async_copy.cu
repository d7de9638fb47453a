// async_copy: a limiter of the slew rate. Each row of x is a signal; its output follows it, but moves by at most `rate`
// from one sample to the next, and starts at 0. Samples of a row are computed one after the other, so a row has one thread.
//
// A thread that went along its row in global memory would use 4 bytes of each sector at a time. So a block takes its rows
// through shared memory, in tiles of ROWS × COLS samples: neighbouring threads copy neighbouring chunks, a thread
// limits its row in place, and neighbouring threads store neighbouring chunks.

#define ROWS 64      // signals of a block
#define COLS 64      // samples of each in a tile
#define THREADS 256  // all of them copy, ROWS of them limit a row each

// launch async_copy(x, y, rate, rows, cols): grid=cdiv(rows, ROWS) block=THREADS

#include <cuda_pipeline.h>

#define IN_ROW (COLS / 4)        // chunks of 16 bytes in a row of a tile
#define DOWN (THREADS / IN_ROW)  // rows that the block copies at once
#define ROUNDS (ROWS / DOWN)     // chunks that a thread copies

static_assert(COLS % 32 == 0 && THREADS % IN_ROW == 0 && ROWS % DOWN == 0, "all threads copy equally many chunks");
static_assert(ROWS <= THREADS, "each row has a thread");

// Where chunk c of row r lies in a tile. Eight threads with eight rows read the same c at once: exchanged like this,
// their chunks lie in different banks.
__device__ int place(int r, int c) { return r * IN_ROW + (c ^ r % 8); }

__device__ float limited(float x, float last, float rate) { return fmaxf(fminf(x, last + rate), last - rate); }

// Limits this thread's row of a tile, in place, and returns its last sample.
__device__ float limit_row(float4* tile, int chunks, float last, float rate)
{
    float4 next = tile[place(threadIdx.x, 0)];
    for (int c = 0; c < chunks; ++c) {
        float4 now = next;
        if (c + 1 < chunks)
            next = tile[place(threadIdx.x, c + 1)];  // arrives while these four are limited, one after the other
        now.x = last = limited(now.x, last, rate);
        now.y = last = limited(now.y, last, rate);
        now.z = last = limited(now.z, last, rate);
        now.w = last = limited(now.w, last, rate);
        tile[place(threadIdx.x, c)] = now;
    }
    return last;
}

// Stores the tile that begins at (row, start).
__device__ void store(const float4* tile, float* y, int row, int start, int rows, int cols)
{
#pragma unroll
    for (int i = 0; i < ROUNDS; ++i) {
        int r = i * DOWN + threadIdx.x / IN_ROW, c = threadIdx.x % IN_ROW;
        if (row + r < rows && start + 4 * c < cols)
            *(float4*)(y + (size_t)(row + r) * cols + start + 4 * c) = tile[place(r, c)];
    }
}

// A thread copies the same chunks in every tile, and they are those that it stores.
__device__ void fetch(float4* tile, const float* x, int row, int start, int rows, int cols)
{
    // YOUR CODE: all loads of a thread, then all its stores to shared memory. Ask for copies past the registers instead.
    float4 part[ROUNDS];                                                               // YOUR CODE
#pragma unroll
    for (int i = 0; i < ROUNDS; ++i) {
        int r = i * DOWN + threadIdx.x / IN_ROW, c = threadIdx.x % IN_ROW;
        if (row + r < rows && start + 4 * c < cols)
            part[i] = *(const float4*)(x + (size_t)(row + r) * cols + start + 4 * c);  // YOUR CODE
    }
#pragma unroll                                                                         // YOUR CODE
    for (int i = 0; i < ROUNDS; ++i) {                                                 // YOUR CODE
        int r = i * DOWN + threadIdx.x / IN_ROW, c = threadIdx.x % IN_ROW;             // YOUR CODE
        if (row + r < rows && start + 4 * c < cols)                                    // YOUR CODE
            tile[place(r, c)] = part[i];                                               // YOUR CODE
    }                                                                                  // YOUR CODE
}

extern "C" __global__ void __launch_bounds__(THREADS) async_copy(const float* x, float* y, float rate, int rows, int cols)
{
    __shared__ float4 tile[1][ROWS * IN_ROW];  // YOUR CODE: a second stage

    int row = blockIdx.x * ROWS;
    float last = 0.0f;

    // YOUR CODE: what is asked for before the loop?

    for (int start = 0, now = 0; start < cols; start += COLS) {  // YOUR CODE: `now` is the stage to work on
        // YOUR CODE: the copies of the next tile, the wait for this one, the barrier: in which order, and why?
        fetch(tile[now], x, row, start, rows, cols);  // YOUR CODE: this tile is asked for when it is needed

        // Barrier: now the copies of all threads have arrived.
        __syncthreads();

        if (threadIdx.x < ROWS && row + threadIdx.x < rows)
            last = limit_row(tile[now], min(COLS, cols - start) / 4, last, rate);

        // Barrier: a thread stores chunks of rows that others have limited.
        __syncthreads();
        store(tile[now], y, row, start, rows, cols);
    }
}
