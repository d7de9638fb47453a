// The element types of check_attention.cu: floats everywhere.

using Element = float;  // of Q, K, V and O

__device__ double number(Element element) { return (double)element; }
