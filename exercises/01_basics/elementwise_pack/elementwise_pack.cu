// elementwise_pack: c[i] = max(a[i] + b[i], 0) in half precision, in packs of eight halves: 16 bytes a load or store.
//
// This is what ends a block of a residual network: the shortcut is added, then comes ReLU.

#include <cuda_fp16.h>

// launch add_relu(a, b, c, n): grid=cdiv(n, 8*256) block=256

// The same 16 bytes under two names: memory is asked for the whole, arithmetic is done on four pairs.
union Pack {
    uint4 whole;
    __half2 pair[4];
};

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // YOUR CODE: packs, how many full ones there are: none if one of the arrays begins where no pack may be.

    // YOUR CODE: if there is a full pack i, load it from a and from b, work on its four pairs, and store it to c.

    // YOUR CODE: what is in no pack, half by half: the last n % 8 halves, and of some slices all of them.
}
