// One pass for maximum and sum together: the sum is rescaled whenever the maximum grows.
// launch softmax_v1(x, y, rows, cols): grid=rows block=128

struct Pair { float m; float s; };

__device__ Pair join(Pair p, Pair q)
{
    Pair r;
    r.m = p.m > q.m ? p.m : q.m;
    r.s = (p.s == 0.0f ? 0.0f : p.s * expf(p.m - r.m)) + (q.s == 0.0f ? 0.0f : q.s * expf(q.m - r.m));
    return r;
}

extern "C" __global__ void softmax_v1(const float* x, float* y, int rows, int cols)
{
    __shared__ Pair work[128];
    size_t offset = size_t(cols) * blockIdx.x;
    Pair own = {-INFINITY, 0.0f};
    for (int k = threadIdx.x; k < cols; k += 128) {
        float v = x[offset + k];
        if (v != -INFINITY) {
            Pair single = {v, 1.0f};
            own = join(own, single);
        }
    }
    work[threadIdx.x] = own;
    __syncthreads();
    for (int half = 64; half >= 1; half /= 2) {
        if (threadIdx.x < half)
            work[threadIdx.x] = join(work[threadIdx.x], work[threadIdx.x + half]);
        __syncthreads();
    }
    Pair all = work[0];
    for (int k = threadIdx.x; k < cols; k += 128)
        y[offset + k] = expf(x[offset + k] - all.m) / all.s;
}
