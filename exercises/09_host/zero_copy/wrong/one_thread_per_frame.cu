// expect: sim=technique gpu=slow
// Right, but neighbouring threads read 4 KB apart: the link carries many small pieces.

#define FRAME 1024  // samples of a frame

extern "C" __global__ void zero_copy(const float4* x, float* out, int frames)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    for (int f = thread; f < frames; f += threads) {
        const float4* frame = x + (size_t)f * (FRAME / 4);
        float energy = 0.0f;
        for (int i = 0; i < FRAME / 4; ++i) {
            float4 v = frame[i];
            energy += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
        out[f] = energy;
    }
}
