// relu_backward: dx[i] = dy[i] where bit i of the mask is 1, else 0. The forward pass has stored the mask: bit i % 32 of
// word i / 32 is 1 if x[i] was above 0.

// launch relu_backward(dy, mask, dx, n): grid=cdiv(n, 4*BLOCK) block=BLOCK

#define BLOCK 256

extern "C" __global__ void __launch_bounds__(BLOCK)
relu_backward(const float4* dy, const unsigned int* mask, float4* dx, int n)
{
    // Thread i has pack i: elements 4 * i to 4 * i + 3. Eight neighbouring threads share a word of the mask; they ask for
    // it in one request, and it is moved once.
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n / 4)
        return;
    float4 v = dy[i];
    unsigned int bits = mask[i / 8] >> (4 * (i % 8));

    // A choice, and not a product: 0 times NaN is NaN.
    v.x = bits & 1 ? v.x : 0.0f;
    v.y = bits & 2 ? v.y : 0.0f;
    v.z = bits & 4 ? v.z : 0.0f;
    v.w = bits & 8 ? v.w : 0.0f;
    dx[i] = v;
}
