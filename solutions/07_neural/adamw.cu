// adamw: one step of the optimizer AdamW for n parameters p with the gradient g, its running mean m and the running mean
// v of its square. In one pass: four arrays are read, three are written, and nothing in between is stored.

// launch adamw(p, g, m, v, p_new, m_new, v_new, n, lr, decay, beta1, beta2, eps, correction1, correction2): grid=cdiv(n, 4*BLOCK) block=BLOCK

#define BLOCK 256

// What is the same for all parameters. correction1 is 1 - beta1^t in step t, correction2 is 1 - beta2^t.
struct Step {
    float lr, decay, beta1, beta2, eps, correction1, correction2;
};

// One parameter: the new m and v go into m and v, the new p is returned.
__device__ float stepped(float p, float g, float& m, float& v, const Step& step)
{
    // Both means take the gradient in before the step uses them.
    m = step.beta1 * m + (1.0f - step.beta1) * g;
    v = step.beta2 * v + (1.0f - step.beta2) * (g * g);

    // Both began at 0 and are too small in the first steps, by factors that are known. eps is added after the root.
    float mean = m / step.correction1;
    float root = sqrtf(v / step.correction2);

    // The decay is a part of the parameter, and not of the gradient: the root does not divide it.
    return p - step.lr * (step.decay * p + mean / (root + step.eps));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
adamw(const float4* p, const float4* g, const float4* m, const float4* v, float4* p_new, float4* m_new, float4* v_new,
      int n, float lr, float decay, float beta1, float beta2, float eps, float correction1, float correction2)
{
    Step step = {lr, decay, beta1, beta2, eps, correction1, correction2};
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n / 4)
        return;

    // 64 bytes are asked for before the first of them is used.
    float4 old = p[i];
    float4 gradient = g[i];
    float4 mean = m[i];
    float4 square = v[i];

    float4 moved;
    moved.x = stepped(old.x, gradient.x, mean.x, square.x, step);
    moved.y = stepped(old.y, gradient.y, mean.y, square.y, step);
    moved.z = stepped(old.z, gradient.z, mean.z, square.z, step);
    moved.w = stepped(old.w, gradient.w, mean.w, square.w, step);

    p_new[i] = moved;
    m_new[i] = mean;
    v_new[i] = square;
}
