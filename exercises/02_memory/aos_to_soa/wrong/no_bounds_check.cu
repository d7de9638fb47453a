// expect: sim=out_of_bounds
// The last block sticks out, and its surplus threads load and store all the same.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    float4 p = reinterpret_cast<const float4*>(particles)[i];
    planes[i] = p.x;
    planes[n + i] = p.y;
    planes[2 * n + i] = p.z;
    planes[3 * n + i] = p.w;
}
