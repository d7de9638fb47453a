// upsample_nearest_2d: planes of h x w floats become planes of 2h x 2w, each value four times; and the way back for
// gradients, where each value of dx is the sum of the four values of dy that came from it.
//
// Plane p's row r is row R = p * h + r of all rows, and its results are rows 2R and 2R + 1 of all rows: p * 2h + 2r is
// 2R. So nobody has to know the plane. A block has rows and columns of its own, and no index needs a division.

#define LANES 64                 // threads along a row, two values of x each
#define HIGH 4                   // rows of threads in a block
#define ROWS 2                   // rows of x of a thread
#define STEP (HIGH * ROWS)       // rows of x of a block

// launch upsample(x, y, planes * h, w): grid=(cdiv(planes * h, STEP), cdiv(w, 2 * LANES)) block=(LANES, HIGH)
// launch upsample_backward(dy, dx, planes * h, w): grid=(cdiv(planes * h, STEP), cdiv(w, 2 * LANES)) block=(LANES, HIGH)

extern "C" __global__ void upsample(const float* x, float* y, int rows, int w)
{
    int c = 2 * (blockIdx.y * LANES + threadIdx.x);
    if (c >= w)
        return;
#pragma unroll
    for (int u = 0; u < ROWS; ++u) {
        int row = blockIdx.x * STEP + u * HIGH + threadIdx.y;
        if (row >= rows)
            break;
        const float* from = x + (size_t)row * w + c;
        float* upper = y + 4 * (size_t)row * w + 2 * c;
        float* lower = upper + 2 * w;
        if (w % 2 == 0) {
            // 8 bytes in, twice 16 bytes out: neighbouring lanes write neighbouring packs, so all sectors are full.
            // __stcs stays one store of 16 bytes; the compiler splits a plain assignment of repeated values.
            float2 v = *reinterpret_cast<const float2*>(from);
            __stcs(reinterpret_cast<float4*>(upper), {v.x, v.x, v.y, v.y});
            __stcs(reinterpret_cast<float4*>(lower), {v.x, v.x, v.y, v.y});
        } else {
            // Rows of x begin at multiples of 4 bytes only, those of y at multiples of 8.
            for (int k = 0; k < 2 && c + k < w; ++k) {
                float2 pair = {from[k], from[k]};
                reinterpret_cast<float2*>(upper)[k] = pair;
                reinterpret_cast<float2*>(lower)[k] = pair;
            }
        }
    }
}

extern "C" __global__ void upsample_backward(const float* dy, float* dx, int rows, int w)
{
    int c = 2 * (blockIdx.y * LANES + threadIdx.x);
    if (c >= w)
        return;
#pragma unroll
    for (int u = 0; u < ROWS; ++u) {
        int row = blockIdx.x * STEP + u * HIGH + threadIdx.y;
        if (row >= rows)
            break;
        const float* upper = dy + 4 * (size_t)row * w + 2 * c;
        const float* lower = upper + 2 * w;
        float* to = dx + (size_t)row * w + c;
        if (w % 2 == 0) {
            float4 a = *reinterpret_cast<const float4*>(upper);
            float4 b = *reinterpret_cast<const float4*>(lower);
            *reinterpret_cast<float2*>(to) = {(a.x + a.y) + (b.x + b.y), (a.z + a.w) + (b.z + b.w)};
        } else {
            for (int k = 0; k < 2 && c + k < w; ++k) {
                float2 a = reinterpret_cast<const float2*>(upper)[k];
                float2 b = reinterpret_cast<const float2*>(lower)[k];
                to[k] = (a.x + a.y) + (b.x + b.y);
            }
        }
    }
}
