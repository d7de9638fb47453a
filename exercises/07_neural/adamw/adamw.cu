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
    return p;  // YOUR CODE: the new m and v, and the new p
}

extern "C" __global__ void __launch_bounds__(BLOCK)
adamw(const float4* p, const float4* g, const float4* m, const float4* v, float4* p_new, float4* m_new, float4* v_new,
      int n, float lr, float decay, float beta1, float beta2, float eps, float correction1, float correction2)
{
    Step step = {lr, decay, beta1, beta2, eps, correction1, correction2};
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n / 4)
        return;

    // YOUR CODE: pack i of four arrays, four parameters, pack i of three results.
}
