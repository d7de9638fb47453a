// expect: wrong
// The grid has a few blocks for each SM, and each warp takes one frame only: many frames are never computed.

// zero_copy: the energy of each frame of a recording that lies in host memory. Each byte crosses the link once.
//
// The launch is in zero_copy_host.py. x and out are addresses of host memory, as the GPU sees it.

#define FRAME 1024  // samples of a frame

extern "C" __global__ void zero_copy(const float4* x, float* out, int frames)
{
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

    // One warp a frame.
    int f = warp;
    if (f < frames) {
        const float4* frame = x + (size_t)f * (FRAME / 4);
        float energy = 0.0f;

        // Neighbouring lanes read neighbouring float4: one request covers 512 bytes without a gap. The eight requests
        // of a frame are on their way together, because none waits for another: a trip takes a microsecond or more.
#pragma unroll
        for (int i = 0; i < FRAME / 4; i += 32) {
            float4 v = frame[i + lane];
            energy += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }

        // The lanes' sums come together in lane 0. All 32 lanes are here: f is the same for the whole warp.
        for (int s = 16; s > 0; s /= 2)
            energy += __shfl_down_sync(0xffffffff, energy, s);
        if (lane == 0)
            out[f] = energy;
    }
}
