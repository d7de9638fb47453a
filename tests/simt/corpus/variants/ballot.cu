// expect: pass
// A vote tells which lanes have an element; a warp without any does nothing.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    unsigned live = __ballot_sync(0xffffffff, i < m);
    float v = 0.0f;
    if (live != 0) {
        v = live >> (t % 32) & 1 ? src[i] : 0.0f;
        // Lanes 0 to count - 1 are live; steps that only bring zeros are left out.
        int count = __popc(live);
        for (int s = 16; s > 0; s /= 2)
            if (s < count)
                v += __shfl_down_sync(0xffffffff, v, s);
    }
    if (t % 32 == 0)
        sums[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; ++w)
            v += sums[w];
        dst[blockIdx.x] = v;
    }
}
