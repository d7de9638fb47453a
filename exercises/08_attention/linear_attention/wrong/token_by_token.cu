// expect: gpu=slow
// One token after another, a column of the state in the registers of each thread: no product of matrices is left for tensor cores
// launch linear_attention(Q, K, V, O, n): grid=heads block=64

#include <cuda_fp16.h>

#define D 64
#define CHUNK 64

extern "C" __global__ void __launch_bounds__(64) linear_attention(const half* Q, const half* K, const half* V, half* O, int n)
{
    __shared__ __align__(16) float q[CHUNK * D], k[CHUNK * D];
    float state[D] = {};
    for (int first = 0; first < n; first += CHUNK) {
        int rows = min(CHUNK, n - first);
        size_t at = ((size_t)blockIdx.x * n + first) * D;
        for (int i = threadIdx.x; i < rows * D / 2; i += D) {
            float2 a = __half22float2(((const half2*)(Q + at))[i]), b = __half22float2(((const half2*)(K + at))[i]);
            *(float2*)(q + 2 * i) = a;
            *(float2*)(k + 2 * i) = b;
        }
        __syncthreads();
        for (int t = 0; t < rows; ++t) {
            float value = __half2float(V[at + t * D + threadIdx.x]), sum[4] = {};
#pragma unroll
            for (int i = 0; i < D; i += 4) {
                float4 a = *(const float4*)(q + t * D + i), b = *(const float4*)(k + t * D + i);
                sum[0] = fmaf(a.x, state[i] = fmaf(b.x, value, state[i]), sum[0]);
                sum[1] = fmaf(a.y, state[i + 1] = fmaf(b.y, value, state[i + 1]), sum[1]);
                sum[2] = fmaf(a.z, state[i + 2] = fmaf(b.z, value, state[i + 2]), sum[2]);
                sum[3] = fmaf(a.w, state[i + 3] = fmaf(b.w, value, state[i + 3]), sum[3]);
            }
            O[at + t * D + threadIdx.x] = __float2half(sum[0] + sum[1] + (sum[2] + sum[3]));
        }
        __syncthreads();
    }
}
