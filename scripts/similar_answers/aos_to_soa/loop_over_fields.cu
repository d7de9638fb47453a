// launch split_fields(particles, planes, n): grid=cdiv(n, 128) block=128

struct alignas(16) Particle {
    float field[4];
};

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    unsigned who = blockDim.x * blockIdx.x + threadIdx.x;
    if (who >= n)
        return;
    Particle mine = ((const Particle*)particles)[who];
#pragma unroll
    for (int f = 0; f < 4; f++)
        planes[(size_t)f * n + who] = mine.field[f];
}
