// im2col: the 3 x 3 patches of planes of h x w values, with zeros around, like torch.nn.functional.unfold(x, 3, padding=1).
// Row 9 * p + k of y has, for each place of plane p, the value that tap k = 3 * i + j sees there.
//
// A thread has four neighbouring columns of two neighbouring rows. It keeps the 4 x 6 values that their patches cover, and
// stores 18 packs. The plane is blockIdx.x, and a block has rows and columns of its own, so no index needs a division by
// a number known at run time only.

#define LANES 32                 // threads along a row, four columns each
#define HIGH 8                   // rows of threads in a block
#define ROWS 2                   // neighbouring rows of a thread
#define STEP (HIGH * ROWS)       // rows of a block

// launch im2col(x, y, h, w): grid=(planes, cdiv(h, STEP), cdiv(w, 4 * LANES)) block=(LANES, HIGH)

extern "C" __global__ void im2col(const float* x, float* y, int h, int w)
{
    int begin = 4 * LANES * blockIdx.z, c = begin + 4 * threadIdx.x;
    int top = blockIdx.y * STEP + ROWS * threadIdx.y;
    x += (size_t)blockIdx.x * h * w;
    y += (size_t)blockIdx.x * 9 * h * w;
    if (w % 4 == 0) {
        if (c >= w)
            return;
        // Columns c - 1 to c + 4 of rows top - 1 to top + ROWS. All indices are constants: the array is in registers.
        float v[ROWS + 2][6];
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) {
            int r = top - 1 + i;
            bool inside = 0 <= r && r < h;
            const float* from = x + r * w + c;
            float4 middle = {0.0f, 0.0f, 0.0f, 0.0f};
            if (inside)
                middle = *reinterpret_cast<const float4*>(from);
            // The two values beside the pack are in lines that the neighbours load: L1 has them.
            v[i][0] = inside && c > 0 ? from[-1] : 0.0f;
            v[i][1] = middle.x;
            v[i][2] = middle.y;
            v[i][3] = middle.z;
            v[i][4] = middle.w;
            v[i][5] = inside && c + 4 < w ? from[4] : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < 9; ++k) {
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                const float* tap = &v[u + k / 3][k % 3];
                float4 pack = {tap[0], tap[1], tap[2], tap[3]};
                if (top + u < h)
                    __stcs(reinterpret_cast<float4*>(y + (k * h + top + u) * w + c), pack);
            }
        }
    } else {
        // Rows begin anywhere: one float at a time, and neighbouring lanes still store neighbouring floats.
        for (int row = top; row < top + ROWS && row < h; ++row) {
            for (int col = begin + threadIdx.x; col < w && col < begin + 4 * LANES; col += LANES) {
                for (int k = 0; k < 9; ++k) {
                    int r = row + k / 3 - 1, s = col + k % 3 - 1;
                    bool inside = 0 <= r && r < h && 0 <= s && s < w;
                    y[(k * h + row) * w + col] = inside ? x[r * w + s] : 0.0f;
                }
            }
        }
    }
}
