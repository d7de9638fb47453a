// debug_me_5: scales short vectors to length 1, in place of a library call: 16 lanes a vector, two vectors in a warp.
//
// bug: ?   YOUR CODE: the line of this file, as you got it, where the bug is. Fix the kernel below.

constexpr int THREADS = 128;
constexpr int LANES = 16;

// launch unit_vectors(x, y, rows, cols): grid=cdiv(rows, THREADS / LANES) block=THREADS

// The sum over the 16 lanes of one vector, in each of them.
__device__ float sum_of_half(float v, int lane)
{
    // Each half of a warp has a mask of its own: the other half may have left.
    unsigned int mask = 0xffffu << (lane & 16);
    for (int s = LANES / 2; s > 0; s /= 2)
        v += __shfl_xor_sync(mask, v, s, LANES);
    return v;
}

extern "C" __global__ void unit_vectors(const float* x, float* y, int rows, int cols)
{
    int row = (blockIdx.x * THREADS + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    if (row >= rows)
        return;

    const float* from = x + (size_t)row * cols;
    float sum = 0.0f;
    for (int i = lane; i < cols; i += LANES)
        sum += from[i] * from[i];

    // A vector of length 0 stays what it is.
    float length = sqrtf(sum_of_half(sum, lane));
    float scale = length > 0.0f ? 1.0f / length : 1.0f;

    float* to = y + (size_t)row * cols;
    for (int i = lane; i < cols; i += LANES)
        to[i] = from[i] * scale;
}
