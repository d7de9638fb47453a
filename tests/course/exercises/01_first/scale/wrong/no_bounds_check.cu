// expect: out_of_bounds
// The last block's surplus threads read and write past the ends.

// launch scale(x, y, factor, n): grid=cdiv(n, 128) block=128

extern "C" __global__ void scale(const float* x, float* y, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = factor * x[i];
}
