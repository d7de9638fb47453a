// expect: technique
// A structure of four floats need begin only at a multiple of 4, so the compiler loads it float by float.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

struct Particle {
    float x, y, z, mass;
};

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        Particle p = reinterpret_cast<const Particle*>(particles)[i];
        planes[i] = p.x;
        planes[n + i] = p.y;
        planes[2 * n + i] = p.z;
        planes[3 * n + i] = p.mass;
    }
}
