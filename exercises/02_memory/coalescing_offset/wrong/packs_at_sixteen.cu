// expect: technique
// Four floats a lane from the first multiple of 16 bytes: in half of the rows 17 sectors a request, not 16.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols, 4*256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int head = min((4 - start % 4) % 4, cols);
    int packs = (cols - head) / 4;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* from = reinterpret_cast<const float4*>(x + start + head);
    float4* to = reinterpret_cast<float4*>(out + start + head);
    if (t < packs) {
        float4 v = from[t];
        float at = head + 4 * t;
        to[t] = make_float4(v.x - slope * at, v.y - slope * (at + 1), v.z - slope * (at + 2), v.w - slope * (at + 3));
    }

    // The floats before the first pack and behind the last one.
    if (t < cols - 4 * packs) {
        int c = t < head ? t : 4 * packs + t;
        out[start + c] = x[start + c] - slope * c;
    }
}
