// expect: wrong
// Three planes of four: nobody writes the masses.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float4 p = reinterpret_cast<const float4*>(particles)[i];
        planes[i] = p.x;
        planes[n + i] = p.y;
        planes[2 * n + i] = p.z;
    }
}
