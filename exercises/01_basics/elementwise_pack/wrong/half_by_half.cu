// expect: sim=technique gpu=slow
// One half a thread: right, and 2 bytes a load keep too little in flight.

// launch add_relu(a, b, c, n): grid=cdiv(n, 256) block=256

#include <cuda_fp16.h>

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = __hmax(__hadd(a[i], b[i]), __float2half(0.0f));
}
