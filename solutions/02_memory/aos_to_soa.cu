// aos_to_soa: n particles of four floats (x, y, z, mass) become four planes: all x, then all y, all z, all masses.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // The last block sticks out: its surplus threads have no particle.
    if (i < n) {
        // One request for the whole particle. Lanes lie 16 bytes apart and ask for 16 bytes each, so the warp uses every
        // byte of its 16 sectors. Particle i begins at a multiple of 16, as a float4 must.
        float4 p = reinterpret_cast<const float4*>(particles)[i];

        // Four requests, each for 32 neighbouring floats of one plane: 4 sectors.
        planes[i] = p.x;
        planes[n + i] = p.y;
        planes[2 * n + i] = p.z;
        planes[3 * n + i] = p.w;
    }
}
