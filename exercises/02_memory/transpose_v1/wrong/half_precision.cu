// expect: wrong
// The element passes through 16 bits: 11 bits of its 24 arrive.

#include <cuda_fp16.h>

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(rows, 32), cdiv(cols, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = __half2float(__float2half(x[r * cols + c]));
}
