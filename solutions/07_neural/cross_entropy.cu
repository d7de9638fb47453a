// cross_entropy: loss[r] = m + log(sum of exp(x - m)) - x[label], for each row x of logits with its largest value m.
//
// One block works on one row and reads it once: each thread keeps a running maximum and a running sum.

// launch cross_entropy(logits, labels, loss, rows, cols): grid=rows block=BLOCK

#define BLOCK 512
#define LOADS 4  // of 16 bytes, by each thread, in flight together
#define LEAST -3.402823466e38f  // below every logit but -infinity, and finite: -inf - LEAST is -inf, not NaN

// The largest of some values, and the sum of exp(value - largest).
struct Part {
    float largest, sum;
};

// Two parts of a row as one.
//
// The sum that belongs to the smaller maximum shrinks by the difference.
__device__ Part join(Part a, Part b)
{
    float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

// The 32 parts of a warp as one, in every lane.
__device__ Part join_warp(Part part)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        part = join(part, {__shfl_xor_sync(~0u, part.largest, s), __shfl_xor_sync(~0u, part.sum, s)});
    return part;
}

// A part, and N packs of four more values: one rescaling for all of them, not one for each.
template <int N>
__device__ Part extend(Part part, const float4 (&v)[N])
{
    float largest = part.largest;
#pragma unroll
    for (int k = 0; k < N; ++k)
        largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    float sum = part.sum * __expf(part.largest - largest);
#pragma unroll
    for (int k = 0; k < N; ++k)
        sum += (__expf(v[k].x - largest) + __expf(v[k].y - largest)) +
               (__expf(v[k].z - largest) + __expf(v[k].w - largest));
    return {largest, sum};
}

extern "C" __global__ void __launch_bounds__(BLOCK) cross_entropy(const float* logits, const int* labels, float* loss,
                                                                  int rows, int cols)
{
    __shared__ Part parts[BLOCK / 32];
    int tid = threadIdx.x, packs = cols / 4;
    const float* x = logits + (size_t)blockIdx.x * cols;
    const float4* x4 = reinterpret_cast<const float4*>(x);

    // The label and its logit are loaded first, so that nobody waits for them at the end. A negative label is no index.
    int label = labels[blockIdx.x];
    float at_label = tid == 0 && label >= 0 ? x[label] : 0.0f;

    // Streaming loads: a row is read once. A thread has LOADS of them in flight before the first value is used.
    Part part = {LEAST, 0.0f};
    int i = tid;
    for (; i + (LOADS - 1) * BLOCK < packs; i += LOADS * BLOCK) {
        float4 v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            v[k] = __ldcs(x4 + i + k * BLOCK);
        part = extend(part, v);
    }
    for (; i < packs; i += BLOCK) {
        float4 v[1] = {__ldcs(x4 + i)};
        part = extend(part, v);
    }

    part = join_warp(part);
    if (tid % 32 == 0)
        parts[tid / 32] = part;
    __syncthreads();  // the parts of all warps are in place before the first warp joins them

    if (tid < 32) {
        part = join_warp(tid < BLOCK / 32 ? parts[tid] : Part{LEAST, 0.0f});
        if (tid == 0)
            loss[blockIdx.x] = label < 0 ? 0.0f : part.largest - at_label + logf(part.sum);
    }
}
