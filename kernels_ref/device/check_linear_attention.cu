// Causal attention without a softmax in float64, one token after another: thread c has column c of the head's state, which
// is the sum of k · vᵀ over the tokens so far. One block of 64 threads a head.

#include <cuda_fp16.h>

constexpr int D = 64;

// Calls `with(token, value)` for each token up to `last`, with the value of output column threadIdx.x.
template <typename With>
__device__ void each_token(const __half* Q, const __half* K, const __half* V, long long last, With with)
{
    __shared__ double q[D], k[D];
    double state[D];
#pragma unroll
    for (int i = 0; i < D; ++i)
        state[i] = 0.0;
    for (long long t = 0; t <= last; ++t) {
        __syncthreads();  // the token before has been read by all
        q[threadIdx.x] = __half2float(Q[t * D + threadIdx.x]);
        k[threadIdx.x] = __half2float(K[t * D + threadIdx.x]);
        double v = __half2float(V[t * D + threadIdx.x]), sum = 0.0;
        __syncthreads();  // this one is complete
#pragma unroll
        for (int i = 0; i < D; ++i) {
            state[i] += k[i] * v;
            sum += q[i] * state[i];
        }
        with(t, sum);
    }
}

extern "C" __global__ void __launch_bounds__(64) check_states(const __half* Q, const __half* K, const __half* V,
                                                              const __half* O, long long n, double relative,
                                                              double absolute, Findings* findings)
{
    long long head = blockIdx.x * n * D;
    Tally tally;
    each_token(Q + head, K + head, V + head, n - 1, [&](long long t, double expected) {
        long long i = head + t * D + threadIdx.x;
        tally.judge(__half2float(O[i]), expected, absolute + relative * fabs(expected), i);
    });
    tally.merge(findings);
}

extern "C" __global__ void __launch_bounds__(64) explain_states(const __half* Q, const __half* K, const __half* V,
                                                                long long n, const Findings* findings,
                                                                Explanation* explanation)
{
    long long first = findings->first, head = first / (n * D) * n * D, token = first % (n * D) / D;
    each_token(Q + head, K + head, V + head, token, [&](long long t, double expected) {
        if (t == token && threadIdx.x == first % D)
            *explanation = {(double)first, expected};
    });
}
