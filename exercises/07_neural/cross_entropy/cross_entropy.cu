// cross_entropy: loss[r] = m + log(sum of exp(x - m)) - x[label], for each row x of logits with its largest value m.
//
// One block works on one row and reads it once: each thread keeps a running maximum and a running sum.

// launch cross_entropy(logits, labels, loss, rows, cols): grid=rows block=BLOCK

#define BLOCK 512
#define LEAST -3.402823466e38f  // below every logit but -infinity, and finite: -inf - LEAST is -inf, not NaN

// The largest of some values, and the sum of exp(value - largest).
struct Part {
    float largest, sum;
};

// Two parts of a row as one.
__device__ Part join(Part a, Part b)
{
    return a;  // YOUR CODE
}

// The 32 parts of a warp as one, in every lane.
__device__ Part join_warp(Part part)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        part = join(part, {__shfl_xor_sync(~0u, part.largest, s), __shfl_xor_sync(~0u, part.sum, s)});
    return part;
}

extern "C" __global__ void __launch_bounds__(BLOCK) cross_entropy(const float* logits, const int* labels, float* loss,
                                                                  int rows, int cols)
{
    __shared__ Part parts[BLOCK / 32];
    int tid = threadIdx.x, packs = cols / 4;
    const float* x = logits + (size_t)blockIdx.x * cols;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    int label = labels[blockIdx.x];

    Part part = {LEAST, 0.0f};
    // YOUR CODE: read the row once; each pack of four values extends the part.

    part = join_warp(part);
    if (tid % 32 == 0)
        parts[tid / 32] = part;
    __syncthreads();  // the parts of all warps are in place before the first warp joins them

    // YOUR CODE: the first warp joins the parts; one thread stores the loss. A negative label: 0.
}
