// The element types of check_matmul.cu: A row-major and B column-major bytes, C 32-bit integers.

using Element = signed char;  // of A and B
using Output = int;           // of C

__device__ double number(Element element) { return (double)element; }

// Where B's element of this row and column lies; B has k rows and n columns, and its columns are contiguous.
__device__ long long place_in_b(long long row, long long col, long long n, long long k) { return col * k + row; }
