// expect: sim=pass gpu=slow
// Whole particles and coalesced, but a quarter of a block for each SM: far too few loads are under way.

// launch split_fields(particles, planes, n): grid=sm_count block=64

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 p = reinterpret_cast<const float4*>(particles)[i];
        planes[i] = p.x;
        planes[n + i] = p.y;
        planes[2 * n + i] = p.z;
        planes[3 * n + i] = p.w;
    }
}
