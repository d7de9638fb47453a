// expect: out_of_bounds
// Planes have n floats. With one for each thread of the grid they are too long, and the last one ends behind the array.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    int threads = gridDim.x * blockDim.x;
    if (i < n) {
        float4 p = reinterpret_cast<const float4*>(particles)[i];
        planes[i] = p.x;
        planes[threads + i] = p.y;
        planes[2 * threads + i] = p.z;
        planes[3 * threads + i] = p.w;
    }
}
