// profile_reading_4: the potential of screened charges at points of a plane; a charge's share falls with its distance.
//
// bound: ?   YOUR CODE: what limits the kernel: memory, shared, instructions, special, double or shuffles
// predict: ?   YOUR CODE: the counter that the statement names, when CHANGED is defined

// launch potential(points, charges, out, n, m, length): grid=cdiv(n, 256) block=256

// What a charge adds at the distance sqrt(square): half as much for each `length`, and one over the distance.
__device__ float share(float charge, float square, float length)
{
#ifdef CHANGED
    float inverse = rsqrtf(square);
    return charge * exp2f(-square * inverse * (1.0f / length)) * inverse;
#else
    float distance = sqrtf(square);
    return charge * exp2f(-distance / length) / distance;
#endif
}

extern "C" __global__ void potential(const float2* points, const float4* charges, float* out, int n, int m, float length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 at = points[i];
    float sum = 0.0f;
    for (int j = 0; j < m; j++) {
        // All lanes load the same 16 bytes: x, y, height above the plane, charge.
        float4 c = charges[j];
        float dx = c.x - at.x, dy = c.y - at.y;

        // No charge is in the plane itself: 0.01 is the square of the least distance.
        sum += share(c.w, dx * dx + dy * dy + c.z * c.z + 0.01f, length);
    }
    out[i] = sum;
}
