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
    // YOUR CODE: a pack of dy, its four bits, a pack of dx.
}
