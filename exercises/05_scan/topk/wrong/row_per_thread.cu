// expect: technique
// A thread has a row: in each request every lane loads from another row, a sector for one float.

// launch topk(x, values, places, rows, cols): grid=cdiv(rows, 32) block=32

typedef unsigned long long Key;

__device__ Key key_of(float value, int place)
{
    unsigned int bits = __float_as_uint(value + 0.0f);
    bits ^= bits >> 31 ? ~0u : 1u << 31;
    return (Key)(isnan(value) ? ~0u : bits) << 32 | ~(unsigned int)place;
}

__device__ float value_of(Key key)
{
    unsigned int bits = key >> 32;
    return __uint_as_float(bits ^ (bits >> 31 ? 1u << 31 : ~0u));
}

extern "C" __global__ void topk(const float* x, float* values, int* places, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    x += (size_t)row * cols;
    Key best[8] = {};
    for (int c = 0; c < cols; ++c) {
        Key key = key_of(x[c], c);
        if (key > best[7])
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                Key larger = max(best[j], key);
                key = min(best[j], key);
                best[j] = larger;
            }
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        values[row * 8 + j] = value_of(best[j]);
        places[row * 8 + j] = (int)~(unsigned int)best[j];
    }
}
