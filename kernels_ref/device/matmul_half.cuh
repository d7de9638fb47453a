// The element types of check_matmul.cu: A and B row-major halves, C floats.

#include <cuda_fp16.h>

using Element = __half;  // of A and B
using Output = float;    // of C

__device__ double number(Element element) { return (double)__half2float(element); }

// Where B's element of this row and column lies; B has k rows and n columns.
__device__ long long place_in_b(long long row, long long col, long long n, long long k) { return row * n + col; }
