// expect: sim=technique gpu=slow
// Right, but it takes each half of the float4 in a pass of its own: every byte crosses the link twice.

#define FRAME 1024  // samples of a frame

extern "C" __global__ void zero_copy(const float4* x, float* out, int frames)
{
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int warps = gridDim.x * blockDim.x / 32;
    const float2* halves = (const float2*)x;
    for (int pass = 0; pass < 2; ++pass) {
        for (int f = warp; f < frames; f += warps) {
            const float2* frame = halves + (size_t)f * (FRAME / 2);
            float energy = 0.0f;
            for (int i = lane; i < FRAME / 4; i += 32) {
                float2 v = frame[2 * i + pass];
                energy += v.x * v.x + v.y * v.y;
            }
            for (int s = 16; s > 0; s /= 2)
                energy += __shfl_down_sync(0xffffffff, energy, s);
            if (lane == 0)
                out[f] = pass == 0 ? energy : out[f] + energy;
        }
    }
}
