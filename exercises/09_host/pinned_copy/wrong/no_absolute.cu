// expect: wrong
// The largest sample instead of the largest |sample|: a frame may have its peak below zero.

// pinned_copy: the largest |sample| of each frame of a recording that a copy has brought to the GPU.
//
// The kernel is given, and right: nothing to change here, though you may. The exercise is pinned_copy_host.py.

#define FRAME 1024  // samples of a frame

extern "C" __global__ void pinned_copy(const float4* x, float* out, int frames)
{
    int lane = threadIdx.x % 32;
    int f = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (f >= frames)
        return;  // f is the same for the whole warp: all of its lanes leave, or none

    // One warp a frame: its lanes read 512 bytes without a gap, eight times.
    const float4* frame = x + (size_t)f * (FRAME / 4);
    float largest = 0.0f;
#pragma unroll
    for (int i = 0; i < FRAME / 4; i += 32) {
        float4 v = frame[i + lane];
        largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    for (int s = 16; s > 0; s /= 2)
        largest = fmaxf(largest, __shfl_down_sync(0xffffffff, largest, s));
    if (lane == 0)
        out[f] = largest;
}
