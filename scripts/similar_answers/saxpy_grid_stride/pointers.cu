// Three pointers that walk.
// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    size_t jump = size_t(gridDim.x) * blockDim.x, first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const float *px = x + first, *py = y + first, *end = x + n;
    float* po = out + first;
    for (; px + jump < end; px += 2 * jump, py += 2 * jump, po += 2 * jump) {
        float a = *px, b = px[jump], c = *py, d = py[jump];
        *po = alpha * a + c;
        po[jump] = alpha * b + d;
    }
    if (px < end)
        *po = alpha * *px + *py;
}
