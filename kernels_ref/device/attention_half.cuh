// The element types of check_attention.cu: halves everywhere.

#include <cuda_fp16.h>

using Element = __half;  // of Q, K, V and O

__device__ double number(Element element) { return (double)__half2float(element); }
