// expect: gpu=slow
// Right, without TMA: one float a thread is too little in flight.

// launch tma_copy(x, out, rows, cols, down, right): grid=(cdiv(cols, 256), min(rows, 65535)) block=256

extern "C" __global__ void tma_copy(const float* x, float* out, int rows, int cols, int down, int right)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = blockIdx.y; r < rows; r += gridDim.y)
        if (c < cols)
            out[r * cols + c] = r >= down && c >= right ? x[(r - down) * cols + c - right] : 0.0f;
}
