// One template for both reductions, with the operation as a functor.
// launch softmax_v1(x, y, rows, cols): grid=rows block=512

struct Larger {
    __device__ float operator()(float a, float b) const { return a < b ? b : a; }
};

struct Plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <typename Op>
__device__ float everyone(float value, Op op, volatile float* room)
{
    unsigned me = threadIdx.x;
    __syncthreads();
    room[me] = value;
    __syncthreads();
    for (unsigned n = blockDim.x >> 1; n; n >>= 1) {
        if (me < n)
            room[me] = op(room[me], room[me + n]);
        __syncthreads();
    }
    return room[0];
}

extern "C" __global__ void softmax_v1(const float* __restrict__ x, float* __restrict__ y, int rows, int cols)
{
    __shared__ float room[512];
    const float* from = x + size_t(blockIdx.x) * size_t(cols);
    float* to = y + (from - x);
    unsigned n = cols;

    float m = -INFINITY;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        m = Larger()(m, from[i]);
    m = everyone(m, Larger(), room);

    float sum = 0.f;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        float e = expf(from[i] - m);
        to[i] = e;
        sum += e;
    }
    sum = everyone(sum, Plus(), room);

    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        to[i] /= sum;
}
