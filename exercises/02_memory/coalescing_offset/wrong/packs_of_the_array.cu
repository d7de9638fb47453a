// expect: crash
// A row goes in packs of four floats, from the first whole pack of the array on: of a slice that is no multiple of 16.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    int head = min((4 - start % 4) % 4, cols);
    int packs = (cols - head) / 4;
    int tail = head + 4 * packs;
    for (int p = threadIdx.x; p < packs; p += blockDim.x) {
        int c = head + 4 * p;
        float4 v = reinterpret_cast<const float4*>(x + start + c)[0];
        v.x -= slope * c;
        v.y -= slope * (c + 1);
        v.z -= slope * (c + 2);
        v.w -= slope * (c + 3);
        reinterpret_cast<float4*>(out + start + c)[0] = v;
    }
    int c = threadIdx.x < head ? threadIdx.x : tail + threadIdx.x - head;
    if (c < cols && threadIdx.x < head + cols - tail)
        out[start + c] = x[start + c] - slope * c;
}
