// launch split_fields(particles, planes, n): grid=min(cdiv(n, 256), 1024) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    const float4* records = (const float4*)particles;
    float *xs = planes, *ys = xs + n, *zs = ys + n, *masses = zs + n;
    int step = gridDim.x * blockDim.x;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += step) {
        const float4 record = records[k];
        xs[k] = record.x;
        ys[k] = record.y;
        zs[k] = record.z;
        masses[k] = record.w;
    }
}
