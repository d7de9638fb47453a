// expect: technique
// Packs on both sides, but a thread's four particles are neighbours: its lanes' loads lie 64 bytes apart.

// launch split_fields(particles, planes, n): grid=cdiv(n, 4*256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* p = reinterpret_cast<const float4*>(particles);
    if (n % 4 == 0 && 4 * i < n) {
        // Four whole particles become four packs, one for each plane.
        float4 a = p[4 * i], b = p[4 * i + 1], c = p[4 * i + 2], d = p[4 * i + 3];
        reinterpret_cast<float4*>(planes)[i] = make_float4(a.x, b.x, c.x, d.x);
        reinterpret_cast<float4*>(planes + n)[i] = make_float4(a.y, b.y, c.y, d.y);
        reinterpret_cast<float4*>(planes + 2 * n)[i] = make_float4(a.z, b.z, c.z, d.z);
        reinterpret_cast<float4*>(planes + 3 * n)[i] = make_float4(a.w, b.w, c.w, d.w);
    } else {
        // Planes that begin anywhere: single floats.
        for (int j = 4 * i; j < min(4 * i + 4, n); ++j)
            for (int f = 0; f < 4; ++f)
                planes[f * n + j] = particles[4 * j + f];
    }
}
