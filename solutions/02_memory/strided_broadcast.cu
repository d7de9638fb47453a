// strided_broadcast: out = a + b for arrays with four axes, n0 x n1 x n2 x n3. out has no gaps. The operands have a stride
// for each axis, in floats: 0 where the operand is repeated along the axis, and any order where it is a permuted view.
//
// The first three axes together are rows. A thread takes four neighbouring columns of ROWS neighbouring rows. It divides
// to find the place of its first row, and counts from there, like a clock: the last axis that is full moves the next one.
// An index fits into an int, and so does the number of rows. A distance in memory may not.

#define LANES 64                 // threads along a row, four columns each
#define HIGH 4                   // rows of threads in a block
#define ROWS 4                   // neighbouring rows of a thread
#define STEP (HIGH * ROWS)       // rows of a block

// launch strided_broadcast(a, b, out, n0, n1, n2, n3, a0, a1, a2, a3, b0, b1, b2, b3): grid=(cdiv(n0 * n1 * n2, STEP), cdiv(n3, 4 * LANES)) block=(LANES, HIGH)

// Four neighbouring values along an axis with this stride; `packs`: they begin at a multiple of 16 bytes, without gaps.
__device__ float4 four(const float* p, long long stride, bool packs)
{
    if (packs)
        return *reinterpret_cast<const float4*>(p);
    return {p[0], p[stride], p[2 * stride], p[3 * stride]};
}

extern "C" __global__ void strided_broadcast(const float* a, const float* b, float* out, int n0, int n1, int n2, int n3,
                                             long long a0, long long a1, long long a2, long long a3, long long b0,
                                             long long b1, long long b2, long long b3)
{
    int begin = 4 * LANES * blockIdx.y, c = begin + 4 * threadIdx.x;
    int rows = n0 * n1 * n2, row = ROWS * (blockIdx.x * HIGH + threadIdx.y);

    // The only two divisions, for ROWS rows together.
    int i1 = row / n2, i2 = row - i1 * n2, i0 = i1 / n1;
    i1 -= i0 * n1;
    // An int times a long long is a long long.
    long long from_a[ROWS], from_b[ROWS];
#pragma unroll
    for (int u = 0; u < ROWS; ++u) {
        from_a[u] = i0 * a0 + i1 * a1 + i2 * a2;
        from_b[u] = i0 * b0 + i1 * b1 + i2 * b2;
        if (++i2 == n2) {
            i2 = 0;
            if (++i1 == n1) {
                i1 = 0;
                ++i0;
            }
        }
    }

    if (n3 % 4 == 0) {
        if (c >= n3)
            return;
        bool packs_a = a3 == 1 && (a0 | a1 | a2) % 4 == 0, packs_b = b3 == 1 && (b0 | b1 | b2) % 4 == 0;
        // All loads come before the first store.
        float4 v[ROWS], w[ROWS];
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            if (row + u < rows) {
                v[u] = four(a + from_a[u] + c * a3, a3, packs_a);
                w[u] = four(b + from_b[u] + c * b3, b3, packs_b);
            }
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            float4 sum = {v[u].x + w[u].x, v[u].y + w[u].y, v[u].z + w[u].z, v[u].w + w[u].w};
            if (row + u < rows)
                __stcs(reinterpret_cast<float4*>(out + (size_t)(row + u) * n3 + c), sum);
        }
    } else {
        // Rows of out begin anywhere: one float at a time, and neighbouring lanes still have neighbouring floats.
#pragma unroll
        for (int u = 0; u < ROWS; ++u)
            for (int col = begin + threadIdx.x; row + u < rows && col < n3 && col < begin + 4 * LANES; col += LANES)
                out[(size_t)(row + u) * n3 + col] = a[from_a[u] + col * a3] + b[from_b[u] + col * b3];
    }
}
