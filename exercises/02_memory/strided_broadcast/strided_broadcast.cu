// strided_broadcast: out = a + b for arrays with four axes, n0 x n1 x n2 x n3. out has no gaps. The operands have a stride
// for each axis, in floats: 0 where the operand is repeated along the axis, and any order where it is a permuted view.
//
// The first three axes together are rows. A thread takes four neighbouring columns of ROWS neighbouring rows. It divides
// to find the place of its first row, and counts from there, like a clock: the last axis that is full moves the next one.
// An index fits into an int, and so does the number of rows. A distance in memory may not.

#define LANES 64                 // threads along a row, four columns each
#define HIGH 4                   // rows of threads in a block
#define ROWS 4                   // neighbouring rows of a thread
#define STEP (HIGH * ROWS)       // rows of a block

// launch strided_broadcast(a, b, out, n0, n1, n2, n3, a0, a1, a2, a3, b0, b1, b2, b3): grid=(cdiv(n0 * n1 * n2, STEP), cdiv(n3, 4 * LANES)) block=(LANES, HIGH)

extern "C" __global__ void strided_broadcast(const float* a, const float* b, float* out, int n0, int n1, int n2, int n3,
                                             long long a0, long long a1, long long a2, long long a3, long long b0,
                                             long long b1, long long b2, long long b3)
{
    int begin = 4 * LANES * blockIdx.y, c = begin + 4 * threadIdx.x;
    int rows = n0 * n1 * n2, row = ROWS * (blockIdx.x * HIGH + threadIdx.y);
    // YOUR CODE: the place of the first row on its three axes, then where each of the ROWS rows begins in a and in b.
    // YOUR CODE: Where n3 is a multiple of 4, store packs; load packs, too, from an operand whose strides allow it.
    // YOUR CODE: Else rows of out begin anywhere: one float at a time.
}
