// expect: technique
// Four loads of one float each: in every one of them the lanes lie 16 bytes apart, and use a quarter of 16 sectors.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        for (int f = 0; f < 4; ++f)
            planes[f * n + i] = particles[4 * i + f];
}
