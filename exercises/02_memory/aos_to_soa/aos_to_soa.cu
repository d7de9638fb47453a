// aos_to_soa: n particles of four floats (x, y, z, mass) become four planes: all x, then all y, all z, all masses.

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // The last block sticks out: its surplus threads have no particle.
    if (i < n) {
        // YOUR CODE: load particle i. With how many requests?

        // YOUR CODE: store its four fields, each into its own plane.
    }
}
