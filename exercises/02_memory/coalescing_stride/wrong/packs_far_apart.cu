// expect: technique
// A float4 is coalesced only if the next lane has the next one. Here each lane has two: half of each sector is used.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, 8*256) block=256

extern "C" __global__ void calibrate(const float* x, float* out, float gain, float offset, int n)
{
    // Whole pieces as two packs of four floats.
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (8 * t + 7 < n) {
        float4 a = reinterpret_cast<const float4*>(x)[2 * t];
        float4 b = reinterpret_cast<const float4*>(x)[2 * t + 1];
        reinterpret_cast<float4*>(out)[2 * t] =
            make_float4(gain * a.x + offset, gain * a.y + offset, gain * a.z + offset, gain * a.w + offset);
        reinterpret_cast<float4*>(out)[2 * t + 1] =
            make_float4(gain * b.x + offset, gain * b.y + offset, gain * b.z + offset, gain * b.w + offset);
    } else {
        for (int i = 8 * t; i < n; ++i)
            out[i] = gain * x[i] + offset;
    }
}
