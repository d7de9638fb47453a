// expect: technique
// A kernel for each formula: the new means come back from memory.

// launch update_m(g, m, m_new, n, beta1): grid=cdiv(n, 4*BLOCK) block=BLOCK
// launch update_v(g, v, v_new, n, beta2): grid=cdiv(n, 4*BLOCK) block=BLOCK
// launch update_p(p, m_new, v_new, p_new, n, lr, decay, eps, correction1, correction2): grid=cdiv(n, 4*BLOCK) block=BLOCK

#define BLOCK 256

extern "C" __global__ void update_m(const float4* g, const float4* m, float4* m_new, int n, float beta1)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n / 4)
        return;
    float4 a = m[i], b = g[i];
    float rest = 1.0f - beta1;
    m_new[i] = {beta1 * a.x + rest * b.x, beta1 * a.y + rest * b.y, beta1 * a.z + rest * b.z, beta1 * a.w + rest * b.w};
}

extern "C" __global__ void update_v(const float4* g, const float4* v, float4* v_new, int n, float beta2)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n / 4)
        return;
    float4 a = v[i], b = g[i];
    float rest = 1.0f - beta2;
    v_new[i] = {beta2 * a.x + rest * b.x * b.x, beta2 * a.y + rest * b.y * b.y, beta2 * a.z + rest * b.z * b.z,
                beta2 * a.w + rest * b.w * b.w};
}

__device__ float moved(float p, float m, float v, float lr, float decay, float eps, float correction1, float correction2)
{
    return p - lr * (decay * p + m / correction1 / (sqrtf(v / correction2) + eps));
}

extern "C" __global__ void update_p(const float4* p, const float4* m, const float4* v, float4* p_new, int n, float lr,
                                    float decay, float eps, float correction1, float correction2)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n / 4)
        return;
    float4 a = p[i], b = m[i], c = v[i];
    p_new[i] = {moved(a.x, b.x, c.x, lr, decay, eps, correction1, correction2),
                moved(a.y, b.y, c.y, lr, decay, eps, correction1, correction2),
                moved(a.z, b.z, c.z, lr, decay, eps, correction1, correction2),
                moved(a.w, b.w, c.w, lr, decay, eps, correction1, correction2)};
}
