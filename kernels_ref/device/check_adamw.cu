// One step of AdamW. Elements are counted through p_new, then m_new, then v_new.

struct AdamW {
    double lr, decay, beta1, beta2, eps, correction1, correction2;

    // Scalars reach the kernel as floats.
    __device__ AdamW(double lr, double decay, double beta1, double beta2, double eps, double correction1,
                     double correction2)
        : lr((float)lr), decay((float)decay), beta1((float)beta1), beta2((float)beta2), eps((float)eps),
          correction1((float)correction1), correction2((float)correction2)
    {
    }
    __device__ double m(double m, double g) const { return beta1 * m + (1.0 - beta1) * g; }
    __device__ double v(double v, double g) const { return beta2 * v + (1.0 - beta2) * g * g; }
    __device__ double p(double p, double m, double v) const
    {
        return p - lr * (decay * p + m / correction1 / (sqrt(v / correction2) + eps));
    }
};

extern "C" __global__ void check_adamw(const float* p, const float* g, const float* m, const float* v,
                                       const float* p_new, const float* m_new, const float* v_new, long long n,
                                       double lr, double decay, double beta1, double beta2, double eps,
                                       double correction1, double correction2, double relative, double absolute,
                                       Findings* findings)
{
    AdamW step(lr, decay, beta1, beta2, eps, correction1, correction2);
    Tally tally;
    long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += threads) {
        double mean = step.m(m[i], g[i]), square = step.v(v[i], g[i]), moved = step.p(p[i], mean, square);
        tally.judge(p_new[i], moved, absolute + relative * fabs(moved), i);
        tally.judge(m_new[i], mean, absolute + relative * fabs(mean), n + i);
        tally.judge(v_new[i], square, absolute + relative * fabs(square), 2 * n + i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_adamw(const float* p, const float* g, const float* m, const float* v, long long n,
                                         double lr, double decay, double beta1, double beta2, double eps,
                                         double correction1, double correction2, const Findings* findings,
                                         Explanation* explanation)
{
    AdamW step(lr, decay, beta1, beta2, eps, correction1, correction2);
    long long first = findings->first, i = first % n;
    double mean = step.m(m[i], g[i]), square = step.v(v[i], g[i]);
    double expected[3] = {step.p(p[i], mean, square), mean, square};
    *explanation = {(double)first, expected[first / n]};
}
