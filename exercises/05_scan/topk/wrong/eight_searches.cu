// expect: technique
// Eight searches for the best value that comes after the last one: the row is loaded eight times.

// launch topk(x, values, places, rows, cols): grid=cdiv(rows, 8) block=256

typedef unsigned long long Key;

__device__ Key key_of(float value, int place)
{
    unsigned int bits = __float_as_uint(value + 0.0f);
    bits ^= bits >> 31 ? ~0u : 1u << 31;
    return (Key)(isnan(value) ? ~0u : bits) << 32 | ~(unsigned int)place;
}

extern "C" __global__ void topk(const float* x, float* values, int* places, int rows, int cols)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows)
        return;
    x += (size_t)row * cols;
    Key last = ~0ull;
    for (int j = 0; j < 8; ++j) {
        Key best = 0;
        for (int c = lane; c < cols; c += 32) {
            Key key = key_of(x[c], c);
            if (key < last)
                best = max(best, key);
        }
        for (int s = 16; s > 0; s /= 2)
            best = max(best, __shfl_xor_sync(~0u, best, s));
        last = best;
        if (lane == 0) {
            int place = (int)~(unsigned int)best;
            values[row * 8 + j] = x[place];
            places[row * 8 + j] = place;
        }
    }
}
