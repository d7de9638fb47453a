// coalescing_offset: takes a ramp off every row: out[r][c] = x[r][c] - slope * c.
//
// Rows have cols floats and lie in memory one right after the other, in x and in out alike. cols is rarely a multiple
// of 8, so most rows begin in the middle of a sector. A row is a head, a body of packs (float4), and a tail.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols, 4*256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    // Where this block's row begins, counted from the start of the array.
    int start = blockIdx.y * cols;
    const float* in = x + start;
    float* to = out + start;

    // The head ends where the row's first whole sector begins. It is the address that counts, because the array may be
    // a slice; and a row may end before its first whole sector does begin.
    int head = min(int((8 - (size_t)in / 4 % 8) % 8), cols);

    // The body. A pack needs an address that is a multiple of 16, in x and in out: if they are not equally far from
    // one, no element begins a pack in both, and the row has no body.
    bool together = ((size_t)in - (size_t)to) % 16 == 0;
    int packs = together ? (cols - head) / 4 : 0;

    // Pack p belongs to thread p of the row. So a warp has 32 neighbouring packs: 512 bytes, and they begin at a sector
    // as the body does: 16 sectors, where 17 are touched from any other multiple of 16.
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < packs) {
        int c = head + 4 * p;
        float4 v = *reinterpret_cast<const float4*>(in + c);
        v.x -= slope * c;
        v.y -= slope * (c + 1);
        v.z -= slope * (c + 2);
        v.w -= slope * (c + 3);
        *reinterpret_cast<float4*>(to + c) = v;
    }

    // What is in no pack, float by float: the head, and then, behind all packs, the tail. These are at most 7 + 3, for
    // lanes of one warp. Of a row without a body it is everything, at most four for each thread.
    for (int k = p; k < cols - 4 * packs; k += gridDim.x * blockDim.x) {
        int c = k < head ? k : k + 4 * packs;
        to[c] = in[c] - slope * c;
    }
}
