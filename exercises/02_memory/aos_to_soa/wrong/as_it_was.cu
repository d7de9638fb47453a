// expect: wrong
// Loaded and stored as a whole: the particles are still particles.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        reinterpret_cast<float4*>(planes)[i] = reinterpret_cast<const float4*>(particles)[i];
}
